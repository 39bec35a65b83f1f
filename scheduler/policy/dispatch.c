#include "scheduler/policy/dispatch.h"

#include <assert.h>

#include "scheduler/policy/account.h"
#include "scheduler/policy/admission.h"
#include "scheduler/policy/device_index.h"
#include "scheduler/policy/eviction.h"
#include "scheduler/policy/fair_share.h"
#include "scheduler/policy/placement.h"
#include "scheduler/policy/quota.h"

/* The most device-time that a class may be owed, or be in debt: the floor of one window. */
static int64_t floor_limit(const Policy *policy) {
    uint64_t limit = policy->config.window_ns / 1000 * policy->config.floor_permille;
    return (int64_t)(limit > policy->config.quantum_ns ? limit : policy->config.quantum_ns);
}

static bool waits(const Policy *policy, const Device *device, PolicyClass class_) {
    if (device->queue.seats[class_].root || device->demand.seats[class_].root) return true;
    for (uint32_t i = 0; i < policy->bucket_count; i++) {
        const Bucket *bucket = policy->buckets[i];
        if (bucket->capacity > device->memory_bytes) break;
        if (bucket->queue.seats[class_].root) return true;
    }
    return false;
}

/* Gives each lower class that waits its share of the slice; the class that ran pays, if the class
 * was owed */
static void account_floors(Policy *policy, Device *device, const Job *job, uint64_t slice_ns) {
    int64_t limit = floor_limit(policy), permille = (int64_t)policy->config.floor_permille;
    for (int i = POLICY_HIGH + 1; i < POLICY_CLASS_COUNT; i++) {
        int64_t *floor_ns = &device->floor_ns[i];
        if ((int)job->account->class_ != i) {
            *floor_ns += (int64_t)slice_ns * permille / 1000;
            if (*floor_ns > 0 && !waits(policy, device, (PolicyClass)i)) *floor_ns = 0;
        } else {
            int64_t paid = (int64_t)slice_ns * (1000 - permille) / 1000;
            /* time that a class got because no higher class was ready only pays debts */
            if (job->owed || *floor_ns > paid)
                *floor_ns -= paid;
            else if (*floor_ns > 0)
                *floor_ns = 0;
        }
        if (*floor_ns > limit) *floor_ns = limit;
        if (*floor_ns < -limit) *floor_ns = -limit;
    }
}

/* The class whose floor is to be paid now; COUNT: none. A job of a higher class that has just come
 * goes first, unless the debt is half of its upper bound. */
static PolicyClass due_floor(const Policy *policy, const Device *device) {
    PolicyClass due = POLICY_CLASS_COUNT;
    for (int i = POLICY_HIGH + 1; i < POLICY_CLASS_COUNT; i++) {
        int64_t owed = device->floor_ns[i];
        if (owed < (int64_t)policy->config.quantum_ns) continue;
        if (device->fresh < (PolicyClass)i &&
            (device->fresh_preempts || owed < floor_limit(policy) / 2))
            continue;
        if (due == POLICY_CLASS_COUNT || owed > device->floor_ns[due]) due = (PolicyClass)i;
    }
    return due;
}

static Error *run(Policy *policy, Device *device, Job *job, bool owed) {
    Tenant *tenant = job->account->tenant;
    uint64_t budget_ns = quota_slice_ns(policy, tenant);
    account_hold(policy, job);
    fair_share_dequeue(policy, job);
    job->state = POLICY_JOB_RUNNING;
    job->place = POLICY_PLACE_DEVICE;
    job->owed = owed;
    device->running = job;
    device->fresh = POLICY_CLASS_COUNT;
    device->fresh_preempts = false;
    account_charge(job, budget_ns);
    quota_start_slice(tenant, budget_ns);
    return policy_act(policy, (PolicyAction){.kind = POLICY_ACTION_RUN,
                                  .job = job->key.low,
                                  .device = device->key.low,
                                  .ns = budget_ns});
}

static Error *try_class(Policy *policy, Device *device, PolicyClass class_, bool owed) {
    bool urgent = owed && device->floor_ns[class_] >= floor_limit(policy) / 2;
    TRY(placement_pull(policy, device, class_, urgent));
    Seat *seat = fair_share_top(policy, &device->queue, class_);
    return seat ? run(policy, device, fair_share_first_job(seat), owed) : NULL;
}

Error *dispatch_decide(Policy *policy, Device *device) {
    PolicyClass due = due_floor(policy, device);
    assert(!device->running);
    if (due != POLICY_CLASS_COUNT) TRY(try_class(policy, device, due, true));
    for (int i = 0; i < POLICY_CLASS_COUNT && !device->running; i++)
        TRY(try_class(policy, device, (PolicyClass)i, false));
    if (device->running) return NULL;
    device->fresh = POLICY_CLASS_COUNT;
    device->fresh_preempts = false;
    return placement_steal(policy, device);
}

Error *dispatch_preempt(Policy *policy, Device *device) {
    Job *job = device->running;
    if (device->fresh >= job->account->class_ || device->preempting) return NULL;
    device->preempting = true;
    device->fresh_preempts = true;
    return policy_act(
        policy, (PolicyAction){
                    .kind = POLICY_ACTION_PREEMPT, .job = job->key.low, .device = device->key.low});
}

static Error *needs_memory(Policy *policy, Job *job, uint64_t bytes) {
    Device *device = job->device;
    Tenant *tenant = job->account->tenant;
    uint64_t all = job->bytes + job->model->bytes + bytes;
    uint64_t quota = tenant->limits[POLICY_QUOTA_DEVICE_BYTES];
    uint64_t most = job->demanded ? job->demanded->memory_bytes
                                  : policy->buckets[policy->bucket_count - 2]->capacity;
    if (all > most || all > quota) {
        bool over_quota = all > quota;
        TRY(policy_act(
            policy, (PolicyAction){.kind = POLICY_ACTION_FAIL,
                        .job = job->key.low,
                        .reason = over_quota ? POLICY_REASON_QUOTA : POLICY_REASON_DEVICE_MEMORY,
                        .quota = over_quota ? POLICY_QUOTA_DEVICE_BYTES : POLICY_QUOTA_NONE,
                        .limit = over_quota ? quota : most,
                        .used = all}));
        return admission_end(policy, job, 0);
    }
    job->grow_bytes = bytes;
    account_drop(policy, job);
    if (job->wants_suspend) return eviction_move_out(policy, job, true);
    if (all > device->memory_bytes) return eviction_move_out(policy, job, false);
    job->state = POLICY_JOB_GROWING;
    device->growing_count++;
    return NULL;
}

static void end_slice(Policy *policy, Device *device, uint64_t device_time_ns) {
    Job *job = device->running;
    quota_end_slice(policy, job->account->tenant, job->budget_ns, device_time_ns);
    account_settle(policy, job, device_time_ns);
    account_floors(policy, device, job, device_time_ns);
    device->running = NULL;
    device->preempting = false;
}

void dispatch_lose_slice(Policy *policy, Device *device) { end_slice(policy, device, 0); }

Error *dispatch_slice_ended(Policy *policy, Job *job, const PolicyEvent *event) {
    Tenant *tenant = job->account->tenant;
    PolicyOutcome outcome = (PolicyOutcome)event->outcome;
    bool refund = event->device_time_ns < job->budget_ns;
    end_slice(policy, job->device, event->device_time_ns);
    job->move_failed = false;
    device_index_decide_later(policy, job->device);
    if (outcome == POLICY_OUTCOME_FINISHED || outcome == POLICY_OUTCOME_FAILED)
        return admission_end(policy, job, 0);
    if (refund && tenant->limits[POLICY_QUOTA_DEVICE_SECONDS_PER_HOUR] != POLICY_NO_LIMIT)
        quota_unpark(policy, tenant);
    if (job->wants_cancel) return admission_end(policy, job, POLICY_ACTION_RELEASE);
    if (outcome == POLICY_OUTCOME_NEEDS_MEMORY && event->bytes)
        return needs_memory(policy, job, event->bytes);
    job->blocked = outcome == POLICY_OUTCOME_BLOCKED;
    if (job->wants_suspend) return eviction_move_out(policy, job, true);
    if (job->blocked) {
        job->state = POLICY_JOB_BLOCKED;
        account_drop(policy, job);
        return NULL;
    }
    return placement_ready(policy, job, false);
}
