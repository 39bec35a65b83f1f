#pragma once
/* Chooses the slots of a module: takes the beginning that slot_choice.h makes and moves values from
 * the host to the device until no value must move any more. Caller: the pass assign_slots. Threads:
 * one at a time per module.
 *
 * Only neighbours of a change are visited again. A value moves once and its needs change at most
 * three times, so the work grows linearly with the module, in any order of its bindings.
 * */
#include "compiler/lower/slot_choice.h"

/* Begins the choice of a slot for every value of the module and settles it. Release:
 * slot_choice_deinit. */
MUST_CHECK Error *slot_settle(const IrModule *module, SlotChoice *out);
