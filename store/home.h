#pragma once
/* The home directory itself: where it is, making it, and the lock that gives it one owner. */
#include <stdbool.h>

#include "base/error.h"

/* Makes the directory and what is missing above it, mode 0700, and syncs the folders they stand in.
 * Errors: IO; EXHAUSTED the disk is full. */
MUST_CHECK Error *home_create(const char *home);

/* The absolute path, without links; release with memory_free. Errors: NOT_FOUND; IO. */
MUST_CHECK Error *home_resolve(const char *home, char **out_path);

/* Takes the home's lock file. The kernel frees it when the process ends, however it ends.
 *
 * out_lock: a descriptor to home_unlock.
 * Errors:   REFUSED somebody holds it (the message names the pid); NOT_FOUND no such home; IO. */
MUST_CHECK Error *home_lock(const char *home, int *out_lock);
void home_unlock(int lock);

/* home/name; release with memory_free. */
MUST_CHECK Error *home_path(const char *home, const char *name, char **out_path);
/* Whether home/name exists. */
bool home_has(const char *home, const char *name);
