#pragma once
/* The folder of prepared weights as gc and fsck see it, who own the home and use no file in it. */
#include <stdint.h>

#include "store/database/store.h"

#define WEIGHT_FOLDER "cache/weights" /* in the home */

/* Errors: NOT_FOUND; IO. Close with close. */
MUST_CHECK Error *weight_folder_open(const char *path, int *out_folder);
/* Every name in it, which visit may remove. Errors: IO; visit's. */
MUST_CHECK Error *weight_folder_list(
    int folder, Error *(*visit)(void *context, const char *name), void *context);

/* Removes the files of executables that no tenant has any more. Errors: IO; the catalog's. */
MUST_CHECK Error *weight_folder_sweep(Store *store);
/* Checks every file, and removes what is not what it should be: it is made anew when it is needed.
 * out_files: how many were looked at. Errors: IO. */
MUST_CHECK Error *weight_folder_check(Store *store, uint64_t *out_files, uint64_t *out_removed);
