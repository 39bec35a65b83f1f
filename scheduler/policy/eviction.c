#include "scheduler/policy/eviction.h"

#include <assert.h>

#include "scheduler/policy/account.h"
#include "scheduler/policy/fair_share.h"
#include "scheduler/policy/replica.h"

static bool is_victim(const Policy *policy, const Job *victim, const Job *job, RoomRight right) {
    if (victim == job || victim->move_failed) return false;
    if (victim->state != POLICY_JOB_READY && victim->state != POLICY_JOB_BLOCKED &&
        victim->state != POLICY_JOB_GROWING)
        return false;
    switch (right) {
    case ROOM_FAR_BEFORE:
        return fair_share_far_before(policy, job, victim);
    case ROOM_BEFORE:
        return fair_share_before(job, victim);
    case ROOM_OWED:
        return victim->account->class_ != job->account->class_;
    }
    return false;
}

/* The last of the victims by turn. Looks at all executions on this device: only under pressure, and
 * little beside a move. */
static Job *find_victim(
    const Policy *policy, const Device *device, const Job *job, RoomRight right) {
    Job *last = NULL;
    for (Job *i = device->residents; i; i = i->next)
        if (is_victim(policy, i, job, right) && (!last || fair_share_before(last, i))) last = i;
    return last;
}

static uint64_t count_victims(
    const Policy *policy, const Device *device, const Job *job, RoomRight right, uint64_t enough) {
    uint64_t sum = 0;
    for (const Job *i = device->residents; i && sum < enough; i = i->next)
        if (is_victim(policy, i, job, right)) sum += i->bytes;
    return sum;
}

/* The bytes that the device lacks for so many more, when all that leaves it has left. */
static uint64_t missing_bytes(const Device *device, uint64_t bytes) {
    const uint64_t free_bytes = device->memory_bytes - device->used_bytes + device->leaving_bytes;
    return bytes > free_bytes ? bytes - free_bytes : 0;
}

bool eviction_finds_room(const Policy *policy, const Device *device, const Job *job, uint64_t bytes,
    const Replica *keep, RoomRight right) {
    const uint64_t missing = missing_bytes(device, bytes);
    uint64_t idle = device->idle_bytes;
    bool kept = keep && !keep->user_count && keep->state == REPLICA_RESIDENT;
    if (kept) idle -= keep->bytes;
    return missing <= idle ||
           count_victims(policy, device, job, right, missing - idle) >= missing - idle;
}

Error *eviction_make_room(Policy *policy, Device *device, const Job *job, uint64_t bytes,
    const Replica *keep, RoomRight right, Room *out_room) {
    uint64_t missing = missing_bytes(device, bytes);
    if (!eviction_finds_room(policy, device, job, bytes, keep, right)) {
        *out_room = ROOM_NONE;
        return NULL;
    }
    *out_room = bytes <= device->memory_bytes - device->used_bytes ? ROOM_NOW : ROOM_COMING;
    Replica *next;
    for (Replica *replica = device->idle_replicas; replica && missing; replica = next) {
        next = replica->next;
        if (replica == keep || replica->state != REPLICA_RESIDENT) continue;
        uint64_t size = replica->bytes;
        TRY(replica_evict(policy, replica));
        missing -= size < missing ? size : missing;
    }
    while (missing) {
        Job *victim = find_victim(policy, device, job, right);
        assert(victim);
        missing -= victim->bytes < missing ? victim->bytes : missing;
        TRY(eviction_move_out(policy, victim, false));
    }
    return NULL;
}

static bool host_has(const Policy *policy, const Job *job) {
    const Tenant *tenant = job->account->tenant;
    uint64_t limit = tenant->limits[POLICY_QUOTA_HOST_BYTES];
    return job->bytes <= policy->config.host_bytes &&
           policy->host_used_bytes <= policy->config.host_bytes - job->bytes &&
           job->bytes <= limit && tenant->used.host_bytes <= limit - job->bytes;
}

static void take_host(Policy *policy, Job *job) {
    job->host_bytes = job->bytes;
    policy->host_used_bytes += job->bytes;
    job->account->tenant->used.host_bytes += job->bytes;
}

void eviction_leave_host(Policy *policy, Job *job) {
    policy->host_used_bytes -= job->host_bytes;
    job->account->tenant->used.host_bytes -= job->host_bytes;
    job->host_bytes = 0;
}

void eviction_list_host(Policy *policy, Job *job) {
    job->next = NULL;
    job->previous = policy->host_jobs_last;
    *(job->previous ? &job->previous->next : &policy->host_jobs) = job;
    policy->host_jobs_last = job;
}

void eviction_unlist_host(Policy *policy, Job *job) {
    *(job->previous ? &job->previous->next : &policy->host_jobs) = job->next;
    *(job->next ? &job->next->previous : &policy->host_jobs_last) = job->previous;
    job->next = job->previous = NULL;
}

Error *eviction_move_out(Policy *policy, Job *job, bool to_disk) {
    if (job->state == POLICY_JOB_READY || job->state == POLICY_JOB_WAITING)
        fair_share_dequeue(policy, job);
    account_drop(policy, job);
    fair_share_leave(policy, job);
    if (job->place == POLICY_PLACE_HOST)
        to_disk = true;
    else
        job->device->leaving_bytes += job->bytes;
    if (job->state == POLICY_JOB_GROWING) job->device->growing_count--;
    job->state = POLICY_JOB_MOVING_OUT;
    job->target = to_disk || !host_has(policy, job) ? POLICY_PLACE_DISK : POLICY_PLACE_HOST;
    if (job->place == POLICY_PLACE_NONE)
        job->target = POLICY_PLACE_NONE; /* the execution has not begun */
    if (job->target == POLICY_PLACE_HOST) take_host(policy, job);
    return policy_act(policy, (PolicyAction){.kind = POLICY_ACTION_MOVE_OUT,
                                  .job = job->key.low,
                                  .device = job->device ? job->device->key.low : POLICY_NO_DEVICE,
                                  .bytes = job->bytes,
                                  .place = (PolicyPlace)job->target});
}

Error *eviction_relieve_host(Policy *policy) {
    uint64_t limit = policy->config.host_bytes - policy->config.host_bytes / 4;
    if (policy->host_used_bytes <= limit || !policy->host_jobs) return NULL;
    Job *job = policy->host_jobs;
    eviction_unlist_host(policy, job);
    return eviction_move_out(policy, job, true);
}

Job *eviction_first_growing(const Device *device) {
    Job *first = NULL;
    for (Job *i = device->residents; i; i = i->next)
        if (i->state == POLICY_JOB_GROWING && (!first || fair_share_before(i, first))) first = i;
    return first;
}
