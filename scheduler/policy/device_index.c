#include "scheduler/policy/device_index.h"

#include "base/allocator.h"
#include "scheduler/policy/fair_share.h"

static bool device_less(const HeapNode *a, const HeapNode *b) {
    const Device *x = HEAP_ITEM_CONST(a, Device, index_node);
    const Device *y = HEAP_ITEM_CONST(b, Device, index_node);
    if (x->speed != y->speed) return x->speed > y->speed;
    if (x->indexed_bytes != y->indexed_bytes) return x->indexed_bytes < y->indexed_bytes;
    return x->key.low < y->key.low;
}

static bool waiting_less(const HeapNode *a, const HeapNode *b) {
    const Device *x = HEAP_ITEM_CONST(a, Device, waiting_node);
    const Device *y = HEAP_ITEM_CONST(b, Device, waiting_node);
    if (x->waiting_count != y->waiting_count) return x->waiting_count > y->waiting_count;
    return x->key.low < y->key.low;
}

Bucket *device_index_fitting(const Policy *policy, uint64_t bytes) {
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

bool device_index_is_last(const Policy *policy, const Bucket *bucket) {
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

Error *device_index_bucket(Policy *policy, uint64_t capacity, Bucket **out_bucket) {
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

static Heap *index_of(Device *device) {
    if (device->index == DEVICE_IN_IDLE) return &device->bucket->idle;
    return &device->bucket->running[device->running_class];
}

void device_index_update(Policy *policy, Device *device) {
    bool loading = false;
    (void)policy;
    for (int i = 0; i < POLICY_CLASS_COUNT; i++) loading = loading || device->entering[i];
    if (device->index != DEVICE_IN_NONE)
        heap_remove(index_of(device), &device->index_node, device_less);
    device->index = DEVICE_IN_NONE;
    device->indexed_bytes = device->used_bytes;
    if (device->lost || device->deciding) return; /* deciding: it is about to change */
    if (!device->running && !loading)
        device->index = DEVICE_IN_IDLE;
    else if (device->running && !device->preempting) {
        device->running_class = device->running->account->class_;
        bool better = false;
        for (int i = 0; i < (int)device->running_class; i++) better = better || device->entering[i];
        if (!better) device->index = DEVICE_IN_RUNNING;
    }
    if (device->index != DEVICE_IN_NONE)
        heap_push(index_of(device), &device->index_node, device_less);
}

void device_index_waiting(Policy *policy, Device *device) {
    uint64_t count = device->lost ? 0 : device->queue.job_count;
    if (count == device->waiting_count) return;
    if (device->waiting_count) heap_remove(&policy->waiting, &device->waiting_node, waiting_less);
    device->waiting_count = count;
    if (count) heap_push(&policy->waiting, &device->waiting_node, waiting_less);
}

Device *device_index_idle(const Policy *policy, uint64_t bytes) {
    HeapNode *best = NULL;
    for (uint32_t i = policy->bucket_count; i > 0; i--) {
        const Bucket *bucket = policy->buckets[i - 1];
        if (bucket->capacity < bytes) break;
        HeapNode *root = bucket->idle.root;
        /* a smaller device of the same speed leaves the larger one to jobs that need it */
        if (root && (!best || HEAP_ITEM(root, Device, index_node)->speed >=
                                  HEAP_ITEM(best, Device, index_node)->speed))
            best = root;
    }
    return best ? HEAP_ITEM(best, Device, index_node) : NULL;
}

Device *device_index_lower(const Policy *policy, uint64_t bytes, PolicyClass class_) {
    for (int lower = POLICY_CLASS_COUNT - 1; lower > (int)class_; lower--)
        for (uint32_t i = 0; i < policy->bucket_count; i++) {
            const Bucket *bucket = policy->buckets[i];
            if (bucket->capacity >= bytes && bucket->running[lower].root)
                return HEAP_ITEM(bucket->running[lower].root, Device, index_node);
        }
    return NULL;
}

Device *device_index_crowded(const Policy *policy) {
    return policy->waiting.root ? HEAP_ITEM(policy->waiting.root, Device, waiting_node) : NULL;
}
