#pragma once
/* The home directory itself: where it is, making it, and the lock that gives it one owner. */
#include <stdbool.h>

#include "base/error.h"

/* Makes the directory and what is missing above it, mode 0700, and syncs the folders they stand in.
 * Errors: IO; EXHAUSTED the disk is full. */
MUST_CHECK Error *home_create(const char *home);

/* The absolute path, without links; release with memory_free. Errors: NOT_FOUND; IO. */
MUST_CHECK Error *home_resolve(const char *home, char **out_path);

/* A home's owner. The lock is on the folder, which nobody removes or replaces unseen, and on the
 * file `lock` in it, which says to people and to older versions who has it. */
typedef struct HomeLock {
    int folder, file; /* descriptors; -1: none */
} HomeLock;
#define HOME_UNLOCKED ((HomeLock){-1, -1})

/* The kernel frees it when the process ends, however it ends.
 *
 * out_lock: to be given to home_unlock.
 * Errors:   REFUSED somebody holds it (the message names the pid, if the file says it); NOT_FOUND
 * no such home; IO. */
MUST_CHECK Error *home_lock(const char *home, HomeLock *out_lock);
void home_unlock(HomeLock *lock);
/* Whether the locked home's file of this name still is the one that is open. */
bool home_still_has(const HomeLock *lock, const char *name, int descriptor);

/* home/name; release with memory_free. */
MUST_CHECK Error *home_path(const char *home, const char *name, char **out_path);
/* Whether home/name exists. */
bool home_has(const char *home, const char *name);
