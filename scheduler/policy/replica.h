#pragma once
/* Weights on devices: loaded once, shared by all executions there, kept when nobody uses them until
 * the memory is needed. */
#include "scheduler/policy/policy_internal.h"

Replica *replica_find(const Policy *policy, const Model *model, const Device *device);
/* Takes the memory and asks for the weights. */
MUST_CHECK Error *replica_load(Policy *policy, Model *model, Device *device);
void replica_use(Replica *replica);
void replica_unuse(Replica *replica);
/* Asks for its eviction; nobody uses it. */
MUST_CHECK Error *replica_evict(Policy *policy, Replica *replica);
/* It is resident now. */
void replica_set_resident(Replica *replica);
/* It is gone from the device. */
void replica_remove(Policy *policy, Replica *replica);
/* The device became idle or busy: a model looks at idle devices first. */
void replica_order(const Device *device, bool idle);
void replica_unreference_model(Policy *policy, Model *model);
