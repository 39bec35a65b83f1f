#pragma once
/* Checks that every value of a module is in the slot from which its users read it, which the pass
 * assign_slots must ensure. Knows the needs of instructions, and nothing of how slots were chosen
 * (slot_choice.h). Pure: no state, any thread. */
#include "compiler/ir/ir.h"

/* Checks a module. Errors: INTERNAL, naming the operand or result and its binding. */
MUST_CHECK Error *slot_check(const IrModule *module);
