#pragma once
/* The last step: a lowered module to an executable. */
#include "compiler/ir/ir.h"
#include "vm/code/executable.h"

/* The module must be lifted, without matches, with slots assigned and tail calls marked.
 * Errors: UNSUPPORTED, EXHAUSTED beyond the limits of executables. */
MUST_CHECK Error *emit_executable(const IrModule *module, Executable **out);
