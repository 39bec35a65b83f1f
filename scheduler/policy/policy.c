#include "scheduler/policy/policy.h"

#include "base/allocator.h"
#include "base/duration.h"
#include "scheduler/policy/admission.h"
#include "scheduler/policy/buckets.h"
#include "scheduler/policy/deadline.h"
#include "scheduler/policy/device_index.h"
#include "scheduler/policy/device_life.h"
#include "scheduler/policy/dispatch.h"
#include "scheduler/policy/fair_share.h"
#include "scheduler/policy/placement.h"
#include "scheduler/policy/policy_state.h"
#include "scheduler/policy/quota.h"
#include "scheduler/policy/replica.h"

/* A slice of 10 ms is a hundred times a switch with its bookkeeping, and short for a person. 100 ms
 * of lag is worth a move of some hundred megabytes. 64 MiB of host memory are reserved for writing
 * checkpoints: the daemon subtracts them from the figure in CONFIG. */
static const PolicyConfig default_config = {.quantum_ns = SECOND_NS / 100,
    .floor_permille = 50,
    .window_ns = 10 * SECOND_NS,
    .swap_ns = SECOND_NS / 10,
    .host_bytes = 0};

Error *policy_create(Policy **out_policy) {
    void *memory;
    Bucket *bucket;
    TRY(memory_alloc(1, sizeof(Policy), &memory));
    OWN(Policy, policy) = memory;
    policy->config = default_config;
    policy->least_weight = POLICY_WEIGHT_MAX;
    policy->longest_ns = 1;
    TRY(buckets_get(policy, UINT64_MAX, &bucket));
    *out_policy = TAKE(policy);
    return NULL;
}

static void release_deadlines(Policy *policy) {
    for (size_t i = 0; i < policy->jobs.capacity; i++) {
        Job *job = (Job *)policy->jobs.slots[i];
        if (job) memory_free(job->deadline);
    }
}

static void release_all(IdMap *map) {
    for (size_t i = 0; i < map->capacity; i++) memory_free(map->slots[i]);
    id_map_deinit(map);
}

void policy_release(Policy *policy) {
    if (!policy) return;
    release_deadlines(policy);
    release_all(&policy->jobs);
    release_all(&policy->seats);
    release_all(&policy->uses);
    release_all(&policy->replicas);
    release_all(&policy->models);
    release_all(&policy->devices);
    release_all(&policy->tenants);
    for (uint32_t i = 0; i < policy->bucket_count; i++) memory_free(policy->buckets[i]);
    memory_free(policy->actions);
    memory_free(policy);
}

static Error *decide(Policy *policy) {
    while (policy->deciding || policy->unparking) {
        TRY(placement_offer_unparked(policy));
        if (!policy->deciding) continue;
        TRY(device_life_decide(policy, device_index_take_deciding(policy)));
    }
    return NULL;
}

static void set_config(Policy *policy, const PolicyEvent *event) {
    policy->config = (PolicyConfig){.quantum_ns = event->quantum_ns,
        .floor_permille = event->floor_permille,
        .window_ns = event->floor_window_ns,
        .swap_ns = event->swap_ns,
        .host_bytes = event->host_bytes};
}

/* Events about one job. */
static Error *apply_job(Policy *policy, const PolicyEvent *event) {
    Job *job = id_map_find(&policy->jobs, 0, event->job);
    unsigned long long id = event->job;
    if (!job) FAIL(NOT_FOUND, "job %llu is unknown", id);
    PolicyJobState state = (PolicyJobState)job->state;
    if (event->kind == POLICY_EVENT_SLICE_ENDED) {
        if (state != POLICY_JOB_RUNNING || job->device->key.low != event->device)
            FAIL(CONFLICT, "job %llu does not run on device %llu", id,
                (unsigned long long)event->device);
        return dispatch_slice_ended(policy, job, event);
    }
    if (event->kind == POLICY_EVENT_MOVED_OUT) {
        if (state != POLICY_JOB_MOVING_OUT) FAIL(CONFLICT, "job %llu does not move out", id);
        return placement_moved_out(policy, job, event->worked);
    }
    if (event->kind == POLICY_EVENT_MOVED_IN) {
        if (state != POLICY_JOB_MOVING_IN) FAIL(CONFLICT, "job %llu does not move in", id);
        return placement_moved_in(policy, job, event->worked);
    }
    if (event->kind == POLICY_EVENT_UNBLOCKED) {
        if (!job->blocked) FAIL(CONFLICT, "job %llu is not blocked", id);
        return admission_unblock(policy, job);
    }
    if (event->kind == POLICY_EVENT_JOB_ESTIMATED)
        return deadline_estimate(policy, job, event->device_time_ns);
    if (event->kind == POLICY_EVENT_CHECKPOINTED) {
        job->checkpointed = true;
        return NULL;
    }
    if (event->kind == POLICY_EVENT_SUSPEND_REQUESTED) return admission_suspend(policy, job);
    if (event->kind == POLICY_EVENT_RESUME_REQUESTED)
        return admission_resume(policy, job, event->device);
    return admission_cancel(policy, job);
}

/* Events about weights on a device. */
static Error *apply_weights(Policy *policy, const PolicyEvent *event) {
    Replica *replica = id_map_find(&policy->replicas, event->model, event->device);
    ReplicaState state =
        event->kind == POLICY_EVENT_WEIGHTS_LOADED ? REPLICA_LOADING : REPLICA_EVICTING;
    if (!replica || replica->state != state)
        FAIL(CONFLICT, "model %llu: its weights are not being %s on device %llu",
            (unsigned long long)event->model, state == REPLICA_LOADING ? "loaded" : "evicted",
            (unsigned long long)event->device);
    device_index_decide_later(policy, replica->device);
    if (state == REPLICA_EVICTING)
        replica_remove(policy, replica);
    else if (event->worked)
        replica_set_resident(replica);
    else
        return placement_load_failed(policy, replica);
    return NULL;
}

static Error *apply(Policy *policy, const PolicyEvent *event) {
    Device *device;
    switch (event->kind) {
    case POLICY_EVENT_CONFIG:
        set_config(policy, event);
        return NULL;
    case POLICY_EVENT_TENANT_SET:
        return admission_set_tenant(policy, event);
    case POLICY_EVENT_DEVICE_ADDED:
        return device_life_add(policy, event);
    case POLICY_EVENT_DEVICE_LOST:
        device = id_map_find(&policy->devices, 0, event->device);
        if (!device) FAIL(NOT_FOUND, "device %llu is unknown", (unsigned long long)event->device);
        return device_life_lose(policy, device);
    case POLICY_EVENT_JOB_SUBMITTED:
        return admission_submit(policy, event);
    case POLICY_EVENT_WEIGHTS_LOADED:
    case POLICY_EVENT_WEIGHTS_EVICTED:
        return apply_weights(policy, event);
    case POLICY_EVENT_CLOCK:
        policy->timer_ns = 0;
        return NULL;
    case POLICY_EVENT_SLICE_ENDED:
    case POLICY_EVENT_MOVED_OUT:
    case POLICY_EVENT_MOVED_IN:
    case POLICY_EVENT_CHECKPOINTED:
    case POLICY_EVENT_UNBLOCKED:
    case POLICY_EVENT_SUSPEND_REQUESTED:
    case POLICY_EVENT_RESUME_REQUESTED:
    case POLICY_EVENT_CANCEL_REQUESTED:
    case POLICY_EVENT_JOB_ESTIMATED:
        return apply_job(policy, event);
    case POLICY_EVENT_KIND_COUNT:
        break;
    }
    FAIL(INVALID, "event %d is unknown", (int)event->kind);
}

Error *policy_apply(
    Policy *policy, const PolicyEvent *event, const PolicyAction **out_actions, size_t *out_count) {
    uint64_t before_ns = policy->now_ns;
    if (policy->failed) FAIL(OUT_OF_MEMORY, "the policy ran out of memory before");
    TRY(policy_event_check(event));
    if (event->time_ns < before_ns)
        FAIL(INVALID, "%s: time goes back from %llu to %llu", policy_event_infos[event->kind].name,
            (unsigned long long)before_ns, (unsigned long long)event->time_ns);
    policy->now_ns = event->time_ns;
    policy->action_count = 0;
    Error *error = apply(policy, event);
    if (error && error_code(error) != ERROR_OUT_OF_MEMORY) {
        policy->now_ns = before_ns;
        return error;
    }
    if (!error) quota_advance(policy);
    if (!error) error = fair_share_advance_deadlines(policy);
    if (!error) error = decide(policy);
    if (!error) error = quota_set_timer(policy);
    policy->failed = error != NULL;
    if (error) return error;
    *out_actions = policy->actions;
    *out_count = policy->action_count;
    return NULL;
}

uint64_t policy_get_digest(const Policy *policy) { return policy->digest; }

bool policy_find_job(const Policy *policy, uint64_t id, PolicyJobView *out_view) {
    const Job *job = id_map_find(&policy->jobs, 0, id);
    if (!job) return false;
    *out_view = (PolicyJobView){.state = (PolicyJobState)job->state,
        .place = (PolicyPlace)job->place,
        .open = job->open,
        .blocked = job->blocked,
        .suspending = job->wants_suspend,
        .cancelling = job->wants_cancel,
        .tenant = job->account->tenant->key.low,
        .device = job->device ? job->device->key.low : POLICY_NO_DEVICE};
    return true;
}

bool policy_find_wait(const Policy *policy, uint64_t id, PolicyWait *out_wait) {
    const Job *job = id_map_find(&policy->jobs, 0, id);
    if (!job) return false;
    const Tenant *tenant = job->account->tenant;
    const uint64_t limit = tenant->limits[POLICY_QUOTA_DEVICE_BYTES];
    const Replica *replica = job->device ? replica_find(policy, job->model, job->device) : NULL;
    const bool loaded = replica && replica->state == REPLICA_RESIDENT;
    *out_wait = (PolicyWait){.bytes = job->bytes + (loaded ? 0 : job->model->bytes),
        .more_bytes = job->grow_bytes,
        .left = limit > tenant->used.device_bytes ? limit - tenant->used.device_bytes : 0,
        .weights = job->state == POLICY_JOB_PLACING && job->granted && !loaded,
        .room = job->state == POLICY_JOB_PLACING && !job->granted};
    const bool parked = job->seat && job->seat->parked; /* its weights may be charged already */
    out_wait->over_bytes = job->state == POLICY_JOB_WAITING &&
                           (parked ? out_wait->bytes : job->bytes) > out_wait->left;
    return true;
}

bool policy_find_room(const Policy *policy, uint64_t job_id, uint64_t device_id,
    uint64_t *out_needed, uint64_t *out_free) {
    const Job *job = id_map_find(&policy->jobs, 0, job_id);
    const Device *device = id_map_find(&policy->devices, 0, device_id);
    if (!job || !device) return false;
    const Replica *replica = replica_find(policy, job->model, device);
    const uint64_t held = device->used_bytes - device->idle_bytes;
    *out_needed = job->bytes + (replica ? 0 : job->model->bytes);
    *out_free = device->memory_bytes > held ? device->memory_bytes - held : 0;
    return true;
}

bool policy_find_usage(const Policy *policy, uint64_t id, PolicyUsage *out_usage) {
    const Tenant *tenant = id_map_find(&policy->tenants, 0, id);
    if (!tenant) return false;
    *out_usage = (PolicyUsage){.running_jobs = tenant->used.running_jobs,
        .queued_jobs = tenant->used.queued_jobs,
        .device_bytes = tenant->used.device_bytes,
        .host_bytes = tenant->used.host_bytes,
        .device_ns_last_hour = tenant->hour_ns};
    return true;
}

/* The map is between three eighths and three quarters full. */
size_t policy_bytes_per_job(void) { return sizeof(Job) + sizeof(IdKey *) * 8 / 3; }
