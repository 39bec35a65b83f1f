#pragma once
/* Checks whether the arrays of an .npz file fit a function's inputs, without unpacking them.
 * Callers: intake_inputs.c in scheduler/jobs, run_inputs.c in tools/client. Pure: no state, any
 * thread. */
#include "serialize/arrays/npz_file.h"
#include "vm/code/executable.h"

/* Checks the arrays. items: the arrays are cut along their leading axis, which may have any length;
 * an array whose port cannot be cut is refused later, when it is cut. Errors: INVALID an array that
 * the function has no input for, or of another type or shape. */
MUST_CHECK Error *npz_ports_check(const NpzFile *file, const Function *function, bool items);
