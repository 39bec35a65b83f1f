#include "scheduler/policy/admission.h"

#include "base/allocator.h"
#include "base/duration.h"
#include "scheduler/policy/account.h"
#include "scheduler/policy/buckets.h"
#include "scheduler/policy/deadline.h"
#include "scheduler/policy/device_index.h"
#include "scheduler/policy/eviction.h"
#include "scheduler/policy/fair_share.h"
#include "scheduler/policy/placement.h"
#include "scheduler/policy/quota.h"
#include "scheduler/policy/replica.h"

static const char *const state_names[] = {"queued", "being placed", "being moved in", "ready",
    "running", "waiting for memory", "blocked", "being moved out", "suspended"};

Error *admission_set_tenant(Policy *policy, const PolicyEvent *event) {
    Tenant *tenant = id_map_find(&policy->tenants, 0, event->tenant);
    if (!tenant) {
        void *memory;
        TRY(memory_alloc(1, sizeof *tenant, &memory));
        tenant = memory;
        tenant->key.low = event->tenant;
        tenant->minute = policy->now_ns / MINUTE_NS;
        for (int i = 0; i < POLICY_CLASS_COUNT; i++)
            tenant->accounts[i] = (Account){.tenant = tenant, .class_ = (PolicyClass)i};
        Error *error = id_map_add(&policy->tenants, &tenant->key);
        if (error) {
            memory_free(tenant);
            return error;
        }
    }
    tenant->weight = event->weight;
    if (tenant->weight < policy->least_weight) policy->least_weight = tenant->weight;
#define QUOTA(number, name, member) tenant->limits[POLICY_QUOTA_##name] = event->member;
#include "scheduler/policy/policy_quotas.def"
#undef QUOTA
    quota_unpark(policy, tenant);
    return NULL;
}

static Error *refuse(Policy *policy, PolicyActionKind kind, uint64_t job, PolicyReason reason,
    PolicyQuota quota, uint64_t limit, uint64_t used) {
    return policy_act(policy, (PolicyAction){.kind = kind,
                                  .job = job,
                                  .reason = reason,
                                  .quota = quota,
                                  .limit = limit,
                                  .used = used});
}

/* *out_refused: REFUSE was said. */
static Error *check(Policy *policy, const PolicyEvent *event, const Tenant *tenant,
    const Device *demanded, bool *out_refused) {
    uint64_t bytes = event->bytes + event->constant_bytes;
    uint64_t limit = tenant->limits[POLICY_QUOTA_DEVICE_BYTES];
    const Bucket *bucket = buckets_fitting(policy, bytes);
    *out_refused = true;
    if (event->device != POLICY_NO_DEVICE && !demanded)
        return refuse(policy, POLICY_ACTION_REFUSE, event->job, POLICY_REASON_NO_DEVICE,
            POLICY_QUOTA_NONE, 0, 0);
    if (bytes > limit)
        return refuse(policy, POLICY_ACTION_REFUSE, event->job, POLICY_REASON_QUOTA,
            POLICY_QUOTA_DEVICE_BYTES, limit, bytes);
    if (demanded && bytes > demanded->memory_bytes)
        return refuse(policy, POLICY_ACTION_REFUSE, event->job, POLICY_REASON_DEVICE_MEMORY,
            POLICY_QUOTA_NONE, demanded->memory_bytes, bytes);
    if (buckets_is_last(policy, bucket) && policy->bucket_count > 1)
        return refuse(policy, POLICY_ACTION_REFUSE, event->job, POLICY_REASON_DEVICE_MEMORY,
            POLICY_QUOTA_NONE, policy->buckets[policy->bucket_count - 2]->capacity, bytes);
    limit = tenant->limits[POLICY_QUOTA_QUEUED_JOBS];
    /* a job that was accepted before a restart stays accepted */
    if (event->place == POLICY_PLACE_NONE && tenant->used.queued_jobs >= limit)
        return refuse(policy, POLICY_ACTION_REFUSE, event->job, POLICY_REASON_QUOTA,
            POLICY_QUOTA_QUEUED_JOBS, limit, tenant->used.queued_jobs + 1);
    *out_refused = false;
    return NULL;
}

static Error *get_model(Policy *policy, const PolicyEvent *event, Model **out_model) {
    Model *model = id_map_find(&policy->models, 0, event->model);
    if (!model) {
        void *memory;
        TRY(memory_alloc(1, sizeof *model, &memory));
        model = memory;
        *model = (Model){.key.low = event->model, .bytes = event->constant_bytes};
        Error *error = id_map_add(&policy->models, &model->key);
        if (error) {
            memory_free(model);
            return error;
        }
    }
    model->reference_count++;
    *out_model = model;
    return NULL;
}

Error *admission_submit(Policy *policy, const PolicyEvent *event) {
    Tenant *tenant = id_map_find(&policy->tenants, 0, event->tenant);
    Device *demanded = id_map_find(&policy->devices, 0, event->device);
    const Model *known = id_map_find(&policy->models, 0, event->model);
    bool refused;
    if (!tenant) FAIL(NOT_FOUND, "tenant %llu is unknown", (unsigned long long)event->tenant);
    if (id_map_find(&policy->jobs, 0, event->job))
        FAIL(CONFLICT, "job %llu is there already", (unsigned long long)event->job);
    if (event->place != POLICY_PLACE_NONE && event->place != POLICY_PLACE_DISK)
        FAIL(INVALID, "job %llu: a new job begins with nothing or on disk",
            (unsigned long long)event->job);
    if (known && known->bytes != event->constant_bytes)
        FAIL(INVALID, "model %llu has %llu bytes, not %llu", (unsigned long long)event->model,
            (unsigned long long)known->bytes, (unsigned long long)event->constant_bytes);
    TRY(check(policy, event, tenant, demanded, &refused));
    if (refused) return NULL;
    void *memory;
    TRY(memory_alloc(1, sizeof(Job), &memory));
    Job *job = memory;
    *job = (Job){.key.low = event->job,
        .account = &tenant->accounts[event->class_],
        .demanded = demanded,
        .bytes = event->bytes,
        .weight = (uint32_t)event->weight,
        .place = (uint8_t)event->place,
        .checkpointed = event->place == POLICY_PLACE_DISK};
    Error *error = get_model(policy, event, &job->model);
    if (!error) error = id_map_add(&policy->jobs, &job->key);
    if (error) {
        memory_free(job);
        return error;
    }
    account_begin_job(job);
    quota_enter(job);
    TRY(policy_act(policy, (PolicyAction){.kind = POLICY_ACTION_ACCEPT, .job = job->key.low}));
    TRY(deadline_enter(policy, job, event->deadline_ns));
    return admission_wait(policy, job);
}

Error *admission_wait(Policy *policy, Job *job) {
    Bucket *bucket = buckets_fitting(policy, job->bytes + job->model->bytes);
    bool found;
    job->state = POLICY_JOB_WAITING;
    if (job->place == POLICY_PLACE_NONE) {
        quota_close(job);
        quota_enter(job);
    }
    if (job->place == POLICY_PLACE_HOST) eviction_list_host(policy, job);
    TRY(fair_share_enqueue(policy, job, job->demanded ? &job->demanded->demand : &bucket->queue));
    if (job->seat->parked) return NULL;
    return placement_offer(policy, job, &found);
}

Error *admission_suspended(Policy *policy, Job *job) {
    job->state = POLICY_JOB_SUSPENDED;
    job->wants_suspend = job->blocked = false;
    quota_begin(job);
    quota_close(job);
    TRY(policy_act(policy, (PolicyAction){.kind = POLICY_ACTION_SUSPENDED, .job = job->key.low}));
    quota_unpark(policy, job->account->tenant);
    return NULL;
}

/* Takes the job out of its queue, its device and host memory. */
static void detach(Policy *policy, Job *job) {
    PolicyJobState state = (PolicyJobState)job->state;
    if (state == POLICY_JOB_WAITING || state == POLICY_JOB_READY) fair_share_dequeue(policy, job);
    bool listed = state == POLICY_JOB_WAITING || (state == POLICY_JOB_BLOCKED && !job->device);
    if (listed && job->place == POLICY_PLACE_HOST) eviction_unlist_host(policy, job);
    if (state == POLICY_JOB_GROWING) job->device->growing_count--;
    account_drop(policy, job);
    fair_share_leave(policy, job);
    if (job->device) placement_leave(policy, job);
}

Error *admission_end(Policy *policy, Job *job, PolicyActionKind action) {
    Tenant *tenant = job->account->tenant;
    detach(policy, job);
    if (job->host_bytes) eviction_leave_host(policy, job);
    quota_begin(job);
    quota_close(job);
    TRY(deadline_leave(policy, job));
    if (action) TRY(policy_act(policy, (PolicyAction){.kind = action, .job = job->key.low}));
    replica_unreference_model(policy, job->model);
    id_map_remove(&policy->jobs, &job->key);
    memory_free(job);
    quota_unpark(policy, tenant);
    return NULL;
}

static Error *suspend_waiting(Policy *policy, Job *job) {
    detach(policy, job);
    if (job->place != POLICY_PLACE_HOST) return admission_suspended(policy, job);
    job->state = POLICY_JOB_PLACING; /* in no queue */
    return eviction_move_out(policy, job, true);
}

static Error *stop_slice(Policy *policy, Job *job) {
    if (job->device->preempting) return NULL;
    job->device->preempting = true;
    device_index_decide_later(policy, job->device);
    return policy_act(policy,
        (PolicyAction){
            .kind = POLICY_ACTION_PREEMPT, .job = job->key.low, .device = job->device->key.low});
}

Error *admission_suspend(Policy *policy, Job *job) {
    if (job->wants_suspend || job->wants_cancel || job->state == POLICY_JOB_SUSPENDED)
        FAIL(CONFLICT, "job %llu is %s", (unsigned long long)job->key.low,
            job->state == POLICY_JOB_SUSPENDED ? "suspended"
            : job->wants_cancel                ? "being cancelled"
                                               : "being suspended");
    job->wants_suspend = true;
    switch ((PolicyJobState)job->state) {
    case POLICY_JOB_WAITING:
    case POLICY_JOB_PLACING:
        return suspend_waiting(policy, job);
    case POLICY_JOB_READY:
    case POLICY_JOB_GROWING:
        return eviction_move_out(policy, job, true);
    case POLICY_JOB_BLOCKED:
        if (!job->device) return suspend_waiting(policy, job);
        return eviction_move_out(policy, job, true);
    case POLICY_JOB_RUNNING:
        return stop_slice(policy, job);
    case POLICY_JOB_MOVING_IN:
    case POLICY_JOB_MOVING_OUT:
    case POLICY_JOB_SUSPENDED:
        break;
    }
    return NULL;
}

Error *admission_resume(Policy *policy, Job *job, uint64_t device) {
    Device *demanded = id_map_find(&policy->devices, 0, device);
    uint64_t bytes = job->bytes + job->model->bytes;
    if (device != POLICY_NO_DEVICE && !demanded)
        FAIL(NOT_FOUND, "device %llu is unknown", (unsigned long long)device);
    if (job->wants_suspend && !job->wants_cancel && !demanded) {
        job->wants_suspend = false;
        return NULL;
    }
    if (job->state != POLICY_JOB_SUSPENDED)
        FAIL(CONFLICT, "job %llu is %s", (unsigned long long)job->key.low, state_names[job->state]);
    if (demanded && bytes > demanded->memory_bytes)
        FAIL(CONFLICT, "job %llu needs %llu bytes; device %llu has %llu",
            (unsigned long long)job->key.low, (unsigned long long)bytes, (unsigned long long)device,
            (unsigned long long)demanded->memory_bytes);
    job->demanded = demanded;
    quota_enter(job);
    return admission_wait(policy, job);
}

Error *admission_cancel(Policy *policy, Job *job) {
    if (job->wants_cancel)
        FAIL(CONFLICT, "job %llu is being cancelled", (unsigned long long)job->key.low);
    job->wants_cancel = true;
    if (job->state == POLICY_JOB_RUNNING) return stop_slice(policy, job);
    if (job->state == POLICY_JOB_MOVING_IN || job->state == POLICY_JOB_MOVING_OUT) return NULL;
    return admission_end(policy, job, POLICY_ACTION_RELEASE);
}

Error *admission_unblock(Policy *policy, Job *job) {
    job->blocked = false;
    if (job->state != POLICY_JOB_BLOCKED)
        return NULL; /* the job moves out, and will wait after
                      * that */
    if (job->device) return placement_ready(policy, job, true);
    if (job->place == POLICY_PLACE_HOST) eviction_unlist_host(policy, job);
    return admission_wait(policy, job);
}

Error *admission_throw_back(Policy *policy, Job *job) {
    bool arriving = job->state == POLICY_JOB_PLACING || job->state == POLICY_JOB_MOVING_IN;
    bool leaving = job->state == POLICY_JOB_MOVING_OUT;
    detach(policy, job);
    if (leaving && job->host_bytes) eviction_leave_host(policy, job);
    if (!arriving) {
        job->place = job->checkpointed ? POLICY_PLACE_DISK : POLICY_PLACE_NONE;
        job->grow_bytes = 0;
        quota_close(job);
        quota_enter(job);
    }
    job->move_failed = job->blocked = false;
    job->state = POLICY_JOB_PLACING; /* in no queue */
    if (job->wants_cancel) return admission_end(policy, job, POLICY_ACTION_RELEASE);
    if (!job->wants_suspend) return admission_wait(policy, job);
    if (job->place == POLICY_PLACE_HOST) return eviction_move_out(policy, job, true);
    return admission_suspended(policy, job);
}
