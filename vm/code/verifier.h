#pragma once
/* The verifier. The interpreter runs only verified code. It checks static facts; kinds of values
 * are checked at run time. Called by executable_builder_finish (executable_builder.c), on the
 * thread that builds the executable.
 *
 * Checked: opcodes, flags, operand counts, kinds and ranges; jump targets inside the function; the
 * last instruction has END; definition before use on every path (verifier_flow.c; functions
 * with NULLS start all defined); arities of calls and closures' functions; operators' input and
 * output counts; constants' kinds where an opcode needs one; distinct outs; tensors in the slots
 * that instructions read them from, unless they come out of an object or a packed function
 * (verifier_slots.c). */
#include "vm/code/executable.h"

/* Checks everything and sets device_strings. */
MUST_CHECK Error *verifier_check(Executable *executable);
/* verifier_flow.c: checks definition before use. */
MUST_CHECK Error *verifier_check_flow(const Executable *executable, uint32_t function);
/* verifier_slots.c: checks that operands are in the slots that instructions read them from. The
 * code must have passed all other checks. */
MUST_CHECK Error *verifier_check_slots(const Executable *executable);
