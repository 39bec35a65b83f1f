#pragma once
/* Whether every value of a module stands in the slot that its users read it from: what the pass
 * assign_slots must leave behind. Knows what instructions need, and nothing of how slots were
 * chosen (slot_choice.h). */
#include "compiler/ir/ir.h"

/* Errors: INTERNAL, saying which operand or result of which binding. */
MUST_CHECK Error *slot_check(const IrModule *module);
