#include "scheduler/policy/replica.h"

#include <assert.h>

#include "base/allocator.h"

Replica *replica_find(const Policy *policy, const Model *model, const Device *device) {
    return id_map_find(&policy->replicas, model->key.low, device->key.low);
}

static void device_list(Replica *replica, Replica ***out_first, Replica ***out_last) {
    Device *device = replica->device;
    *out_first = replica->user_count ? &device->used_replicas : &device->idle_replicas;
    *out_last = replica->user_count ? &device->used_replicas_last : &device->idle_replicas_last;
}

static void link_device(Replica *replica) {
    Replica **first, **last;
    device_list(replica, &first, &last);
    replica->next = NULL;
    replica->previous = *last;
    *(*last ? &(*last)->next : first) = replica;
    *last = replica;
    if (!replica->user_count && replica->state == REPLICA_RESIDENT)
        replica->device->idle_bytes += replica->bytes;
}

static void unlink_device(Replica *replica) {
    Replica **first, **last;
    device_list(replica, &first, &last);
    *(replica->previous ? &replica->previous->next : first) = replica->next;
    *(replica->next ? &replica->next->previous : last) = replica->previous;
    if (!replica->user_count && replica->state == REPLICA_RESIDENT)
        replica->device->idle_bytes -= replica->bytes;
}

static void link_model(Replica *replica, bool first) {
    Model *model = replica->model;
    replica->next_of_model = first ? model->replicas : NULL;
    replica->previous_of_model = first ? NULL : model->replicas_last;
    *(replica->previous_of_model ? &replica->previous_of_model->next_of_model : &model->replicas) =
        replica;
    *(replica->next_of_model ? &replica->next_of_model->previous_of_model : &model->replicas_last) =
        replica;
}

static void unlink_model(Replica *replica) {
    Model *model = replica->model;
    *(replica->previous_of_model ? &replica->previous_of_model->next_of_model : &model->replicas) =
        replica->next_of_model;
    *(replica->next_of_model ? &replica->next_of_model->previous_of_model : &model->replicas_last) =
        replica->previous_of_model;
}

Error *replica_load(Policy *policy, Model *model, Device *device) {
    void *memory;
    TRY(memory_alloc(1, sizeof(Replica), &memory));
    Replica *replica = memory;
    *replica = (Replica){.key = {model->key.low, device->key.low},
        .device = device,
        .model = model,
        .bytes = model->bytes,
        .state = REPLICA_LOADING};
    Error *error = id_map_add(&policy->replicas, &replica->key);
    if (error) {
        memory_free(replica);
        return error;
    }
    model->reference_count++;
    device->used_bytes += replica->bytes;
    link_device(replica);
    link_model(replica, false);
    return policy_act(policy, (PolicyAction){.kind = POLICY_ACTION_LOAD_WEIGHTS,
                                  .model = model->key.low,
                                  .device = device->key.low,
                                  .bytes = replica->bytes});
}

void replica_use(Replica *replica) {
    if (replica->user_count == 0) {
        unlink_device(replica);
        replica->user_count = 1;
        link_device(replica);
    } else
        replica->user_count++;
}

void replica_unuse(Replica *replica) {
    assert(replica->user_count);
    if (replica->user_count == 1) {
        unlink_device(replica);
        replica->user_count = 0;
        link_device(replica);
    } else
        replica->user_count--;
}

Error *replica_evict(Policy *policy, Replica *replica) {
    Device *device = replica->device;
    assert(!replica->user_count && replica->state == REPLICA_RESIDENT);
    unlink_device(replica);
    replica->state = REPLICA_EVICTING;
    link_device(replica);
    device->leaving_bytes += replica->bytes;
    return policy_act(policy, (PolicyAction){.kind = POLICY_ACTION_EVICT_WEIGHTS,
                                  .model = replica->model->key.low,
                                  .device = device->key.low,
                                  .bytes = replica->bytes});
}

void replica_set_resident(Replica *replica) {
    unlink_device(replica);
    replica->state = REPLICA_RESIDENT;
    link_device(replica);
}

void replica_remove(Policy *policy, Replica *replica) {
    Device *device = replica->device;
    unlink_device(replica);
    unlink_model(replica);
    device->used_bytes -= replica->bytes;
    if (replica->state == REPLICA_EVICTING) device->leaving_bytes -= replica->bytes;
    id_map_remove(&policy->replicas, &replica->key);
    replica_unreference_model(policy, replica->model);
    memory_free(replica);
}

static void order_list(Replica *replica, bool idle) {
    for (; replica; replica = replica->next) {
        unlink_model(replica);
        link_model(replica, idle);
    }
}

void replica_order(const Device *device, bool idle) {
    order_list(device->idle_replicas, idle);
    order_list(device->used_replicas, idle);
}

void replica_unreference_model(Policy *policy, Model *model) {
    if (--model->reference_count) return;
    id_map_remove(&policy->models, &model->key);
    memory_free(model);
}
