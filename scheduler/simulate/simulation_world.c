#include "base/allocator.h"
#include "base/duration.h"
#include "scheduler/simulate/simulation_internal.h"

enum { SLOW_FACTOR = 20 };
#define NOWHERE UINT32_MAX

static Error *allocate(Simulation *world) {
    const Scenario *scenario = world->scenario;
    void *memory;
    TRY(memory_alloc(scenario->job_count + 1, sizeof(SimulatedJob), &memory));
    world->jobs = memory;
    TRY(memory_alloc(scenario->device_count + 1, sizeof(SimulatedDevice), &memory));
    world->devices = memory;
    TRY(memory_alloc(scenario->model_count + 1, sizeof(uint64_t), &memory));
    world->model_bytes = memory;
    CheckerSizes sizes = {.tenant_count = scenario->tenant_count,
        .device_count = scenario->device_count,
        .model_count = scenario->model_count,
        .job_count = scenario->job_count};
    for (uint32_t i = 0; i < scenario->device_groups; i++)
        if (scenario->devices[i].kernel_ns > sizes.kernel_ns)
            sizes.kernel_ns = scenario->devices[i].kernel_ns;
    TRY(policy_create(&world->policy));
    return checker_create(&sizes, &world->checker);
}

static Error *add_device(Simulation *world, uint32_t number) {
    const ScenarioDevices *group = world->devices[number].group;
    world->devices[number].lost = false;
    TRY(simulation_tell(world, (PolicyEvent){.kind = POLICY_EVENT_DEVICE_ADDED,
                                   .device = number,
                                   .memory_bytes = group->memory_bytes,
                                   .speed = group->speed}));
    if (!group->lost_every_ms) return NULL;
    return simulation_later(world,
        simulation_exponential(world, group->lost_every_ms * MILLISECOND_NS),
        (Happening){.kind = HAPPENING_LOST, .object = number});
}

static Error *add_tenants(Simulation *world) {
    uint64_t number = 0;
    for (uint32_t i = 0; i < world->scenario->tenant_groups; i++) {
        const ScenarioTenants *group = &world->scenario->tenants[i];
        for (uint64_t k = 0; k < group->count; k++) {
            PolicyEvent event = {.kind = POLICY_EVENT_TENANT_SET,
                .tenant = number++,
                .weight = group->weights[k % group->weight_count]};
#define QUOTA(row, name, member) event.member = group->limits[POLICY_QUOTA_##name];
#include "scheduler/policy/policy_quotas.def"
#undef QUOTA
            TRY(simulation_tell(world, event));
        }
    }
    return NULL;
}

Error *simulation_begin(Simulation *world) {
    const Scenario *scenario = world->scenario;
    uint32_t number = 0;
    TRY(allocate(world));
    TRY(simulation_tell(world, scenario->config));
    TRY(add_tenants(world));
    for (uint32_t i = 0; i < scenario->device_groups; i++)
        for (uint64_t k = 0; k < scenario->devices[i].count; k++) {
            world->devices[number].group = &scenario->devices[i];
            TRY(add_device(world, number++));
        }
    number = 0;
    for (uint32_t i = 0; i < scenario->model_groups; i++)
        for (uint64_t k = 0; k < scenario->models[i].count; k++)
            world->model_bytes[number++] =
                simulation_between(world, scenario->models[i].constant_bytes);
    return NULL;
}

static uint64_t transfer_ns(Simulation *world, const ScenarioDevices *group, uint64_t bytes) {
    uint64_t time_ns = bytes * 1000 / group->bytes_per_ms * 1000;
    return simulation_chance(world, world->scenario->slow_moves) ? time_ns * SLOW_FACTOR : time_ns;
}

static Error *start_slice(Simulation *world, const PolicyAction *action) {
    SimulatedDevice *device = &world->devices[action->device];
    SimulatedJob *job = &world->jobs[action->job];
    uint64_t late = simulation_random(world) % (device->group->kernel_ns + 1);
    uint64_t work = job->left_ns;
    if (job->fails_at_ns && work > job->fails_at_ns) work -= job->fails_at_ns;
    job->device = (uint32_t)action->device;
    job->on_device = true;
    device->running = (uint32_t)action->job;
    device->started_ns = world->now_ns;
    device->budget_ns = action->ns;
    if (work > action->ns + late) work = action->ns + late;
    device->ends_ns = world->now_ns + work;
    return simulation_later(world, work,
        (Happening){.kind = HAPPENING_SLICE_END,
            .object = (uint32_t)action->device,
            .epoch = ++device->slice_epoch});
}

static Error *stop_slice(Simulation *world, const PolicyAction *action) {
    SimulatedDevice *device = &world->devices[action->device];
    uint64_t rest = simulation_random(world) % (device->group->kernel_ns + 1);
    if (world->now_ns + rest >= device->ends_ns) return NULL;
    device->ends_ns = world->now_ns + rest;
    return simulation_later(world, rest,
        (Happening){.kind = HAPPENING_SLICE_END,
            .object = (uint32_t)action->device,
            .epoch = ++device->slice_epoch});
}

static Error *transfer(Simulation *world, const PolicyAction *action, HappeningKind kind) {
    bool known = action->device != POLICY_NO_DEVICE;
    bool weights = kind == HAPPENING_LOADED || kind == HAPPENING_EVICTED;
    const SimulatedDevice *device = &world->devices[known ? action->device : 0];
    uint64_t bytes = kind == HAPPENING_EVICTED ||
                             (kind == HAPPENING_MOVED_OUT && action->place == POLICY_PLACE_NONE)
                         ? 0
                         : action->bytes;
    return simulation_later(world, transfer_ns(world, device->group, bytes),
        (Happening){.kind = kind,
            .object = (uint32_t)(weights ? action->model : action->job),
            .device = known ? (uint32_t)action->device : NOWHERE,
            .epoch = device->epoch});
}

Error *simulation_carry_out(Simulation *world, const PolicyAction *action) {
    switch (action->kind) {
    case POLICY_ACTION_RUN:
        return start_slice(world, action);
    case POLICY_ACTION_PREEMPT:
        return stop_slice(world, action);
    case POLICY_ACTION_MOVE_OUT:
        return transfer(world, action, HAPPENING_MOVED_OUT);
    case POLICY_ACTION_MOVE_IN:
        return transfer(world, action, HAPPENING_MOVED_IN);
    case POLICY_ACTION_LOAD_WEIGHTS:
        if (!action->bytes) return NULL; /* nothing to load, nothing to answer */
        return transfer(world, action, HAPPENING_LOADED);
    case POLICY_ACTION_EVICT_WEIGHTS:
        return transfer(world, action, HAPPENING_EVICTED);
    case POLICY_ACTION_SET_TIMER:
        return simulation_later(
            world, action->ns - world->now_ns, (Happening){.kind = HAPPENING_TIMER});
    case POLICY_ACTION_REFUSE:
        world->result.jobs_refused++;
        world->jobs[action->job].over = true;
        return NULL;
    case POLICY_ACTION_FAIL:
        world->result.jobs_failed++;
        world->jobs[action->job].over = true;
        return NULL;
    case POLICY_ACTION_RELEASE:
        world->result.jobs_cancelled++;
        world->jobs[action->job].over = true;
        return NULL;
    case POLICY_ACTION_ACCEPT:
    case POLICY_ACTION_GRANT:
    case POLICY_ACTION_SUSPENDED:
    case POLICY_ACTION_MISSED:
    case POLICY_ACTION_PROMISE:
    case POLICY_ACTION_KIND_COUNT:
        break;
    }
    return NULL;
}

/* Chooses the outcome of a slice of a job that is not at its end. */
static PolicyOutcome choose_outcome(
    Simulation *world, const ScenarioJobs *jobs, PolicyEvent *event) {
    if (simulation_chance(world, jobs->grow)) {
        event->bytes = simulation_between(world, jobs->grow_bytes);
        return POLICY_OUTCOME_NEEDS_MEMORY;
    }
    return simulation_chance(world, jobs->block) ? POLICY_OUTCOME_BLOCKED
                                                 : POLICY_OUTCOME_SLICE_ENDED;
}

static Error *end_slice(Simulation *world, uint32_t number) {
    SimulatedDevice *device = &world->devices[number];
    uint32_t job_number = device->running;
    SimulatedJob *job = &world->jobs[job_number];
    const ScenarioJobs *jobs = &world->scenario->jobs[job->group];
    uint64_t used = world->now_ns - device->started_ns;
    PolicyEvent event = {.kind = POLICY_EVENT_SLICE_ENDED,
        .job = job_number,
        .device = number,
        .device_time_ns = used};
    PolicyOutcome outcome = POLICY_OUTCOME_FINISHED;
    job->left_ns -= used < job->left_ns ? used : job->left_ns;
    if (job->left_ns && job->left_ns == job->fails_at_ns)
        outcome = POLICY_OUTCOME_FAILED;
    else if (job->left_ns)
        outcome = choose_outcome(world, jobs, &event);
    event.outcome = (uint64_t)outcome;
    device->running = 0;
    if (outcome == POLICY_OUTCOME_FINISHED || outcome == POLICY_OUTCOME_FAILED) {
        job->over = true;
        job->on_device = false;
        *(outcome == POLICY_OUTCOME_FINISHED ? &world->result.jobs_done
                                             : &world->result.jobs_failed) += 1;
    } else if (simulation_chance(world, jobs->checkpoint)) {
        job->saved_ns = job->left_ns;
        TRY(simulation_tell(
            world, (PolicyEvent){.kind = POLICY_EVENT_CHECKPOINTED, .job = job_number}));
    }
    if (outcome == POLICY_OUTCOME_BLOCKED)
        TRY(simulation_later(world, jobs->blocked_ms * MILLISECOND_NS,
            (Happening){.kind = HAPPENING_UNBLOCK, .object = job_number, .epoch = ++job->epoch}));
    return simulation_tell(world, event);
}

static Error *lose_device(Simulation *world, uint32_t number) {
    SimulatedDevice *device = &world->devices[number];
    device->lost = true;
    device->epoch++;
    device->slice_epoch++;
    device->running = 0;
    for (uint64_t i = 1; i <= world->job_count; i++) {
        SimulatedJob *job = &world->jobs[i];
        if (!job->on_device || job->device != number) continue;
        job->left_ns = job->saved_ns;
        job->on_device = false;
        job->epoch++;
    }
    TRY(simulation_tell(world, (PolicyEvent){.kind = POLICY_EVENT_DEVICE_LOST, .device = number}));
    return simulation_later(world, device->group->back_after_ms * MILLISECOND_NS,
        (Happening){.kind = HAPPENING_BACK, .object = number});
}

static Error *moved(Simulation *world, const Happening *happening) {
    SimulatedJob *job = &world->jobs[happening->object];
    bool out = happening->kind == HAPPENING_MOVED_OUT;
    bool worked = !simulation_chance(world, world->scenario->failed_moves);
    if (worked && happening->device != NOWHERE) job->on_device = !out;
    if (worked && !out) job->device = happening->device;
    return simulation_tell(
        world, (PolicyEvent){.kind = out ? POLICY_EVENT_MOVED_OUT : POLICY_EVENT_MOVED_IN,
                   .job = happening->object,
                   .worked = worked});
}

static Error *request(Simulation *world, const Happening *happening) {
    SimulatedJob *job = &world->jobs[happening->object];
    PolicyEvent event = {.job = happening->object, .device = POLICY_NO_DEVICE};
    PolicyJobView view;
    if (job->over || !policy_find_job(world->policy, happening->object, &view)) return NULL;
    if (happening->kind == HAPPENING_CANCEL) {
        event.kind = POLICY_EVENT_CANCEL_REQUESTED;
        return simulation_tell(world, event);
    }
    if (view.cancelling) return NULL;
    if (happening->kind == HAPPENING_SUSPEND) {
        event.kind = POLICY_EVENT_SUSPEND_REQUESTED;
        TRY(simulation_tell(world, event));
        uint64_t delay = world->scenario->jobs[job->group].suspended_ms * MILLISECOND_NS;
        return simulation_later(
            world, delay, (Happening){.kind = HAPPENING_RESUME, .object = happening->object});
    }
    /* the move of its suspension may have failed */
    if (view.state != POLICY_JOB_SUSPENDED && !view.suspending) return NULL;
    event.kind = POLICY_EVENT_RESUME_REQUESTED;
    if (view.state == POLICY_JOB_SUSPENDED) job->epoch++; /* cancels the pending unblock */
    return simulation_tell(world, event);
}

static Error *unblock(Simulation *world, const Happening *happening) {
    const SimulatedJob *job = &world->jobs[happening->object];
    PolicyJobView view;
    if (job->over || job->epoch != happening->epoch ||
        !policy_find_job(world->policy, happening->object, &view) || !view.blocked)
        return NULL;
    return simulation_tell(
        world, (PolicyEvent){.kind = POLICY_EVENT_UNBLOCKED, .job = happening->object});
}

Error *simulation_happen(Simulation *world, const Happening *happening) {
    uint32_t number = happening->object;
    bool known = happening->device != NOWHERE;
    bool lost = known && world->devices[happening->device].epoch != happening->epoch;
    switch (happening->kind) {
    case HAPPENING_SLICE_END:
        if (world->devices[number].slice_epoch != happening->epoch) return NULL;
        return end_slice(world, number);
    case HAPPENING_MOVED_OUT:
    case HAPPENING_MOVED_IN:
        return lost ? NULL : moved(world, happening);
    case HAPPENING_LOADED:
        if (lost) return NULL;
        return simulation_tell(
            world, (PolicyEvent){.kind = POLICY_EVENT_WEIGHTS_LOADED,
                       .model = number,
                       .device = happening->device,
                       .worked = !simulation_chance(world, world->scenario->failed_moves)});
    case HAPPENING_EVICTED:
        if (lost) return NULL;
        return simulation_tell(world, (PolicyEvent){.kind = POLICY_EVENT_WEIGHTS_EVICTED,
                                          .model = number,
                                          .device = happening->device});
    case HAPPENING_UNBLOCK:
        return unblock(world, happening);
    case HAPPENING_SUSPEND:
    case HAPPENING_RESUME:
    case HAPPENING_CANCEL:
        return request(world, happening);
    case HAPPENING_LOST:
        return lose_device(world, number);
    case HAPPENING_BACK:
        return add_device(world, number);
    case HAPPENING_TIMER:
        return simulation_tell(world, (PolicyEvent){.kind = POLICY_EVENT_CLOCK});
    case HAPPENING_ARRIVAL:
        break; /* simulation.c's */
    }
    return NULL;
}
