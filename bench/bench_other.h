#pragma once
/* What another execution gets done while something is measured. */
#include "vm/execution/execution.h"

typedef Error *BenchWork(void *context);
/* other: one without end. budget: instructions between two looks at whether to stop.
 * out_kept: of its rate alone, while work runs. Errors: the work's, or the execution's. */
MUST_CHECK Error *bench_other_compare(
    Execution *other, uint64_t budget, BenchWork *work, void *context, double *out_kept);
