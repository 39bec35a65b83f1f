#include "scheduler/policy/buckets.h"

#include "base/allocator.h"
#include "scheduler/policy/fair_share.h"

Bucket *buckets_fitting(const Policy *policy, uint64_t bytes) {
    uint32_t low = 0, high = policy->bucket_count - 1;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (policy->buckets[middle]->capacity >= bytes)
            high = middle;
        else
            low = middle + 1;
    }
    return policy->buckets[low];
}

bool buckets_is_last(const Policy *policy, const Bucket *bucket) {
    return bucket == policy->buckets[policy->bucket_count - 1];
}

/* Waiting jobs that fit the new bucket and stand in the next larger one. Looks at every job: only
 * for a size of memory that was never seen before. */
static Error *take_over(Policy *policy, Bucket *bucket, const Bucket *larger) {
    for (size_t i = 0; i < policy->jobs.capacity; i++) {
        Job *job = (Job *)policy->jobs.slots[i];
        if (!job || job->state != POLICY_JOB_WAITING || job->seat->queue != &larger->queue ||
            job->bytes + job->model->bytes > bucket->capacity)
            continue;
        fair_share_dequeue(policy, job);
        TRY(fair_share_enqueue(policy, job, &bucket->queue));
    }
    return NULL;
}

Error *buckets_get(Policy *policy, uint64_t capacity, Bucket **out_bucket) {
    uint32_t at = 0;
    void *memory;
    while (at < policy->bucket_count && policy->buckets[at]->capacity < capacity) at++;
    if (at < policy->bucket_count && policy->buckets[at]->capacity == capacity) {
        *out_bucket = policy->buckets[at];
        return NULL;
    }
    if (policy->bucket_count > POLICY_MEMORY_SIZES_MAX)
        FAIL(INVALID, "devices have more than %d different sizes of memory",
            POLICY_MEMORY_SIZES_MAX);
    TRY(memory_alloc(1, sizeof(Bucket), &memory));
    Bucket *bucket = memory;
    bucket->capacity = capacity;
    bucket->queue.index = policy->queue_count++;
    bucket->queue.pool = true;
    for (uint32_t i = policy->bucket_count; i > at; i--)
        policy->buckets[i] = policy->buckets[i - 1];
    policy->buckets[at] = bucket;
    policy->bucket_count++;
    *out_bucket = bucket;
    if (at + 1 == policy->bucket_count) return NULL;
    return take_over(policy, bucket, policy->buckets[at + 1]);
}
