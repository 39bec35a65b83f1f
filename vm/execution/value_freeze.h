#pragma once
/* Immutable copies of values, for yields, snapshots and restores. Called by snapshot.c,
 * execution_restore.c and instructions_object.c, on the thread of the execution.
 *
 * Tensors in mutable storages (AllocStorage), those storages and opaque objects are copied, and
 * parts that they share stay shared; other values are referenced. */
#include "vm/execution/execution.h"

/* One graph of values: parts that are shared between the values frozen with one freezer stay
 * shared. */
typedef struct ValueFreezer ValueFreezer;
/* Copies go to the execution's pools. moving: also copies tensors that are not in the memory of
 * their slot in this execution (a snapshot from another device); constants become the
 * residency's. */
MUST_CHECK Error *value_freezer_create(Execution *execution, bool moving, ValueFreezer **out);
void value_freezer_release(ValueFreezer *freezer);
DEFINE_OWN(ValueFreezer, value_freezer_release);
/* Freezes one value. Errors: EXHAUSTED, also if memory is only missing at present
 * (value_freezer_needs); INVALID a tensor of no slot. */
MUST_CHECK Error *value_freezer_add(ValueFreezer *freezer, const Value *value, Value *out);
/* True after an EXHAUSTED that may work later. */
bool value_freezer_needs(const ValueFreezer *freezer, uint8_t *out_slot, uint64_t *out_bytes);
