#pragma once
/* Whether the arrays of an .npz file are what a function takes, by what the file says of them. */
#include "serialize/arrays/npz_file.h"
#include "vm/code/executable.h"

/* items: the arrays are cut along their leading axis, which may have any length; an array whose
 * port cannot be cut is refused where it is cut. Errors: INVALID an array that the function has no
 * input for, of another type or shape. */
MUST_CHECK Error *npz_ports_check(const NpzFile *file, const Function *function, bool items);
