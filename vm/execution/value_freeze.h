#pragma once
/* Copies of values that nobody changes any more: for yields, snapshots and restores.
 *
 * Tensors in mutable storages (AllocStorage), those storages and opaque objects are copied, with
 * what they share still shared; everything else is referenced. */
#include "vm/execution/execution.h"

/* One graph of values: what is shared between the values frozen with one of these stays shared. */
typedef struct ValueFreezer ValueFreezer;
/* Copies go to the execution's pools. moving: also what is not in the memory of its slot in this
 * execution (a snapshot of one on another device); constants become the residency's. */
MUST_CHECK Error *value_freezer_create(Execution *execution, bool moving, ValueFreezer **out);
void value_freezer_release(ValueFreezer *freezer);
DEFINE_OWN(ValueFreezer, value_freezer_release);
/* Errors: EXHAUSTED, also where memory is only missing at present (value_freezer_needs); INVALID a
 * tensor of no slot. */
MUST_CHECK Error *value_freezer_add(ValueFreezer *freezer, const Value *value, Value *out);
/* True after an EXHAUSTED that may work later. */
bool value_freezer_needs(const ValueFreezer *freezer, uint8_t *out_slot, uint64_t *out_bytes);
