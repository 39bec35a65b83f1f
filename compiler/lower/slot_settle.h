#pragma once
/* The second half of choosing slots: from where every value that might be on the host is there to
 * where nothing must move any more.
 *
 * Only what has to do with a change is looked at again. A value moves once and its needs change
 * three times at most, so the work grows with the module, whatever the order of its bindings is. */
#include "compiler/lower/slot_choice.h"

/* Where every value of the module is: begins the choice and settles it. slot_choice_deinit. */
MUST_CHECK Error *slot_settle(const IrModule *module, SlotChoice *out);
