#include <assert.h>

#include "base/allocator.h"
#include "scheduler/simulate/checker_internal.h"

typedef unsigned long long Number;

CheckWeights *checker_find_weights(const Checker *checker, uint64_t model, uint64_t device) {
    return id_map_find(&checker->weights, model, device);
}

static void keep_error(Checker *checker, Error *owned_error) {
    if (!owned_error) return;
    if (!checker->error)
        checker->error = owned_error;
    else
        error_free(owned_error); /* one is reported */
}

static bool within(const CheckTenantState *tenant, PolicyQuota quota, uint64_t value) {
    return value <= tenant->limits[quota];
}

void checker_update_ready(Checker *checker, uint32_t number) {
    CheckJob *job = &checker->jobs[number];
    CheckTenantState *tenant = &checker->tenants[job->tenant];
    CheckDevice *device = job->device == CHECK_NOTHING ? NULL : &checker->devices[job->device];
    const CheckWeights *weights =
        device ? checker_find_weights(checker, job->model, job->device) : NULL;
    bool alive = job->life == CHECK_ACCEPTED && !job->suspended && !job->blocked;
    bool limited = tenant->limits[POLICY_QUOTA_DEVICE_SECONDS_PER_HOUR] != POLICY_NO_LIMIT;
    /* a tenant whose hour is used up is ready in vain: that is no matter of shares */
    bool ready = alive && weights && weights->loaded && !job->moving && !job->growing && !limited &&
                 (job->place == POLICY_PLACE_NONE || job->place == POLICY_PLACE_DEVICE);
    bool counted = alive && !job->running && !limited;
    if (counted != job->counted) checker_contend(checker, job, counted ? 1 : -1);
    job->counted = counted;
    if (ready == job->ready) return;
    job->ready = ready;
    assert(device);
    CheckShare *share = &tenant->shares[job->class_];
    if (device->ready[job->class_] == 0 || (device->ready[job->class_] == 1 && !ready))
        device->owed_ns[job->class_] = device->owed_least_ns[job->class_] = 0;
    device->ready[job->class_] += ready ? 1 : UINT64_MAX;
    share->ready += ready ? 1 : UINT64_MAX;
    if (share->ready == (ready ? 1 : 0)) checker_shares_restart(checker, (PolicyClass)job->class_);
    if (checker->deadlines && !ready) deadline_checker_leave(checker->deadlines, number);
    if (!checker->deadlines || !ready || !job->deadline_ns || !job->expected_ns) return;
    keep_error(checker, deadline_checker_enter(checker->deadlines,
                            &(DeadlineJob){.job = number,
                                .tenant = job->tenant,
                                .deadline_ns = job->deadline_ns,
                                .left_ns = job->expected_ns,
                                .class_ = (PolicyClass)job->class_},
                            checker->now_ns));
    job->expected_ns = 0; /* judged once */
}

static CheckUse *find_use(const Checker *checker, const CheckJob *job) {
    return id_map_find(&checker->uses, job->model, (uint64_t)job->device << 32 | job->tenant);
}

/* Charges a tenant for the weights once for each device where the tenant uses them. */
static void add_use(Checker *checker, const CheckJob *job) {
    CheckUse *use = find_use(checker, job);
    if (!use) {
        void *memory = NULL;
        Error *error = memory_alloc(1, sizeof *use, &memory);
        if (!error) {
            use = memory;
            use->key = (IdKey){job->model, (uint64_t)job->device << 32 | job->tenant};
            error = id_map_add(&checker->uses, &use->key);
        }
        if (error) {
            memory_free(memory);
            keep_error(checker, error);
            return;
        }
        checker->tenants[job->tenant].device_bytes += checker->model_bytes[job->model];
    }
    use->count++;
}

void checker_leave_device(Checker *checker, uint32_t number) {
    CheckJob *job = &checker->jobs[number];
    if (job->device == CHECK_NOTHING) {
        checker_contradict(checker, "job %u: leaves a device where it is not", number);
        return;
    }
    CheckDevice *device = &checker->devices[job->device];
    CheckTenantState *tenant = &checker->tenants[job->tenant];
    uint8_t place = job->place;
    bool moving = job->moving;
    job->moving = true; /* not ready any more, and the device still known */
    checker_update_ready(checker, number);
    job->moving = moving;
    job->place = place;
    if (job->previous)
        checker->jobs[job->previous].next = job->next;
    else
        device->first = job->next;
    if (job->next) checker->jobs[job->next].previous = job->previous;
    job->next = job->previous = 0;
    device->used_bytes -= job->bytes;
    tenant->device_bytes -= job->bytes;
    CheckUse *use = find_use(checker, job);
    if (use && --use->count == 0) {
        tenant->device_bytes -= checker->model_bytes[job->model];
        id_map_remove(&checker->uses, &use->key);
        memory_free(use);
    }
    if (device->running == number) {
        device->running = 0;
        tenant->slices--;
    }
    job->device = CHECK_NOTHING;
    checker_update_ready(checker, number);
}

void checker_close(Checker *checker, CheckJob *job) {
    if (!job->open) return;
    job->open = false;
    checker->tenants[job->tenant].running_jobs--;
    checker->tenants[job->tenant].queued_jobs++;
}

void checker_end(Checker *checker, uint32_t number) {
    CheckJob *job = &checker->jobs[number];
    CheckTenantState *tenant = &checker->tenants[job->tenant];
    if (job->life != CHECK_ACCEPTED) {
        checker_contradict(checker, "job %u ends and is not there", number);
        return;
    }
    job->running = false;
    if (job->device != CHECK_NOTHING) checker_leave_device(checker, number);
    tenant->host_bytes -= job->host_bytes;
    checker_close(checker, job);
    if (!job->suspended) tenant->queued_jobs--;
    job->life = CHECK_OVER;
    checker_update_ready(checker, number);
}

static void take_accept(Checker *checker, const PolicyEvent *event, uint32_t number) {
    CheckJob *job = &checker->jobs[number];
    CheckTenantState *tenant = &checker->tenants[job->tenant];
    if (event->kind != POLICY_EVENT_JOB_SUBMITTED || event->job != number ||
        job->life != CHECK_UNKNOWN)
        checker_contradict(checker, "job %u: accepted and not submitted", number);
    if (checker->broken) return;
    job->life = CHECK_ACCEPTED;
    if (checker->deadlines)
        deadline_checker_see_class(checker->deadlines, (PolicyClass)job->class_);
    tenant->queued_jobs++;
    if (job->place == POLICY_PLACE_NONE &&
        !within(tenant, POLICY_QUOTA_QUEUED_JOBS, tenant->queued_jobs))
        checker_violate(checker, "tenant %u: quota queued_jobs: %llu", job->tenant,
            (Number)tenant->queued_jobs);
    checker_update_ready(checker, number);
}

static void take_run(Checker *checker, const PolicyAction *action, uint32_t number) {
    CheckJob *job = &checker->jobs[number];
    CheckDevice *device = &checker->devices[action->device];
    CheckTenantState *tenant = &checker->tenants[job->tenant];
    const CheckWeights *weights = checker_find_weights(checker, job->model, action->device);
    if (job->life != CHECK_ACCEPTED || job->suspended)
        checker_contradict(checker, "job %u: runs and is over, suspended or unknown", number);
    if (job->running || device->running)
        checker_contradict(checker, "job %u: device %llu runs a job, or the job runs already",
            number, (Number)action->device);
    if (job->device != action->device || job->moving || job->growing || job->blocked ||
        job->place == POLICY_PLACE_HOST || job->place == POLICY_PLACE_DISK || !weights ||
        !weights->loaded || !device->present)
        checker_contradict(checker, "job %u: runs on device %llu where it or its weights are not",
            number, (Number)action->device);
    if (checker->broken) return;
    job->running = true;
    device->running = number;
    if (++tenant->slices > tenant->slices_most) tenant->slices_most = tenant->slices;
    checker_update_ready(checker, number);
}

static void check_used(Checker *checker, const CheckDevice *device, uint64_t id) {
    if (device->used_bytes > device->memory_bytes)
        checker_violate(checker, "device %llu: %llu bytes of %llu", (Number)id,
            (Number)device->used_bytes, (Number)device->memory_bytes);
}

static void begin_grant(Checker *checker, uint32_t number, uint64_t device_id) {
    CheckJob *job = &checker->jobs[number];
    CheckDevice *device = &checker->devices[device_id];
    CheckTenantState *tenant = &checker->tenants[job->tenant];
    job->device = (uint32_t)device_id;
    job->next = device->first;
    if (job->next) checker->jobs[job->next].previous = number;
    device->first = number;
    add_use(checker, job);
    if (!job->open) {
        job->open = true;
        tenant->queued_jobs--;
        if (!within(tenant, POLICY_QUOTA_RUNNING_JOBS, ++tenant->running_jobs))
            checker_violate(checker, "tenant %u: quota running_jobs: %llu", job->tenant,
                (Number)tenant->running_jobs);
    }
}

static void take_grant(Checker *checker, const PolicyAction *action, uint32_t number) {
    CheckJob *job = &checker->jobs[number];
    CheckDevice *device = &checker->devices[action->device];
    CheckTenantState *tenant = &checker->tenants[job->tenant];
    uint64_t before = job->device == CHECK_NOTHING ? 0 : job->bytes;
    if (job->life != CHECK_ACCEPTED || job->suspended || !device->present ||
        (job->device != CHECK_NOTHING && job->device != action->device))
        checker_contradict(checker, "job %u: memory of device %llu while it is not there", number,
            (Number)action->device);
    if (checker->broken) return;
    if (job->device == CHECK_NOTHING) begin_grant(checker, number, action->device);
    job->bytes = action->bytes;
    job->growing = false;
    device->used_bytes += action->bytes - before;
    tenant->device_bytes += action->bytes - before;
    check_used(checker, device, action->device);
    if (!within(tenant, POLICY_QUOTA_DEVICE_BYTES, tenant->device_bytes))
        checker_violate(checker, "tenant %u: quota device_bytes: %llu", job->tenant,
            (Number)tenant->device_bytes);
    checker_update_ready(checker, number);
}

/* A grant to which nothing has moved yet ends without a word. */
static void leave_unarrived(Checker *checker, uint32_t number) {
    const CheckJob *job = &checker->jobs[number];
    if (job->device != CHECK_NOTHING && !job->moving && !job->running &&
        (job->place != POLICY_PLACE_DEVICE))
        checker_leave_device(checker, number);
}

static void take_move_out(Checker *checker, const PolicyAction *action, uint32_t number) {
    CheckJob *job = &checker->jobs[number];
    CheckTenantState *tenant = &checker->tenants[job->tenant];
    bool from_host = action->device == POLICY_NO_DEVICE;
    if (from_host) leave_unarrived(checker, number);
    if (job->life != CHECK_ACCEPTED || job->running || job->moving ||
        (from_host ? job->place != POLICY_PLACE_HOST : job->device != action->device))
        checker_contradict(checker, "job %u: moves out from where it is not", number);
    if (checker->broken) return;
    job->moving = true;
    job->target = (uint8_t)action->place;
    if (action->place == POLICY_PLACE_HOST) {
        job->host_bytes = action->bytes;
        tenant->host_bytes += action->bytes;
        if (!within(tenant, POLICY_QUOTA_HOST_BYTES, tenant->host_bytes))
            checker_violate(checker, "tenant %u: quota host_bytes: %llu", job->tenant,
                (Number)tenant->host_bytes);
    }
    checker_update_ready(checker, number);
}

static void take_move_in(Checker *checker, const PolicyAction *action, uint32_t number) {
    CheckJob *job = &checker->jobs[number];
    const CheckWeights *weights = checker_find_weights(checker, job->model, action->device);
    if (job->life != CHECK_ACCEPTED || job->moving || job->device != action->device ||
        job->place != action->place || !weights || !weights->loaded)
        checker_contradict(checker, "job %u: moves in without memory, weights or state", number);
    if (checker->broken) return;
    job->moving = true;
    job->target = POLICY_PLACE_DEVICE;
    checker_update_ready(checker, number);
}

static void take_load(Checker *checker, const PolicyAction *action) {
    CheckDevice *device = &checker->devices[action->device];
    void *memory = NULL;
    if (checker_find_weights(checker, action->model, action->device) || !device->present)
        checker_contradict(checker, "model %llu: loaded twice on device %llu, or it is lost",
            (Number)action->model, (Number)action->device);
    if (checker->broken) return;
    Error *error = memory_alloc(1, sizeof(CheckWeights), &memory);
    if (!error) {
        CheckWeights *weights = memory;
        *weights = (CheckWeights){.key = {action->model, action->device},
            .loaded = action->bytes == 0,
            .bytes = action->bytes};
        error = id_map_add(&checker->weights, &weights->key);
    }
    if (error) {
        memory_free(memory);
        keep_error(checker, error);
        return;
    }
    device->used_bytes += action->bytes;
    check_used(checker, device, action->device);
}

static void take_evict(Checker *checker, const PolicyAction *action) {
    const CheckDevice *device = &checker->devices[action->device];
    const CheckWeights *weights = checker_find_weights(checker, action->model, action->device);
    if (!weights || !weights->loaded)
        checker_contradict(checker, "model %llu: evicted from device %llu where it is not",
            (Number)action->model, (Number)action->device);
    for (uint32_t i = device->first; i; i = checker->jobs[i].next)
        if (checker->jobs[i].model == action->model)
            checker_contradict(
                checker, "model %llu: evicted under job %u", (Number)action->model, i);
}

static void take_suspended(Checker *checker, uint32_t number) {
    CheckJob *job = &checker->jobs[number];
    leave_unarrived(checker, number);
    if (job->life != CHECK_ACCEPTED || job->device != CHECK_NOTHING || job->moving ||
        job->suspended || !job->wanted || job->host_bytes)
        checker_contradict(checker, "job %u: suspended unasked, or while it is somewhere", number);
    if (checker->broken) return;
    checker_close(checker, job);
    checker->tenants[job->tenant].queued_jobs--;
    job->suspended = true;
    job->blocked = false;
    checker_update_ready(checker, number);
}

static bool is_known(const Checker *checker, const PolicyAction *action) {
    return action->job <= checker->sizes.job_count && action->model <= checker->sizes.model_count &&
           (action->device <= checker->sizes.device_count || action->device == POLICY_NO_DEVICE);
}

void checker_take_action(Checker *checker, const PolicyEvent *event, const PolicyAction *action) {
    uint32_t number = (uint32_t)action->job;
    if (checker->broken) return;
    if (!is_known(checker, action)) {
        checker_violate(
            checker, "%s: no such job, model or device", policy_action_names[action->kind]);
        return;
    }
    switch (action->kind) {
    case POLICY_ACTION_ACCEPT:
        take_accept(checker, event, number);
        break;
    case POLICY_ACTION_REFUSE:
        if (checker->jobs[number].life != CHECK_UNKNOWN)
            checker_contradict(checker, "job %u: refused after it was accepted", number);
        checker->jobs[number].life = CHECK_OVER;
        break;
    case POLICY_ACTION_FAIL:
    case POLICY_ACTION_RELEASE:
        checker_end(checker, number);
        break;
    case POLICY_ACTION_RUN:
        take_run(checker, action, number);
        break;
    case POLICY_ACTION_PREEMPT:
        if (checker->devices[action->device].running != number)
            checker_contradict(checker, "job %u: preempted and does not run", number);
        break;
    case POLICY_ACTION_MOVE_OUT:
        take_move_out(checker, action, number);
        break;
    case POLICY_ACTION_MOVE_IN:
        take_move_in(checker, action, number);
        break;
    case POLICY_ACTION_LOAD_WEIGHTS:
        take_load(checker, action);
        break;
    case POLICY_ACTION_EVICT_WEIGHTS:
        take_evict(checker, action);
        break;
    case POLICY_ACTION_GRANT:
        take_grant(checker, action, number);
        break;
    case POLICY_ACTION_SUSPENDED:
        take_suspended(checker, number);
        break;
    case POLICY_ACTION_SET_TIMER:
        if (action->ns <= checker->now_ns)
            checker_violate(checker, "a timer for the past: %llu", (Number)action->ns);
        break;
    case POLICY_ACTION_MISSED:
        if (checker->jobs[number].deadline_ns > checker->now_ns)
            checker_violate(checker, "job %u: its deadline is said to have passed", number);
        break;
    case POLICY_ACTION_PROMISE:
    case POLICY_ACTION_KIND_COUNT:
        break;
    }
}
