#include "scheduler/policy/placement.h"

#include <assert.h>

#include "scheduler/policy/account.h"
#include "scheduler/policy/admission.h"
#include "scheduler/policy/device_index.h"
#include "scheduler/policy/eviction.h"
#include "scheduler/policy/fair_share.h"
#include "scheduler/policy/quota.h"
#include "scheduler/policy/replica.h"

typedef enum Placed {
    PLACED_READY,   /* the job is in the device's queue */
    PLACED_COMING,  /* the job is the device's entering job */
    PLACED_NOWHERE, /* the job stays where it was, or its seat is parked */
} Placed;

static bool takes_time(const Policy *policy, const Device *device, const Job *job) {
    const Replica *replica = replica_find(policy, job->model, device);
    return job->place != POLICY_PLACE_NONE || !replica || replica->state != REPLICA_RESIDENT;
}

/* Grants the job its memory on the device. */
static Error *grant(Policy *policy, Device *device, Job *job) {
    Replica *replica = replica_find(policy, job->model, device);
    if (!replica) {
        TRY(replica_load(policy, job->model, device));
        replica = replica_find(policy, job->model, device);
        if (!job->model->bytes) replica_set_resident(replica);
    }
    replica_use(replica);
    job->granted = true;
    quota_begin(job);
    device->used_bytes += job->bytes;
    job->previous = NULL;
    job->next = device->residents;
    if (job->next) job->next->previous = job;
    device->residents = job;
    return policy_act(policy, (PolicyAction){.kind = POLICY_ACTION_GRANT,
                                  .job = job->key.low,
                                  .device = device->key.low,
                                  .bytes = job->bytes});
}

static Error *give_up(Policy *policy, Job *job) {
    placement_leave(policy, job);
    return admission_wait(policy, job);
}

static Error *advance(Policy *policy, Device *device, PolicyClass class_) {
    Job *job = device->entering[class_];
    Replica *replica = replica_find(policy, job->model, device);
    if (job->state != POLICY_JOB_PLACING) return NULL;
    if (!job->granted) {
        Room room;
        if (replica && replica->state == REPLICA_EVICTING) return NULL;
        TRY(eviction_make_room(policy, device, job, job->bytes + (replica ? 0 : job->model->bytes),
            replica, job->owed ? ROOM_OWED : ROOM_FAR_BEFORE, &room));
        if (room == ROOM_COMING) return NULL;
        if (room == ROOM_NONE) return give_up(policy, job);
        TRY(grant(policy, device, job));
        replica = replica_find(policy, job->model, device);
    }
    if (replica->state != REPLICA_RESIDENT) return NULL;
    if (job->place == POLICY_PLACE_HOST || job->place == POLICY_PLACE_DISK) {
        job->state = POLICY_JOB_MOVING_IN;
        return policy_act(policy, (PolicyAction){.kind = POLICY_ACTION_MOVE_IN,
                                      .job = job->key.low,
                                      .device = device->key.low,
                                      .bytes = job->bytes,
                                      .place = (PolicyPlace)job->place});
    }
    device->entering[class_] = NULL;
    return placement_ready(policy, job, true);
}

Error *placement_advance(Policy *policy, Device *device) {
    for (int i = 0; i < POLICY_CLASS_COUNT; i++)
        if (device->entering[i]) TRY(advance(policy, device, (PolicyClass)i));
    return NULL;
}

static Error *try_place(Policy *policy, Device *device, Job *job, bool owed, Placed *out_placed) {
    Tenant *tenant = job->account->tenant;
    Replica *replica = replica_find(policy, job->model, device);
    PolicyClass class_ = job->account->class_;
    Room room;
    *out_placed = PLACED_NOWHERE;
    if (!quota_has_device_bytes(tenant, quota_device_charge(policy, job, device))) {
        quota_park(policy, job->seat);
        return NULL;
    }
    if (!replica || replica->state != REPLICA_EVICTING) {
        TRY(eviction_make_room(policy, device, job, job->bytes + (replica ? 0 : job->model->bytes),
            replica, owed ? ROOM_OWED : ROOM_FAR_BEFORE, &room));
        if (room == ROOM_NONE) return NULL;
    }
    fair_share_dequeue(policy, job);
    fair_share_leave(policy, job);
    if (job->place == POLICY_PLACE_HOST) eviction_unlist_host(policy, job);
    quota_open(job);
    TRY(quota_charge_device(policy, job, device));
    job->state = POLICY_JOB_PLACING;
    job->device = device;
    job->owed = owed;
    device->entering[class_] = job;
    TRY(advance(policy, device, class_));
    assert(job->device == device); /* room was found, so it does not give up */
    *out_placed = device->entering[class_] == job ? PLACED_COMING : PLACED_READY;
    return NULL;
}

/* The first seat by turn whose jobs may come to the device: from the pool or from those that demand
 * the device. */
static Seat *first_outside(Policy *policy, Device *device, PolicyClass class_) {
    Seat *first = fair_share_top(policy, &device->demand, class_);
    for (uint32_t i = 0; i < policy->bucket_count; i++) {
        Bucket *bucket = policy->buckets[i];
        if (bucket->capacity > device->memory_bytes) break;
        Seat *seat = fair_share_top(policy, &bucket->queue, class_);
        if (seat &&
            (!first || fair_share_before(fair_share_first_job(seat), fair_share_first_job(first))))
            first = seat;
    }
    return first;
}

/* Whether a job from outside goes first, though a job of its class is ready on the device. */
static bool goes_first(const Policy *policy, const Job *outside, const Job *ready) {
    if (outside->account == ready->account)
        return fair_share_is_due(outside, ready) || fair_share_far_before(policy, outside, ready);
    return fair_share_before(outside, ready);
}

Error *placement_pull(Policy *policy, Device *device, PolicyClass class_, bool owed) {
    Seat *aside[PLACEMENT_TRIES_MAX];
    uint32_t count = 0;
    Placed placed = PLACED_NOWHERE;
    Error *error = NULL;
    while (!error && !device->entering[class_] && count < PLACEMENT_TRIES_MAX) {
        Seat *ready = fair_share_top(policy, &device->queue, class_);
        Seat *seat = first_outside(policy, device, class_);
        if (!seat) break;
        Job *job = fair_share_first_job(seat);
        if (ready && !goes_first(policy, job, fair_share_first_job(ready))) break;
        error = try_place(policy, device, job, owed, &placed);
        if (error || placed == PLACED_READY) break;
        /* no room for this one now: others may be smaller, but not while something can run */
        if (placed == PLACED_NOWHERE && ready) break;
        if (placed == PLACED_NOWHERE && seat->queued) {
            account_set_aside(seat);
            aside[count++] = seat;
        }
    }
    while (count) account_put_back(aside[--count]);
    return error;
}

Error *placement_prefetch(Policy *policy, Device *device) {
    if (device->queue.job_count) return NULL;
    for (int i = 0; i < POLICY_CLASS_COUNT; i++)
        if (device->entering[i]) return NULL;
    for (int i = 0; i < POLICY_CLASS_COUNT; i++) {
        Seat *seat = first_outside(policy, device, (PolicyClass)i);
        Placed placed;
        if (!seat) continue;
        Job *job = fair_share_first_job(seat);
        if (!takes_time(policy, device, job)) return NULL;
        return try_place(policy, device, job, false, &placed);
    }
    return NULL;
}

/* A model's replicas on idle devices stand first, so the first one decides. */
static Device *idle_with_weights(const Job *job, uint64_t bytes) {
    const Replica *replica = job->model->replicas;
    if (!replica || replica->state == REPLICA_EVICTING) return NULL;
    Device *device = replica->device;
    return device->index == DEVICE_IN_IDLE && device->memory_bytes >= bytes ? device : NULL;
}

/* Whether a job that goes before this one waits for room on the device: it enters the device or
 * grows there, and others were moved out for it. A job that has just left must not take that room.
 */
static bool is_room_awaited(const Device *device, const Job *job) {
    for (int i = 0; i < POLICY_CLASS_COUNT; i++) {
        const Job *entering = device->entering[i];
        if (entering && !entering->granted && (entering->owed || fair_share_before(entering, job)))
            return true;
    }
    const Job *growing = device->growing_count ? eviction_first_growing(device) : NULL;
    return growing && fair_share_before(growing, job);
}

Error *placement_offer(Policy *policy, Job *job, bool *out_found) {
    uint64_t bytes = job->bytes + job->model->bytes;
    *out_found = true;
    Device *device = job->demanded;
    if (device) {
        if (device->running && device->running->account->class_ <= job->account->class_)
            return NULL;
        if (!device->running) {
            device_index_decide_later(policy, device);
            return NULL;
        }
    } else {
        device = idle_with_weights(job, bytes);
        if (!device) device = device_index_idle(policy, bytes);
        if (device) {
            device_index_decide_later(policy, device);
            return NULL;
        }
        device = device_index_lower(policy, bytes, job->account->class_);
    }
    *out_found = false;
    if (!device || device->lost || device->entering[job->account->class_] ||
        is_room_awaited(device, job) || !quota_allows_seat(policy, job->seat))
        return NULL;
    Placed placed;
    TRY(try_place(policy, device, job, false, &placed));
    *out_found = placed != PLACED_NOWHERE;
    if (*out_found) device_index_decide_later(policy, device);
    return NULL;
}

static Error *offer_seat(Policy *policy, Seat *seat) {
    bool found = true;
    if (seat->queue->local && seat->job_count)
        device_index_decide_later(policy, fair_share_first_job(seat)->device);
    if (seat->queue->local) return NULL;
    for (uint32_t left = seat->job_count; left && found && seat->job_count; left--) {
        if (!seat->queued) break;
        bool last = seat->holder_count == 1; /* placing it may release the seat */
        TRY(placement_offer(policy, fair_share_first_job(seat), &found));
        if (last || !seat->queue->pool) break;
    }
    return NULL;
}

Error *placement_offer_unparked(Policy *policy) {
    while (policy->unparking) {
        Tenant *tenant = policy->unparking;
        policy->unparking = tenant->next_unparking;
        for (Seat *seat = quota_take_parked(tenant), *next; seat; seat = next) {
            next = seat->next_parked;
            quota_return_seat(policy, seat);
            if (seat->job_count) TRY(offer_seat(policy, seat));
        }
    }
    return NULL;
}

/* Whether try_place would place the job once it has left the device where it is. If it would not,
 * the job would go back, and be taken again, without end. */
static bool can_take(const Policy *policy, const Device *device, const Job *job) {
    const Replica *replica = replica_find(policy, job->model, device);
    if (device->entering[job->account->class_] || is_room_awaited(device, job) ||
        !quota_lets_move(policy, job, device))
        return false;
    return (replica && replica->state == REPLICA_EVICTING) ||
           eviction_finds_room(policy, device, job, job->bytes + (replica ? 0 : job->model->bytes),
               replica, ROOM_FAR_BEFORE);
}

Error *placement_steal(Policy *policy, Device *device) {
    Device *crowded = device_index_crowded(policy);
    if (!crowded || crowded == device || device->lost) return NULL;
    for (int i = 0; i < POLICY_CLASS_COUNT; i++) {
        Seat *seat = fair_share_top(policy, &crowded->queue, (PolicyClass)i);
        if (!seat) continue;
        Job *job = fair_share_first_job(seat);
        bool fits = job->bytes + job->model->bytes <= device->memory_bytes;
        if (!fits || job->demanded || job->move_failed || !can_take(policy, device, job))
            return NULL;
        device_index_decide_later(policy, crowded);
        return eviction_move_out(policy, job, false);
    }
    return NULL;
}

Error *placement_ready(Policy *policy, Job *job, bool fresh) {
    Device *device = job->device;
    job->state = POLICY_JOB_READY;
    job->owed = false;
    TRY(fair_share_enqueue(policy, job, &device->queue));
    account_drop(policy, job);
    PolicyClass class_ = job->account->class_; /* the queue may have changed it */
    if (fresh && class_ < device->fresh) device->fresh = class_;
    device_index_decide_later(policy, device);
    return NULL;
}

void placement_leave(Policy *policy, Job *job) {
    Device *device = job->device;
    PolicyClass class_ = job->account->class_;
    fair_share_leave(policy, job);
    if (device->entering[class_] == job) device->entering[class_] = NULL;
    if (job->state == POLICY_JOB_MOVING_OUT) device->leaving_bytes -= job->bytes;
    if (job->granted) {
        device->used_bytes -= job->bytes;
        *(job->previous ? &job->previous->next : &device->residents) = job->next;
        if (job->next) job->next->previous = job->previous;
        job->next = job->previous = NULL;
        replica_unuse(replica_find(policy, job->model, device));
        job->granted = false;
    }
    quota_uncharge_device(policy, job, device);
    job->device = NULL;
    device_index_decide_later(policy, device);
    quota_unpark(policy, job->account->tenant);
}

/* Handles a job that has left the device: it waits elsewhere, unless it has failed too often. */
static Error *retry(Policy *policy, Job *job) {
    if (++job->retries <= JOB_RETRIES_MAX) return admission_wait(policy, job);
    job->state = POLICY_JOB_PLACING; /* in no queue */
    TRY(policy_act(policy,
        (PolicyAction){
            .kind = POLICY_ACTION_FAIL, .job = job->key.low, .reason = POLICY_REASON_RETRIES}));
    return admission_end(policy, job, 0);
}

Error *placement_moved_in(Policy *policy, Job *job, bool worked) {
    Device *device = job->device;
    device->entering[job->account->class_] = NULL;
    if (worked) {
        if (job->place == POLICY_PLACE_HOST) eviction_leave_host(policy, job);
        job->place = POLICY_PLACE_DEVICE;
        job->retries = 0;
        if (job->wants_cancel) return admission_end(policy, job, POLICY_ACTION_RELEASE);
        if (job->wants_suspend) return eviction_move_out(policy, job, true);
        return placement_ready(policy, job, true);
    }
    if (job->wants_cancel) return admission_end(policy, job, POLICY_ACTION_RELEASE);
    placement_leave(policy, job);
    if (!job->wants_suspend) return retry(policy, job);
    if (job->place == POLICY_PLACE_HOST) return eviction_move_out(policy, job, true);
    return admission_suspended(policy, job);
}

Error *placement_load_failed(Policy *policy, Replica *replica) {
    Device *device = replica->device;
    Job *jobs[POLICY_CLASS_COUNT];
    int count = 0;
    for (int i = 0; i < POLICY_CLASS_COUNT; i++) {
        Job *job = device->entering[i];
        if (!job || job->model != replica->model || !job->granted) continue;
        placement_leave(policy, job);
        jobs[count++] = job;
    }
    replica_remove(policy, replica);
    for (int i = 0; i < count; i++) TRY(retry(policy, jobs[i]));
    return NULL;
}

/* Makes a job wait in host memory or on disk: for a device, or until it is unblocked. */
static Error *wait_outside(Policy *policy, Job *job) {
    if (!job->blocked) return admission_wait(policy, job);
    job->state = POLICY_JOB_BLOCKED;
    if (job->place == POLICY_PLACE_HOST) eviction_list_host(policy, job);
    return NULL;
}

static Error *move_failed(Policy *policy, Job *job) {
    if (job->target == POLICY_PLACE_HOST) eviction_leave_host(policy, job);
    job->wants_suspend = false; /* the caller sees the move fail */
    if (job->wants_cancel) return admission_end(policy, job, POLICY_ACTION_RELEASE);
    if (!job->device) return wait_outside(policy, job); /* the execution stays in host memory */
    job->device->leaving_bytes -= job->bytes;
    job->move_failed = true;
    if (job->grow_bytes) {
        job->state = POLICY_JOB_GROWING;
        job->device->growing_count++;
        device_index_decide_later(policy, job->device);
        return NULL;
    }
    if (!job->blocked) return placement_ready(policy, job, false);
    job->state = POLICY_JOB_BLOCKED;
    return NULL;
}

Error *placement_moved_out(Policy *policy, Job *job, bool worked) {
    if (!worked) return move_failed(policy, job);
    if (job->place == POLICY_PLACE_HOST)
        eviction_leave_host(policy, job);
    else
        placement_leave(policy, job);
    job->place = job->target;
    job->bytes += job->grow_bytes; /* granted with the other bytes when the execution comes back */
    job->grow_bytes = 0;
    if (job->wants_cancel) return admission_end(policy, job, POLICY_ACTION_RELEASE);
    if (job->wants_suspend) {
        if (job->place == POLICY_PLACE_HOST) return eviction_move_out(policy, job, true);
        return admission_suspended(policy, job);
    }
    TRY(wait_outside(policy, job));
    return eviction_relieve_host(policy);
}
