#pragma once
/* Copying a function's body to the place of a call. */
#include "compiler/ir/ir_build.h"

/* arguments stand for the parameters; the body's results become replacements of `results`. The
 * function must be lifted. */
MUST_CHECK Error *ir_clone_body(const IrFunction *function, IrCursor at,
    IrVariable *const *arguments, IrVariable *const *results);
