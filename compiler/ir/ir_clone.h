#pragma once
/* Copies a function's body to the place of a call. Caller: inline_calls.c. Threads: one at a time
 * per module. */
#include "compiler/ir/ir_build.h"

/* Copies the body of a lifted function. arguments replace the parameters; the body's results
 * replace `results`. */
MUST_CHECK Error *ir_clone_body(const IrFunction *function, IrCursor at,
    IrVariable *const *arguments, IrVariable *const *results);
