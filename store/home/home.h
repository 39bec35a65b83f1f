#pragma once
/* The home directory: finding and making it, and the lock that gives it one owner. Called by
 * store_open, reserve.c and the weight cache. Threads: any; one at a time per lock. */
#include <stdbool.h>

#include "base/error.h"

/* Makes the directory and its missing parents with mode 0700, and syncs the folders that contain
 * them.
 * Errors: IO; EXHAUSTED the disk is full. */
MUST_CHECK Error *home_create(const char *home);

/* Returns the absolute path without links; release with memory_free. Errors: NOT_FOUND; IO. */
MUST_CHECK Error *home_resolve(const char *home, char **out_path);

/* The lock of a home's owner. It holds the folder, which cannot be replaced unnoticed, and the file
 * `lock` in it, which shows the owner to people and older versions. */
typedef struct HomeLock {
    int folder, file; /* descriptors; -1: none */
} HomeLock;
#define HOME_UNLOCKED ((HomeLock){-1, -1})

/* Locks a home. The kernel releases the lock when the process ends, in any way.
 *
 * out_lock: to be given to home_unlock.
 * Errors:   REFUSED another process holds the lock (the message names its pid, if the file has it);
 *           NOT_FOUND no such home; IO. */
MUST_CHECK Error *home_lock(const char *home, HomeLock *out_lock);
void home_unlock(HomeLock *lock);
/* Returns whether a file of the locked home is still the one that the descriptor has open. */
bool home_still_has(const HomeLock *lock, const char *name, int descriptor);

/* Makes the path home/name; release with memory_free. */
MUST_CHECK Error *home_path(const char *home, const char *name, char **out_path);
/* Returns whether home/name exists. */
bool home_has(const char *home, const char *name);
