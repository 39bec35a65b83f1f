#pragma once
/* Finds the values that must be on the host: control flow, shapes and strings are made of them.
 * Caller: slot_settle.c, before it moves values. Threads: one at a time per module.
 *
 * An operator that could run on the host hands the demand for its results on to its operands.
 * Whatever else depends on the device's values stays on the device, however small it is: a copy to
 * the host would make the host wait for the device. */
#include "compiler/lower/slot_choice.h"

/* Sets choice->demanded. Work: linear in the module. */
MUST_CHECK Error *slot_demand_find(SlotChoice *choice);
