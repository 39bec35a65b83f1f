#pragma once
/* The verifier: only code that passed it is ever run. Static facts only; kinds of values are
 * checked at run time.
 *
 * Checked: opcodes, flags, operand counts, kinds and ranges; jump targets inside the function; the
 * last instruction ends; definition before use on every path (verifier_flow.c; functions with NULLS
 * start all defined); arities of calls and closures' functions; operators' input and output counts;
 * constants' kinds where an opcode needs one; distinct outs; tensors in the slots that instructions
 * read them from, where that does not go through an object or a packed function
 * (verifier_slots.c). */
#include "vm/code/executable.h"

/* Sets device_strings. */
MUST_CHECK Error *verifier_check(Executable *executable);
/* verifier_flow.c: definition before use. */
MUST_CHECK Error *verifier_check_flow(const Executable *executable, uint32_t function);
/* verifier_slots.c: operands in the slots they are read from. Of code that passed all else. */
MUST_CHECK Error *verifier_check_slots(const Executable *executable);
