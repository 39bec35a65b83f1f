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
/* What the copies are for. */
typedef enum FreezePurpose {
    FREEZE_YIELD,
    /* Nothing computes with the copies: where the pool of their slot has no room, they are in the
     * host's memory, so that an execution which has all the memory that it may have can still be
     * suspended. */
    FREEZE_SNAPSHOT,
    /* Also copies tensors that are not in the memory of their slot in this execution (of a snapshot
     * from another device); constants become the residency's. */
    FREEZE_RESTORE,
} FreezePurpose;

/* Copies go to the execution's pools. */
MUST_CHECK Error *value_freezer_create(
    Execution *execution, FreezePurpose purpose, ValueFreezer **out);
void value_freezer_release(ValueFreezer *freezer);
DEFINE_OWN(ValueFreezer, value_freezer_release);
/* Freezes one value. Errors: EXHAUSTED, also if memory is only missing at present
 * (value_freezer_needs); INVALID a tensor of no slot. */
MUST_CHECK Error *value_freezer_add(ValueFreezer *freezer, const Value *value, Value *out);
/* True after an EXHAUSTED that may work later. */
bool value_freezer_needs(const ValueFreezer *freezer, uint8_t *out_slot, uint64_t *out_bytes);
