#pragma once
/* Finds the values of a lifted module that are strings or contain strings. The element type of a
 * value without an inferred type follows from the values that it is made of. Caller: slot_choice.c.
 * Pure: no state, any thread. */
#include "compiler/ir/ir.h"

/* Finds strings. out_strings: module->variable_count entries by variable id, all false before. */
void slot_strings_find(const IrModule *module, bool *out_strings);
