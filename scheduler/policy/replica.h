#pragma once
/* Replicas: a model's weights on one device. They are loaded once, shared by all executions there,
 * and kept unused until the memory is needed. Called by admission.c, device_life.c, eviction.c,
 * placement.c and policy.c; no state but the Policy that is passed. */
#include "scheduler/policy/policy_state.h"

Replica *replica_find(const Policy *policy, const Model *model, const Device *device);
/* Reserves the memory and asks for the weights to be loaded. */
MUST_CHECK Error *replica_load(Policy *policy, Model *model, Device *device);
void replica_use(Replica *replica);
void replica_unuse(Replica *replica);
/* Asks for the eviction of a replica that no execution uses. */
MUST_CHECK Error *replica_evict(Policy *policy, Replica *replica);
/* Marks the replica resident: the load is done. */
void replica_set_resident(Replica *replica);
/* Removes the replica: its weights are gone from the device. */
void replica_remove(Policy *policy, Replica *replica);
/* Reorders the replicas of a device that became idle or busy, since a model looks at idle devices
 * first. */
void replica_order(const Device *device, bool idle);
void replica_unreference_model(Policy *policy, Model *model);
