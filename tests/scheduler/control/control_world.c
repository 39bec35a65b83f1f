#include "tests/scheduler/control/control_world.h"

#include <math.h>
#include <string.h>

#include "base/allocator.h"
#include "base/container_of.h"
#include "base/duration.h"
#include "scheduler/control/requests/control_requests.h"
#include "scheduler/control/slices/device_slice.h"
#include "scheduler/control/state/control_steps.h"
#include "scheduler/control/state/device_table.h"
#include "scheduler/control/state/policy_driver.h"

static const char program[] = "function keep(a: float32[1, 1]) -> (y: float32[1, 1]) exported {\n"
                              "    Ret r0\n"
                              "}\n";
static const char *const device_names[WORLD_DEVICES] = {"east", "west"};

uint64_t world_random(ControlWorld *world, uint64_t limit) {
    return test_random(&world->random) % limit;
}

bool world_chance(ControlWorld *world, uint64_t one_in) { return world_random(world, one_in) == 0; }

ControlWorld *world_of(Control *control) { return control->options.listener; }

/* ---- messages and time ---- */

void world_post(ControlWorld *world, Message *message, uint64_t delay_ns,
    void (*prepare)(ControlWorld *world, Message *message)) {
    assert_true(world->entry_count < WORLD_ENTRIES_MAX);
    assert_null(world_find(world, message));
    world->entries[world->entry_count++] = (WorldEntry){.time_ns = world->clock.now_ns + delay_ns,
        .tie = test_random(&world->random),
        .message = message,
        .prepare = prepare};
}

WorldEntry *world_find(ControlWorld *world, const Message *message) {
    for (size_t i = 0; i < world->entry_count; i++)
        if (world->entries[i].message == message) return &world->entries[i];
    return NULL;
}

bool world_forget(ControlWorld *world, const Message *message) {
    WorldEntry *entry = world_find(world, message);
    if (entry) *entry = world->entries[--world->entry_count];
    return entry != NULL;
}

static void post(void *self, Message *message) { world_post(self, message, 0, NULL); }

static WorldEntry *next_entry(ControlWorld *world) {
    WorldEntry *first = NULL;
    for (size_t i = 0; i < world->entry_count; i++) {
        WorldEntry *entry = &world->entries[i];
        if (!first || entry->time_ns < first->time_ns ||
            (entry->time_ns == first->time_ns && entry->tie < first->tie))
            first = entry;
    }
    return first;
}

static void handle(ControlWorld *world, WorldEntry *entry) {
    const WorldEntry now = *entry;
    *entry = world->entries[--world->entry_count];
    if (now.time_ns > world->clock.now_ns) world->clock.now_ns = now.time_ns;
    if (now.prepare) now.prepare(world, now.message);
    now.message->handle(world->control, now.message);
}

/* ---- what must hold after every turn ---- */

static void check_job(ControlWorld *world, const ControlJob *job) {
    const bool slice = job_site_has_slice(&job->site);
    const bool runs = job->site.state == JOB_SITE_RUNNING;
    const bool open = job_site_is_open(&job->site);
    const uint32_t device = job->site.device;
    world->site_steps[job->site.state]++;
    assert_true(runs == (world->control->devices->items[device].slice.running == job &&
                            job->site.state != JOB_SITE_FAILED_ASIDE));
    const WorldEntry *end = world_find(world, &job->hold.slice_ended);
    if (slice) assert_non_null(end);
    if (end && end->prepare) /* else it failed while it was aside */
        assert_true(((const WorldRun *)(const void *)job->hold.run)->has_slice);
    if (job_site_is_resting(&job->site)) assert_non_null(job->hold.run);
    if (!open) assert_null(job->hold.run);
    if (job->name.job)
        assert_ptr_equal(control_job_find(world->control, job->tenant, job->id), job);
}

static void check_jobs(ControlWorld *world) {
    const Control *control = world->control;
    size_t aside = 0;
    size_t at = 0;
    for (ControlJob *job; (job = control_jobs_next(control, &at));) {
        check_job(world, job);
        aside += job_site_is_aside(&job->site);
    }
    assert_int_equal(aside, control->devices->aside_count);
}

/* A job that has left memory is unknown to the policy: it would keep its bytes of a device for
 * ever. */
static void check_policy(const ControlWorld *world) {
    const Control *control = world->control;
    PolicyJobView view;
    for (uint64_t number = 1; number <= control->jobs->last_number; number++)
        if (!control_job_get(control, number))
            assert_false(policy_find_job(control_get_policy(control), number, &view));
}

static void check(ControlWorld *world) {
    OWN(Error, error) = control_check(world->control);
    if (error)
        fail_msg("seed %llu, step %llu: %s", (unsigned long long)world->seed,
            (unsigned long long)world->step, error_message(error));
    check_jobs(world);
    if (world->step % 5000 == 0) check_policy(world);
}

bool control_world_step(ControlWorld *world) {
    Control *control = world->control;
    const uint64_t due_ns = control_core_due_ns(control);
    WorldEntry *entry = next_entry(world);
    if (!entry && !due_ns) return false;
    world->step++;
    if (entry && (!due_ns || entry->time_ns <= due_ns))
        handle(world, entry);
    else if (due_ns > world->clock.now_ns)
        world->clock.now_ns = due_ns;
    control_core_turn(control);
    check(world);
    return true;
}

/* ---- requests ---- */

static void take_answer(ControlRequest *request) {
    WorldAsk *ask = CONTAINER_OF(request, WorldAsk, request);
    ControlWorld *world = ask->world;
    assert_false(ask->answered);
    ask->answered = true;
    world->answered++;
    if (request->error) world->refused++;
    submission_deinit(&ask->submission);
    error_free(request->error);
    memory_free(ask);
}

static Batch *make_inputs(const ControlWorld *world) {
    static const BatchOptions options = {0};
    ArrayList OWN_ARRAYS(inputs) = {0};
    Shape shape = {.rank = 2, .dims = {1, 1}};
    Batch *batch;
    fixture_add_floats(&inputs, "a", &shape, 1);
    assert_ok(batch_create(world->program.executable, 0, &inputs, &options, &batch));
    return batch;
}

/* The number of its items stands in random_key, which is stored with the policy and which nothing
 * in this world reads otherwise. */
static void fill_submission(ControlWorld *world, WorldAsk *ask) {
    Submission *submission = &ask->submission;
    const char *device =
        world_chance(world, 4) ? device_names[world_random(world, world->device_count)] : NULL;
    assert_ok(submission_init(submission, "keep", device));
    JobPolicy *policy = &submission->policy;
    policy->weight = 1 + world_random(world, 3);
    policy->checkpoint_every_ns = world_chance(world, 2) ? 20000000 : 0;
    policy->suspend_after_ns = world_chance(world, 10) ? 30000000 : 0;
    policy->random_key = 1 + world_random(world, 40);
    assert_ok(submission_store_policy(submission));
    submission->tenant = ask->request.tenant;
    submission->model = "m";
    submission->item_count = (int64_t)policy->random_key;
    submission->priority = (PolicyClass)world_random(world, POLICY_CLASS_COUNT);
    submission->batch = world_chance(world, 3) ? NULL : make_inputs(world);
    submission->constant_bytes = world_chance(world, 2) ? 1000 : 0;
    submission->live_bytes = world_random(world, (uint64_t)1 << 29);
    submission->executable.bytes[0] =
        (uint8_t)(world_random(world, 4) * 2 + (submission->constant_bytes > 0));
    if (world_chance(world, 4)) submission->deadline = control_calendar_s(world->control) + 0.2;
    ask->request.submission = submission;
    world->submitted++;
}

void control_world_ask_for(
    ControlWorld *world, ControlRequestKind kind, TenantId tenant, JobId job) {
    void *memory;
    assert_ok(memory_alloc(1, sizeof(WorldAsk), &memory));
    WorldAsk *ask = memory;
    ask->world = world;
    ask->request = (ControlRequest){.message.handle = control_handle_request,
        .kind = kind,
        .tenant = tenant,
        .job = job,
        .why = "a test",
        .text = ask->text,
        .suspended = world_chance(world, 2),
        .answered = take_answer};
    if (kind == CONTROL_SUBMIT) fill_submission(world, ask);
    if (kind == CONTROL_RESUME && world_chance(world, 3))
        ask->request.device = device_names[world_random(world, world->device_count)];
    world->asked++;
    post(world, &ask->request.message);
}

/* A job in memory, mostly; any row now and then. */
static JobId choose_job(ControlWorld *world, TenantId *out_tenant) {
    const Control *control = world->control;
    const size_t capacity = control->jobs->by_id.capacity;
    *out_tenant = 1;
    if (world->row_count == 0) return (JobId){1, 1};
    uint64_t number = 1 + world_random(world, world->row_count);
    for (size_t i = 0, at = capacity ? world_random(world, capacity) : 0; i < capacity; i++) {
        const IdKey *key = control->jobs->by_id.slots[(at + i) % capacity];
        if (!key || world_chance(world, 20)) continue;
        number = key->low;
        break;
    }
    *out_tenant = world->rows[number - 1].job.tenant;
    return (JobId){1, number};
}

/* A fork of a job: its row is stored by somebody else. */
static void fork_some(ControlWorld *world) {
    TenantId tenant;
    const JobId job = choose_job(world, &tenant);
    if (world->row_count > 0)
        control_world_ask_for(world, CONTROL_LOAD, tenant, world_fork_row(world, job));
}

void control_world_ask(ControlWorld *world) {
    static const ControlRequestKind kinds[] = {CONTROL_SUSPEND, CONTROL_SUSPEND, CONTROL_RESUME,
        CONTROL_RESUME, CONTROL_RESUME, CONTROL_CANCEL, CONTROL_CHECKPOINT, CONTROL_CHECKPOINT,
        CONTROL_FREEZE, CONTROL_RELEASE, CONTROL_THAW, CONTROL_MIGRATION_STOP,
        CONTROL_MIGRATION_COMMIT, CONTROL_MIGRATION_REVERT, CONTROL_MIGRATION_REVERT,
        CONTROL_QUOTAS, CONTROL_PLACE, CONTROL_EXPLAIN};
    TenantId tenant = 1 + (TenantId)world_random(world, WORLD_TENANTS);
    const size_t jobs = world->control->jobs->by_number.count;
    if (jobs < WORLD_LIVE_JOBS && (jobs < WORLD_LIVE_JOBS / 2 || world_chance(world, 2))) {
        if (world_chance(world, 10))
            fork_some(world);
        else
            control_world_ask_for(world, CONTROL_SUBMIT, tenant, (JobId){0});
        return;
    }
    const JobId job = choose_job(world, &tenant);
    control_world_ask_for(
        world, kinds[world_random(world, sizeof kinds / sizeof *kinds)], tenant, job);
}

void control_world_disturb(ControlWorld *world) {
    WorldDevice *device = &world->devices[world_random(world, world->device_count)];
    if (world_chance(world, 2))
        world->full = !world->full;
    else if (!device->lost) {
        device->lost = true;
        device->losses++;
        world->lost++;
    }
}

/* ---- life ---- */

static void begin(ControlWorld *world) {
    world->device_count = 0;
    assert_ok(control_core_create(&world->options, &world->control));
    world->control->ports = (ControlPorts){.clock = clock_simulated(&world->clock),
        .mailbox = {.post = post, .self = world},
        .executor = world_executor_port(world),
        .store = world_store_port(world)};
    assert_ok(control_core_begin(world->control));
}

/* As control_release does. */
static void end(ControlWorld *world) {
    control_step_life(world->control, CONTROL_LIFE_EVENT_END);
    control_stop_slices(world->control, true);
    while (world->entry_count > 0) handle(world, next_entry(world));
    control_core_release(world->control);
    world->control = NULL;
}

void control_world_init(ControlWorld *world, uint64_t seed) {
    void *memory;
    *world = (ControlWorld){.seed = seed,
        .random = seed,
        .clock = {.now_ns = SECOND_NS, .calendar_start_s = 1e9},
        .options = {.device_count = WORLD_DEVICES,
            .devices = {"east", "west"},
            .reopen_pause_ns = 50000000,
            .loss_window_ns = 200000000,
            .checks_jobs = true,
            .listener = world}};
    executor_fixture_init(&world->program, program, "cpu");
    assert_ok(memory_alloc(WORLD_ROWS_MAX, sizeof(WorldRow), &memory));
    world->rows = memory;
    begin(world);
}

void control_world_deinit(ControlWorld *world) {
    end(world);
    for (size_t i = 0; i < world->row_count; i++) memory_free(world->rows[i].policy);
    memory_free(world->rows);
    executor_fixture_deinit(&world->program);
}

/* A drain was waited for, or not: what was asked is answered. */
void control_world_restart(ControlWorld *world) {
    control_world_drain(world);
    end(world);
    assert_int_equal(world->answered, world->asked);
    for (uint32_t i = 0; i < WORLD_DEVICES; i++)
        world->devices[i] = (WorldDevice){.losses = world->devices[i].losses};
    world->restarts++;
    begin(world);
}

void control_world_drain(ControlWorld *world) {
    control_world_ask_for(world, CONTROL_DRAIN, 1, (JobId){0});
    for (int i = 0; i < 100000 && world->answered < world->asked; i++)
        if (!control_world_step(world)) break;
    assert_int_equal(world->answered, world->asked);
}

static bool all_ended(const ControlWorld *world) {
    for (size_t i = 0; i < world->row_count; i++)
        if (job_state_is_unfinished(world->rows[i].job.state)) return false;
    return true;
}

/* Jobs that are suspended or held are wanted to run again. That another node owns a job is told
 * again until it is stored. */
static void resume_all(ControlWorld *world) {
    for (size_t i = 0; i < world->row_count; i++) {
        const Job *job = &world->rows[i].job;
        const ControlJob *here = control_job_find(world->control, job->tenant, job->id);
        if (here && here->asked.goal.state == JOB_GOAL_TRANSFERRING)
            control_world_ask_for(world, CONTROL_MIGRATION_COMMIT, job->tenant, job->id);
        if (job->state == JOB_STATE_SUSPENDED || job->state == JOB_STATE_HELD) {
            control_world_ask_for(world, CONTROL_THAW, job->tenant, job->id);
            control_world_ask_for(world, CONTROL_MIGRATION_REVERT, job->tenant, job->id);
            control_world_ask_for(world, CONTROL_RESUME, job->tenant, job->id);
        }
    }
}

void control_world_finish(ControlWorld *world) {
    world->calm = true;
    world->full = false;
    for (int round = 0; round < 50 && !all_ended(world); round++) {
        resume_all(world);
        for (int i = 0; i < 20000 && !all_ended(world); i++)
            if (!control_world_step(world)) break;
    }
    for (size_t i = 0; i < world->row_count; i++) {
        const WorldRow *row = &world->rows[i];
        if (job_state_is_unfinished(row->job.state)) {
            const ControlJob *job = control_job_find(world->control, row->job.tenant, row->job.id);
            fail_msg("seed %llu: job %zu stays %s: %s, site %u, goal %u, storing %u, number %llu",
                (unsigned long long)world->seed, i + 1, job_state_info(row->job.state)->name,
                job ? job->known ? "known" : "unknown" : "forgotten", job ? job->site.state : 0,
                job ? job->asked.goal.state : 0, job ? job->pending.storing.state : 0,
                job ? (unsigned long long)job->number.low : 0);
        }
        if (row->job.state == JOB_STATE_SUCCEEDED)
            assert_int_equal(row->job.output_count, row->total);
    }
    check_policy(world);
}
