#pragma once
/* A home on a file system of a few megabytes that only this process sees; tests that need it are
 * skipped where it may not mount one. */
#include "tests/store/store_fixtures.h"

TestHome small_disk_make(int mebibytes);
void small_disk_remove(TestHome *home);
#define OWN_SMALL_DISK(name) __attribute__((cleanup(small_disk_remove))) name

/* Takes all the room there is, also what came free since the last time. */
void small_disk_fill(const TestHome *home);
/* Gives it back. */
void small_disk_empty(const TestHome *home);
