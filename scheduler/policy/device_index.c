#include "scheduler/policy/device_index.h"

#include "base/duration.h"

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

void device_index_decide_later(Policy *policy, Device *device) {
    if (device->deciding || device->processing) return;
    device->deciding = true;
    device_index_update(policy, device);
    device->next_deciding = NULL;
    if (policy->deciding_last)
        policy->deciding_last->next_deciding = device;
    else
        policy->deciding = device;
    policy->deciding_last = device;
}

Device *device_index_take_deciding(Policy *policy) {
    Device *device = policy->deciding;
    policy->deciding = device->next_deciding;
    if (!policy->deciding) policy->deciding_last = NULL;
    device->deciding = false;
    return device;
}

/* A move that failed is tried again after so long, when nothing else helps. */
#define MOVE_RETRY_NS SECOND_NS

void device_index_add_stuck(Policy *policy, Device *device) {
    if (device->stuck) return;
    device->stuck = true;
    device->next_stuck = policy->stuck;
    policy->stuck = device;
    if (!policy->stuck_ns) policy->stuck_ns = policy->now_ns + MOVE_RETRY_NS;
}

void device_index_free_stuck(Policy *policy) {
    bool again = policy->stuck_ns && policy->now_ns >= policy->stuck_ns;
    if (again) policy->stuck_ns = 0;
    Device *still = NULL;
    while (policy->stuck) {
        Device *device = policy->stuck;
        policy->stuck = device->next_stuck;
        device->stuck = device->processing; /* the device is being decided about and cannot be
                                             * queued for that */
        device->next_stuck = still;
        if (device->stuck) still = device;
        for (Job *i = device->residents; i && again; i = i->next) i->move_failed = false;
        device_index_decide_later(policy, device);
    }
    policy->stuck = still;
}
