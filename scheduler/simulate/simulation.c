#include "scheduler/simulate/simulation.h"

#include <assert.h>

#include "base/allocator.h"
#include "scheduler/simulate/simulation_internal.h"

uint64_t simulation_random(Simulation *world) {
    uint64_t value = world->random += 0x9e3779b97f4a7c15u;
    value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9u;
    value = (value ^ value >> 27) * 0x94d049bb133111ebu;
    return value ^ value >> 31;
}

uint64_t simulation_between(Simulation *world, ScenarioRange range) {
    return range.least + simulation_random(world) % (range.greatest - range.least + 1);
}

bool simulation_chance(Simulation *world, uint64_t permille) {
    return permille && simulation_random(world) % 1000 < permille;
}

/* Nearly exponential, without floating point: ln 2 times a geometric number of halvings, and a rest
 * that is uniform here. */
uint64_t simulation_exponential(Simulation *world, uint64_t mean) {
    uint64_t bits = simulation_random(world), zeros = 0;
    while (zeros < 40 && !(bits >> zeros & 1)) zeros++;
    uint64_t rest = simulation_random(world) % 1024;
    return mean * 693 / 1000 * (zeros * 1024 + rest) / 1024;
}

Error *simulation_later(Simulation *world, uint64_t delay_ns, Happening happening) {
    void *memory = world->heap;
    TRY(memory_grow(&memory, world->heap_count, &world->heap_capacity, sizeof(Happening)));
    world->heap = memory;
    happening.time_ns = world->now_ns + delay_ns;
    happening.serial = world->serial++;
    if (happening.kind == HAPPENING_LOST) world->fault_count++;
    size_t at = world->heap_count++;
    while (at > 0) {
        size_t parent = (at - 1) / 2;
        const Happening *other = &world->heap[parent];
        if (other->time_ns < happening.time_ns ||
            (other->time_ns == happening.time_ns && other->serial < happening.serial))
            break;
        world->heap[at] = *other;
        at = parent;
    }
    world->heap[at] = happening;
    return NULL;
}

static bool is_before(const Happening *a, const Happening *b) {
    return a->time_ns != b->time_ns ? a->time_ns < b->time_ns : a->serial < b->serial;
}

static Happening next_happening(Simulation *world) {
    Happening first = world->heap[0], last = world->heap[--world->heap_count];
    size_t at = 0;
    for (;;) {
        size_t child = 2 * at + 1;
        if (child >= world->heap_count) break;
        if (child + 1 < world->heap_count &&
            is_before(&world->heap[child + 1], &world->heap[child]))
            child++;
        if (!is_before(&world->heap[child], &last)) break;
        world->heap[at] = world->heap[child];
        at = child;
    }
    world->heap[at] = last;
    return first;
}

Error *simulation_tell(Simulation *world, PolicyEvent event) {
    const PolicyAction *actions;
    size_t count;
    event.time_ns = world->now_ns;
    Error *error = policy_apply(world->policy, &event, &actions, &count);
    if (error)
        return error_wrap(error_recode(error, ERROR_INTERNAL), "event %llu",
            (unsigned long long)world->result.events);
    world->result.events++;
    world->result.actions += count;
    if (world->options.log)
        event_log_write(world->options.log, &event, policy_get_digest(world->policy));
    void *memory = world->actions;
    TRY(memory_resize(&memory, count + 1, sizeof(PolicyAction)));
    world->actions = memory;
    for (size_t i = 0; i < count; i++) {
        world->actions[i] = actions[i];
        if (world->options.tamper.change)
            world->options.tamper.change(world->options.tamper.self, &world->actions[i]);
    }
    TRY(checker_apply(world->checker, &event, world->actions, count));
    /* the policy's own actions are carried out, even if the checker was shown others */
    for (size_t i = 0; i < count; i++) TRY(simulation_carry_out(world, &actions[i]));
    return NULL;
}

/* The next job of the group arrives. */
Error *simulation_arrive(Simulation *world, uint32_t group) {
    const ScenarioJobs *jobs = &world->scenario->jobs[group];
    uint64_t *made = &world->arrived[group];
    if (*made >= jobs->count) return NULL;
    uint64_t delay = *made == 0 ? jobs->start_ms * 1000000
                                : simulation_exponential(world, jobs->mean_gap_us * 1000);
    (*made)++;
    return simulation_later(world, delay, (Happening){.kind = HAPPENING_ARRIVAL, .object = group});
}

static PolicyClass choose_class(Simulation *world, const ScenarioJobs *jobs) {
    uint64_t sum = jobs->class_chances[0] + jobs->class_chances[1] + jobs->class_chances[2];
    uint64_t at = simulation_random(world) % sum;
    for (int i = 0; i < POLICY_CLASS_COUNT; i++) {
        if (at < jobs->class_chances[i]) return (PolicyClass)i;
        at -= jobs->class_chances[i];
    }
    return POLICY_NORMAL;
}

static ScenarioRange from(uint64_t first, uint64_t count) {
    return (ScenarioRange){first, first + count - 1};
}

static Error *submit(Simulation *world, uint32_t group) {
    const ScenarioJobs *jobs = &world->scenario->jobs[group];
    uint64_t number = ++world->job_count;
    SimulatedJob *job = &world->jobs[number];
    uint64_t deadline_ms = simulation_between(world, jobs->deadline_ms);
    uint64_t model = simulation_between(world, from(jobs->model_first, jobs->model_count));
    PolicyEvent event = {.kind = POLICY_EVENT_JOB_SUBMITTED,
        .job = number,
        .tenant = simulation_between(world, from(jobs->tenant_first, jobs->tenant_count)),
        .model = model,
        .class_ = (uint64_t)choose_class(world, jobs),
        .weight = simulation_between(world, jobs->weight),
        .deadline_ns = deadline_ms ? world->now_ns + deadline_ms * 1000000 : 0,
        .device = jobs->device,
        .constant_bytes = world->model_bytes[model],
        .bytes = simulation_between(world, jobs->live_bytes)};
    *job = (SimulatedJob){.group = group,
        .model = (uint32_t)model,
        .left_ns = simulation_between(world, jobs->device_us) * 1000};
    job->saved_ns = job->left_ns;
    if (simulation_chance(world, jobs->fail))
        job->fails_at_ns = simulation_random(world) % job->left_ns;
    checker_expect(world->checker, number, job->fails_at_ns ? 0 : job->left_ns);
    TRY(simulation_tell(world, event));
    if (simulation_chance(world, jobs->suspend))
        TRY(simulation_later(world, simulation_random(world) % (job->left_ns * 2 + 1),
            (Happening){.kind = HAPPENING_SUSPEND, .object = (uint32_t)number}));
    if (simulation_chance(world, jobs->cancel))
        TRY(simulation_later(world, simulation_random(world) % (job->left_ns * 2 + 1),
            (Happening){.kind = HAPPENING_CANCEL, .object = (uint32_t)number}));
    return simulation_arrive(world, group);
}

static Error *happen(Simulation *world, const Happening *happening) {
    if (happening->kind == HAPPENING_LOST) world->fault_count--;
    world->now_ns = happening->time_ns;
    if (happening->kind == HAPPENING_ARRIVAL) return submit(world, happening->object);
    return simulation_happen(world, happening);
}

static void release(Simulation *world) {
    policy_release(world->policy);
    checker_release(world->checker);
    memory_free(world->heap);
    memory_free(world->jobs);
    memory_free(world->devices);
    memory_free(world->model_bytes);
    memory_free(world->actions);
}

static Error *run(Simulation *world) {
    uint64_t limit = world->options.event_limit;
    TRY(simulation_begin(world));
    for (uint32_t i = 0; i < world->scenario->job_groups; i++) TRY(simulation_arrive(world, i));
    while (world->heap_count && (!limit || world->result.events < limit)) {
        Happening happening = next_happening(world);
        /* faults would continue for ever: the end does not wait for them */
        if (happening.kind == HAPPENING_LOST && world->fault_count == world->heap_count + 1) break;
        TRY(happen(world, &happening));
    }
    if (world->heap_count == 0 || !limit || world->result.events < limit)
        TRY(checker_finish(world->checker));
    world->result.virtual_ns = world->now_ns;
    world->result.digest = policy_get_digest(world->policy);
    if (world->options.log) {
        event_log_end(world->options.log, world->result.digest);
        TRY(byte_writer_check(&world->options.log->bytes));
    }
    return NULL;
}

Error *simulation_run(const Scenario *scenario, const SimulationOptions *options,
    SimulationResult *out_result, Checker **out_checker) {
    __attribute__((cleanup(release)))
    Simulation world = {.scenario = scenario, .options = *options, .random = options->seed};
    TRY(run(&world));
    *out_result = world.result;
    *out_checker = TAKE(world.checker);
    return NULL;
}

double simulation_jain_index(const Checker *checker, uint64_t tenant_count) {
    double sum = 0, squares = 0, count = 0;
    for (uint64_t i = 0; i < tenant_count; i++) {
        CheckerTenant tenant = checker_tenant(checker, i);
        if (!tenant.entitled_ns) continue;
        double share = (double)tenant.contended_ns / (double)tenant.entitled_ns;
        sum += share;
        squares += share * share;
        count++;
    }
    return squares > 0 ? sum * sum / (count * squares) : 1;
}
