#pragma once
/* Indexes and lists of devices: idle ones, ones that run a lower class, ones where executions wait,
 * ones to be decided about, and ones where a job waits for memory in vain. Called by the other
 * files of policy/; no state but the Policy that is passed. */
#include "scheduler/policy/policy_state.h"

/* Moves the device into the index of its state. Called after every change of running, entering,
 * lost. */
void device_index_update(Policy *policy, Device *device);
/* Updates the index by the count of executions that wait on the device. */
void device_index_waiting(Policy *policy, Device *device);
/* The best idle device for that many bytes: fastest, then smallest, then emptiest. NULL: none. */
Device *device_index_idle(const Policy *policy, uint64_t bytes);
/* A device that has room for the bytes and runs a lower class than class_, the lowest first. NULL:
 * none. */
Device *device_index_lower(const Policy *policy, uint64_t bytes, PolicyClass class_);
/* The device where most executions wait. NULL: no execution waits on any device. */
Device *device_index_crowded(const Policy *policy);

/* Notes that the device looks for something to run before the event has been handled. */
void device_index_decide_later(Policy *policy, Device *device);
/* Takes the next of these devices; there is one. */
Device *device_index_take_deciding(Policy *policy);

/* Lists a device where a job waits for memory and nothing could be moved. */
void device_index_add_stuck(Policy *policy, Device *device);
/* Looks again at these devices. Called when a tenant uses less, and at Policy.stuck_ns. */
void device_index_free_stuck(Policy *policy);
