#pragma once
/* Removed jobs and models. A removal sets a mark that hides the thing from readers at once; later
 * steps delete the rows, each in a transaction of a bounded number of rows, so that others write
 * between two steps. Small things are deleted with the mark. Marks are durable: the next process
 * deletes what a process left. A tenant's stored bytes shrink with each step. Callers: housekeeping
 * and gc. Threads: any. */
#include <stdatomic.h>

#include "store/database/store.h"

/* Deletes all marked things until none is left or *stop is set.
 * Errors: EXHAUSTED the disk is full; IO. */
MUST_CHECK Error *removals_run(Store *store, const atomic_bool *stop);
