#pragma once
/* Devices by what may be wanted of them: idle ones, ones that run a lower class, ones where others
 * wait. Devices and jobs are kept by size of memory, so that fitting is never searched for. */
#include "scheduler/policy/policy_internal.h"

/* The bucket of devices with this memory; made when there is none, and jobs that fit it come over.
 * Errors: INVALID beyond POLICY_MEMORY_SIZES_MAX. */
MUST_CHECK Error *device_index_bucket(Policy *policy, uint64_t capacity, Bucket **out_bucket);
/* The bucket with the smallest devices that ever could hold so many bytes; the last one fits none.
 */
Bucket *device_index_fitting(const Policy *policy, uint64_t bytes);
bool device_index_is_last(const Policy *policy, const Bucket *bucket);

/* Puts the device where its state belongs; after every change of running, entering, lost. */
void device_index_update(Policy *policy, Device *device);
/* The same for the count of executions that wait on it. */
void device_index_waiting(Policy *policy, Device *device);
/* The best idle device for that many bytes: fastest, then smallest, then emptiest. NULL: none. */
Device *device_index_idle(const Policy *policy, uint64_t bytes);
/* A device that fits and runs something of a lower class, the lowest first. NULL: none. */
Device *device_index_lower(const Policy *policy, uint64_t bytes, PolicyClass class_);
/* The device where most executions wait. NULL: none wait anywhere. */
Device *device_index_crowded(const Policy *policy);
