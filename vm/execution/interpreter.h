#pragma once
/* The loop that executes instructions. Called by execution_run (execution.c), on the thread of the
 * execution. */
#include "vm/execution/execution_options.h"

/* Continues the top frame. The execution has at least one frame and has not failed. */
MUST_CHECK Error *interpreter_run(Execution *execution, Budget budget, RunResult *out_result);
