#pragma once
/* The one loop over the opcodes. */
#include "vm/execution/execution.h"

/* Runs the top frame on. The execution has at least one frame and has not failed. */
MUST_CHECK Error *interpreter_run(Execution *execution, Budget budget, RunResult *out_result);
