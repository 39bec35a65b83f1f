#pragma once
/* Indexes of devices: idle ones, ones that run a lower class, ones where executions wait. Devices
 * and jobs are grouped by size of memory (buckets), so a fitting device is found without a search.
 * Called by the other files of policy/; no state but the Policy that is passed. */
#include "scheduler/policy/policy_internal.h"

/* Finds or makes the bucket of devices with this memory; a new bucket takes over the jobs that fit
 * it. Errors: INVALID beyond POLICY_MEMORY_SIZES_MAX. */
MUST_CHECK Error *device_index_bucket(Policy *policy, uint64_t capacity, Bucket **out_bucket);
/* The bucket of the smallest devices whose whole memory holds so many bytes. The last bucket has no
 * devices; its jobs fit none. */
Bucket *device_index_fitting(const Policy *policy, uint64_t bytes);
bool device_index_is_last(const Policy *policy, const Bucket *bucket);

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
