#pragma once
/* The folder of prepared weights for gc and fsck, which own the home while no cache uses the files,
 * and for weight_cache.c. Threads: any. */
#include <stdint.h>

#include "store/database/store.h"

#define WEIGHT_FOLDER "cache/weights" /* in the home */

/* Opens the folder; the caller closes *out_folder with close. Errors: NOT_FOUND; IO. */
MUST_CHECK Error *weight_folder_open(const char *path, int *out_folder);
/* Calls visit for every name in the folder; visit may remove the file. Errors: IO; visit's. */
MUST_CHECK Error *weight_folder_list(
    int folder, Error *(*visit)(void *context, const char *name), void *context);

/* Removes the files of executables that no tenant has any more. Errors: IO; the catalog's. */
MUST_CHECK Error *weight_folder_sweep(Store *store);
/* Checks every file and removes damaged ones, whose weights are prepared anew when needed.
 * out_files: how many files were checked. Errors: IO. */
MUST_CHECK Error *weight_folder_check(Store *store, uint64_t *out_files, uint64_t *out_removed);
