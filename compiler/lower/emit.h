#pragma once
/* The last step of the compiler: turns a lowered module into an executable. Caller: compile.c.
 * Pure: no shared state, any thread. */
#include "compiler/ir/ir.h"
#include "vm/code/executable.h"

/* Emits an executable. The module must be lifted, without matches, with slots assigned and tail
 * calls marked.
 * Errors: UNSUPPORTED, EXHAUSTED beyond the limits of executables. */
MUST_CHECK Error *emit_executable(const IrModule *module, Executable **out);
