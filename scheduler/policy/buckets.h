#pragma once
/* Sizes of device memory. Devices and waiting jobs are grouped by size, so a fitting device is
 * found without a search. Called by admission.c, device_life.c and policy.c; no state but the
 * Policy that is passed. */
#include "scheduler/policy/policy_state.h"

/* Finds or makes the bucket of devices with this memory; a new bucket takes over the jobs that fit
 * it. Errors: INVALID beyond POLICY_MEMORY_SIZES_MAX. */
MUST_CHECK Error *buckets_get(Policy *policy, uint64_t capacity, Bucket **out_bucket);
/* The bucket of the smallest devices whose whole memory holds so many bytes. The last bucket has no
 * devices; its jobs fit none. */
Bucket *buckets_fitting(const Policy *policy, uint64_t bytes);
bool buckets_is_last(const Policy *policy, const Bucket *bucket);
