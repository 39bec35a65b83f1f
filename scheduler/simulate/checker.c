#include <assert.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/allocator.h"
#include "scheduler/simulate/checker_internal.h"

enum { MESSAGE_SIZE = 240 };

Error *checker_create(const CheckerSizes *sizes, Checker **out_checker) {
    void *memory;
    TRY(memory_alloc(1, sizeof(Checker), &memory));
    OWN(Checker, checker) = memory;
    checker->sizes = *sizes;
    TRY(memory_alloc(sizes->job_count + 1, sizeof(CheckJob), &memory));
    checker->jobs = memory;
    TRY(memory_alloc(sizes->device_count + 1, sizeof(CheckDevice), &memory));
    checker->devices = memory;
    TRY(memory_alloc(sizes->tenant_count + 1, sizeof(CheckTenantState), &memory));
    checker->tenants = memory;
    TRY(memory_alloc(sizes->model_count + 1, sizeof(uint64_t), &memory));
    checker->model_bytes = memory;
    if (sizes->device_count == 1)
        TRY(deadline_checker_create(sizes->tenant_count, &checker->deadlines));
    *out_checker = TAKE(checker);
    return NULL;
}

static void release_map(IdMap *map) {
    for (size_t i = 0; i < map->capacity; i++) memory_free(map->slots[i]);
    id_map_deinit(map);
}

void checker_release(Checker *checker) {
    if (!checker) return;
    for (int i = 0; i < CHECKER_VIOLATIONS_MAX; i++) memory_free(checker->violations[i]);
    release_map(&checker->uses);
    release_map(&checker->weights);
    deadline_checker_release(checker->deadlines);
    memory_free(checker->jobs);
    memory_free(checker->devices);
    memory_free(checker->tenants);
    memory_free(checker->model_bytes);
    error_free(checker->error);
    memory_free(checker);
}

static void add(Checker *checker, const char *format, va_list arguments) {
    if (checker->violation_count++ >= CHECKER_VIOLATIONS_MAX) return;
    char text[MESSAGE_SIZE];
    int size = snprintf(text, sizeof text, "at %llu ns: ", (unsigned long long)checker->now_ns);
    (void)vsnprintf(text + size, sizeof text - (size_t)size, format, arguments);
    Error *error = memory_copy_text(text, &checker->violations[checker->violation_count - 1]);
    if (!checker->error)
        checker->error = error;
    else
        error_free(error); /* one is reported */
}

void checker_violate(Checker *checker, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    add(checker, format, arguments);
    va_end(arguments);
}

void checker_contradict(Checker *checker, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    if (!checker->broken) add(checker, format, arguments);
    va_end(arguments);
    checker->broken = true;
}

uint64_t checker_violation_count(const Checker *checker) { return checker->violation_count; }

const char *checker_violation(const Checker *checker, uint64_t index) {
    return index < CHECKER_VIOLATIONS_MAX && checker->violations[index] ? checker->violations[index]
                                                                        : "";
}

CheckerTenant checker_tenant(const Checker *checker, uint64_t tenant) {
    return checker->tenants[tenant].sums;
}

void checker_expect(Checker *checker, uint64_t job, uint64_t device_ns) {
    checker->jobs[job].expected_ns = device_ns;
}

static void submit(Checker *checker, const PolicyEvent *event) {
    CheckJob *job = &checker->jobs[event->job];
    if (job->life == CHECK_ACCEPTED) return; /* the policy must have refused the job */
    *job = (CheckJob){.tenant = (uint32_t)event->tenant,
        .model = (uint32_t)event->model,
        .device = CHECK_NOTHING,
        .bytes = event->bytes,
        .deadline_ns = event->deadline_ns,
        .weight = event->weight,
        .class_ = (uint8_t)event->class_,
        .place = (uint8_t)event->place,
        .expected_ns = job->expected_ns};
    checker->model_bytes[event->model] = event->constant_bytes;
}

static void lose_device(Checker *checker, uint64_t device_id) {
    CheckDevice *device = &checker->devices[device_id];
    device->present = false;
    while (device->first) {
        uint32_t number = device->first;
        CheckJob *job = &checker->jobs[number];
        bool arriving = job->moving && job->target == POLICY_PLACE_DEVICE;
        bool lost = job->place == POLICY_PLACE_DEVICE;
        if (!arriving && lost)
            job->place = job->checkpointed ? POLICY_PLACE_DISK : POLICY_PLACE_NONE;
        if (job->moving && !arriving && job->host_bytes) {
            checker->tenants[job->tenant].host_bytes -= job->host_bytes;
            job->host_bytes = 0;
        }
        job->running = job->moving = job->blocked = job->growing = false;
        bool begun = job->place == POLICY_PLACE_HOST || job->place == POLICY_PLACE_DISK;
        checker_leave_device(checker, number);
        if (!arriving && !(begun && !lost)) checker_close(checker, job);
    }
    for (size_t i = 0; i < checker->weights.capacity;) {
        CheckWeights *weights = (CheckWeights *)(void *)checker->weights.slots[i];
        if (!weights || weights->key.low != device_id) {
            i++;
            continue;
        }
        device->used_bytes -= weights->bytes; /* the next one may have moved into this slot */
        id_map_remove(&checker->weights, &weights->key);
        memory_free(weights);
    }
    device->running = 0;
}

static void moved_out(Checker *checker, uint32_t number, bool worked) {
    CheckJob *job = &checker->jobs[number];
    CheckTenantState *tenant = &checker->tenants[job->tenant];
    job->moving = false;
    if (!worked) {
        if (job->target == POLICY_PLACE_HOST) {
            tenant->host_bytes -= job->host_bytes;
            job->host_bytes = 0;
        }
        checker_update_ready(checker, number);
        return;
    }
    if (job->place == POLICY_PLACE_HOST) {
        tenant->host_bytes -= job->host_bytes;
        job->host_bytes = 0;
    }
    if (job->device != CHECK_NOTHING) checker_leave_device(checker, number);
    job->growing = false;
    job->place = job->target;
    if (job->place == POLICY_PLACE_NONE) checker_close(checker, job);
}

static void moved_in(Checker *checker, uint32_t number, bool worked) {
    CheckJob *job = &checker->jobs[number];
    job->moving = false;
    if (worked) {
        checker->tenants[job->tenant].host_bytes -= job->host_bytes;
        job->host_bytes = 0;
        job->place = POLICY_PLACE_DEVICE;
    } else
        checker_leave_device(checker, number);
    checker_update_ready(checker, number);
}

static void slice_ended(Checker *checker, const PolicyEvent *event) {
    uint32_t number = (uint32_t)event->job;
    CheckJob *job = &checker->jobs[number];
    checker_shares_slice(checker, number, event->device, event->device_time_ns);
    if (checker->deadlines)
        deadline_checker_serve(checker->deadlines, number, event->device_time_ns);
    job->running = false;
    checker->devices[event->device].running = 0;
    job->place = POLICY_PLACE_DEVICE;
    job->blocked = event->outcome == POLICY_OUTCOME_BLOCKED;
    job->growing = event->outcome == POLICY_OUTCOME_NEEDS_MEMORY && event->bytes > 0;
    checker_update_ready(checker, number);
    if (event->outcome != POLICY_OUTCOME_FINISHED && event->outcome != POLICY_OUTCOME_FAILED)
        return;
    if (job->deadline_ns && checker->deadlines &&
        deadline_checker_is_feasible(checker->deadlines, event->job) &&
        checker->now_ns > job->deadline_ns)
        checker_violate(checker, "job %llu: feasible deadline %llu missed",
            (unsigned long long)event->job, (unsigned long long)job->deadline_ns);
    checker->tenants[job->tenant].sums.jobs_done += event->outcome == POLICY_OUTCOME_FINISHED;
    checker_end(checker, number);
}

static void weights_event(Checker *checker, const PolicyEvent *event) {
    CheckWeights *weights = checker_find_weights(checker, event->model, event->device);
    CheckDevice *device = &checker->devices[event->device];
    if (!weights) {
        checker_contradict(checker, "model %llu: nothing was asked of its weights",
            (unsigned long long)event->model);
        return;
    }
    if (event->kind == POLICY_EVENT_WEIGHTS_LOADED && event->worked) {
        weights->loaded = true;
        for (uint32_t i = device->first; i; i = checker->jobs[i].next)
            checker_update_ready(checker, i);
        return;
    }
    for (uint32_t i = device->first, next; i; i = next) {
        next = checker->jobs[i].next;
        if (checker->jobs[i].model != event->model) continue;
        checker_leave_device(checker, i);
        if (checker->jobs[i].place == POLICY_PLACE_NONE) checker_close(checker, &checker->jobs[i]);
    }
    device->used_bytes -= weights->bytes;
    id_map_remove(&checker->weights, &weights->key);
    memory_free(weights);
}

static void take_device(Checker *checker, const PolicyEvent *event) {
    CheckDevice *device = &checker->devices[event->device];
    if (!device->present) *device = (CheckDevice){.memory_bytes = event->memory_bytes};
    device->present = true;
}

static void take_tenant(Checker *checker, const PolicyEvent *event) {
    CheckTenantState *tenant = &checker->tenants[event->tenant];
    tenant->sums.weight = event->weight;
#define QUOTA(number, name, member) tenant->limits[POLICY_QUOTA_##name] = event->member;
#include "scheduler/policy/policy_quotas.def"
#undef QUOTA
    for (int i = 0; i < POLICY_CLASS_COUNT; i++) checker_shares_restart(checker, (PolicyClass)i);
    if (checker->deadlines)
        deadline_checker_set_weight(checker->deadlines, event->tenant, event->weight);
}

static void take_event(Checker *checker, const PolicyEvent *event) {
    uint32_t number = (uint32_t)event->job;
    PolicyEventKind kind = event->kind;
    if (kind == POLICY_EVENT_CONFIG) {
        checker->config = *event;
        if (checker->deadlines)
            deadline_checker_set_config(
                checker->deadlines, event, event->quantum_ns + checker->sizes.kernel_ns);
    }
    if (kind == POLICY_EVENT_TENANT_SET)
        take_tenant(checker, event);
    else if (kind == POLICY_EVENT_DEVICE_ADDED)
        take_device(checker, event);
    else if (kind == POLICY_EVENT_DEVICE_LOST)
        lose_device(checker, event->device);
    else if (kind == POLICY_EVENT_JOB_SUBMITTED)
        submit(checker, event);
    else if (kind == POLICY_EVENT_SLICE_ENDED)
        slice_ended(checker, event);
    else if (kind == POLICY_EVENT_MOVED_OUT)
        moved_out(checker, number, event->worked);
    else if (kind == POLICY_EVENT_MOVED_IN)
        moved_in(checker, number, event->worked);
    else if (kind == POLICY_EVENT_WEIGHTS_LOADED || kind == POLICY_EVENT_WEIGHTS_EVICTED)
        weights_event(checker, event);
    else if (kind == POLICY_EVENT_CHECKPOINTED)
        checker->jobs[number].checkpointed = true;
    else if (kind == POLICY_EVENT_SUSPEND_REQUESTED)
        checker->jobs[number].wanted = true;
    else if (kind == POLICY_EVENT_UNBLOCKED) {
        checker->jobs[number].blocked = false;
        checker_update_ready(checker, number);
    } else if (kind == POLICY_EVENT_RESUME_REQUESTED) {
        CheckJob *job = &checker->jobs[number];
        job->wanted = false;
        if (job->suspended) checker->tenants[job->tenant].queued_jobs++;
        job->suspended = false;
    }
}

Error *checker_apply(
    Checker *checker, const PolicyEvent *event, const PolicyAction *actions, size_t action_count) {
    checker->now_ns = event->time_ns;
    if (checker->broken) return NULL;
    take_event(checker, event);
    for (size_t i = 0; i < action_count; i++) checker_take_action(checker, event, &actions[i]);
    return TAKE(checker->error);
}

Error *checker_finish(Checker *checker) {
    uint64_t waiting = 0, first = 0;
    if (checker->broken) return NULL;
    for (uint64_t i = 1; i <= checker->sizes.job_count; i++) {
        CheckJob *job = &checker->jobs[i];
        if (job->life != CHECK_ACCEPTED || job->suspended || job->blocked) continue;
        waiting++;
        if (!first) first = i;
    }
    if (waiting)
        checker_violate(checker, "%llu jobs wait for ever, the first is %llu",
            (unsigned long long)waiting, (unsigned long long)first);
    return TAKE(checker->error);
}
