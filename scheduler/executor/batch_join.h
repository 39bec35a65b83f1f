#pragma once
/* Joins the inputs of several single runs of a function along their leading axis, and cuts the
 * outputs of the joined run. Called by scheduler/service/ for inference requests, on handler
 * threads. Pure: nothing is kept; batches are only read. */
#include "scheduler/executor/batch.h"

/* Checks that runs of a function can be joined: the leading dimension of each parameter is free and
 * stands for one number, which no other dimension is, and so is that of each result. Of dimensions
 * without a name the caller says that they are that number. Errors: UNSUPPORTED, the port is named.
 */
MUST_CHECK Error *batch_join_check(const Function *function);

/* The length of the leading axis that all inputs of a single run have. 0: the run cannot be joined,
 * since lengths differ or are 0, or since elements are no whole bytes. batch: of the function. */
int64_t batch_join_items(const Function *function, const Batch *batch);
/* Whether two single runs of a function have inputs of the same types, and of the same shapes but
 * for the leading axis. */
bool batch_join_fits(const Function *function, const Batch *a, const Batch *b);
/* Makes a single run whose inputs are those of the batches, one behind the other. batches: they
 * fit, and have batch_join_items each. */
MUST_CHECK Error *batch_join(const Executable *executable, uint32_t function,
    const Batch *const *batches, size_t count, Batch **out_batch);

/* Checks that each output of a joined run has all items on its leading axis. Errors: FAILED, the
 * output is named. */
MUST_CHECK Error *batch_join_check_outputs(const ArrayList *outputs, int64_t items);
/* Copies the items begin … end of each output. outputs: batch_join_check_outputs has passed.
 * out_part: empty before. */
MUST_CHECK Error *batch_join_cut(
    const ArrayList *outputs, int64_t items, int64_t begin, int64_t end, ArrayList *out_part);
