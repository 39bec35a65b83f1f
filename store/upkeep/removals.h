#pragma once
/* Removed jobs and models. Removing marks them, and from then on nobody sees them; their rows are
 * deleted in steps, each a transaction of a bounded number of rows, so that others write between
 * two steps. A small one goes with its mark. The marks are durable: what a process leaves, the next
 * one deletes. What a tenant has stored becomes less with each step. */
#include <stdatomic.h>

#include "store/database/store.h"

/* Deletes what is marked, until all of it is gone or somebody sets *stop.
 * Errors: EXHAUSTED the disk is full; IO. */
MUST_CHECK Error *removals_run(Store *store, const atomic_bool *stop);
