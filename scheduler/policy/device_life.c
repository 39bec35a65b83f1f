#include "scheduler/policy/device_life.h"

#include "base/allocator.h"
#include "scheduler/policy/admission.h"
#include "scheduler/policy/buckets.h"
#include "scheduler/policy/device_index.h"
#include "scheduler/policy/dispatch.h"
#include "scheduler/policy/growth.h"
#include "scheduler/policy/placement.h"
#include "scheduler/policy/replica.h"

static Error *create(Policy *policy, uint64_t id, Device **out_device) {
    void *memory;
    TRY(memory_alloc(1, sizeof(Device), &memory));
    Device *device = memory;
    device->key.low = id;
    device->lost = true;
    device->fresh = POLICY_CLASS_COUNT;
    device->queue.index = policy->queue_count++;
    device->queue.local = true;
    device->demand.index = policy->queue_count++;
    Error *error = id_map_add(&policy->devices, &device->key);
    if (error)
        memory_free(device);
    else
        *out_device = device;
    return error;
}

Error *device_life_add(Policy *policy, const PolicyEvent *event) {
    Device *device = id_map_find(&policy->devices, 0, event->device);
    Bucket *bucket;
    if (event->device == POLICY_NO_DEVICE) FAIL(INVALID, "that device number means none");
    if (device && !device->lost && device->memory_bytes != event->memory_bytes)
        FAIL(CONFLICT, "device %llu is there with %llu bytes", (unsigned long long)event->device,
            (unsigned long long)device->memory_bytes);
    TRY(buckets_get(policy, event->memory_bytes, &bucket));
    if (!device) TRY(create(policy, event->device, &device));
    device->bucket = bucket;
    device->memory_bytes = event->memory_bytes;
    device_index_decide_later(policy, device); /* out of its index, so that its speed can change */
    device->speed = event->speed;
    device->lost = false;
    device_index_decide_later(policy, device);
    return NULL;
}

Error *device_life_lose(Policy *policy, Device *device) {
    if (device->lost)
        FAIL(CONFLICT, "device %llu is lost already", (unsigned long long)device->key.low);
    device->lost = true;
    device_index_update(policy, device);
    if (device->running) dispatch_lose_slice(policy, device);
    for (int i = 0; i < POLICY_CLASS_COUNT; i++) {
        if (device->entering[i]) TRY(admission_throw_back(policy, device->entering[i]));
        device->floor_ns[i] = 0;
    }
    while (device->residents) TRY(admission_throw_back(policy, device->residents));
    while (device->idle_replicas) replica_remove(policy, device->idle_replicas);
    device->fresh = POLICY_CLASS_COUNT;
    device->fresh_preempts = device->preempting = false;
    device_index_waiting(policy, device);
    return NULL;
}

Error *device_life_decide(Policy *policy, Device *device) {
    if (device->lost) return NULL;
    device->processing = true;
    TRY(growth_grant(policy, device));
    TRY(placement_advance(policy, device));
    if (device->running)
        TRY(dispatch_preempt(policy, device));
    else
        TRY(dispatch_decide(policy, device));
    if (device->running) TRY(placement_prefetch(policy, device));
    device->processing = false;
    device_index_update(policy, device);
    device_index_waiting(policy, device);
    bool idle = device->index == DEVICE_IN_IDLE;
    if (idle != device->ordered_idle) replica_order(device, idle);
    device->ordered_idle = idle;
    return NULL;
}
