#pragma once
/* Which values of a lifted module are strings, or have strings in them. Where the element type of a
 * value was not inferred, it follows from what the value is made of. */
#include "compiler/ir/ir.h"

/* out_strings: by variable id, module->variable_count of them, all false. */
void slot_strings_find(const IrModule *module, bool *out_strings);
