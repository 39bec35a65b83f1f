/* A device that is too small for what is asked of it: loads, runs, suspensions, evictions in random
 * order. Nothing is lost, nothing leaks, every job gives the outputs of an undisturbed one. */
#include "kernels/registry/device_registry.h"
#include "scheduler/executor/job_run.h"
#include "serialize/container/executable_file.h"
#include "tests/scheduler/executor_fixtures.h"
#include "vm/assembly/assembly.h"

enum { MODELS = 5, JOBS = 6, STEPS = 10000, ROWS = 3, COLUMNS = 1000, DEVICE_BYTES = 40 << 10 };

typedef struct Job {
    JobRun *run; /* NULL: none */
    int model;
    Residency *residency; /* where its execution is; NULL: out, or not begun */
    FixtureOutputs outputs;
} Job;

typedef struct World {
    Device *host, *device;
    Executable *executables[MODELS];
    Residency *residencies[MODELS]; /* NULL: not on the device */
    FixtureOutputs expected[MODELS];
    Job jobs[JOBS];
    uint64_t total_bytes;
    size_t finished, no_room, moved_out, moved_in, evicted_in_use;
} World;

/* Model i adds its weight, 1000 numbers, again and again, and yields in between. */
static Executable *make_model(int index) {
    TextBuilder OWN_TEXT(text) = {0};
    Executable *executable;
    text_append(&text, "constant @w = float32[1000] {");
    for (int i = 0; i < COLUMNS; i++)
        text_appendf(&text, "%s%d", i ? ", " : "", index * 10 + i % 7);
    text_append(&text,
        "}\nprimitive %add = Add\n"
        "function f(a: float32[n, 1000]) -> (y: float32[n, 1000]) exported last_uses {\n");
    for (int i = 0; i < 4; i++)
        text_appendf(&text, "    InvokePacked %%add r%d, @w -> r1\n    Yield %d\n", i ? 1 : 0, i);
    text_append(&text, "    Ret r1\n}\n");
    assert_ok(assembly_parse(text_builder_get(&text), text.size, &executable));
    assert_ok(executable_identify(executable, NULL));
    return executable;
}

static void make_job(const World *world, int model, JobRun **out) {
    ArrayList OWN_ARRAYS(inputs) = {0};
    const Shape shape = {.rank = 2, .dims = {ROWS, COLUMNS}};
    const ExecutorFixture fixture = {.executable = world->executables[model]};
    fixture_add_floats(&inputs, "a", &shape, (float)model);
    assert_ok(fixture_job(&fixture, "f", &inputs, 1, out));
}

static void world_init(World *world) {
    *world = (World){0};
    assert_ok(device_open("cpu", &world->host));
    assert_ok(device_open("sim:0,memory=40KiB", &world->device));
    for (int i = 0; i < MODELS; i++) {
        OWN(Residency, residency) = NULL;
        OWN(JobRun, run) = NULL;
        JobRunResult result;
        world->executables[i] = make_model(i);
        make_job(world, i, &run);
        assert_ok(
            residency_create(world->executables[i], world->host, world->host, NULL, &residency));
        assert_ok(job_run_slice(run, residency, fixture_sink(&world->expected[i]), &result));
        assert_int_equal(result.outcome, JOB_RUN_FINISHED);
    }
}

static uint64_t free_bytes(const World *world) {
    DeviceMemory memory;
    assert_ok(world->device->class_->memory(world->device, &memory));
    assert_int_equal(memory.total_bytes, DEVICE_BYTES);
    return memory.free_bytes;
}

/* True where it worked; where there was no room nothing has changed. */
static bool has_room(World *world, Error *error) {
    if (!error) return true;
    if (error_code(error) != ERROR_EXHAUSTED) fail_msg("%s", error_message(error));
    error_free(error);
    world->no_room++;
    return false;
}

static void load(World *world, int model) {
    Residency *made = NULL;
    if (world->residencies[model]) return;
    uint64_t before = free_bytes(world);
    if (has_room(world,
            residency_create(world->executables[model], world->host, world->device, NULL, &made)))
        world->residencies[model] = made;
    else
        assert_int_equal(free_bytes(world), before);
}

static void evict(World *world, int model) {
    for (int i = 0; i < JOBS; i++)
        world->evicted_in_use +=
            world->residencies[model] && world->jobs[i].residency == world->residencies[model];
    residency_release(world->residencies[model]);
    world->residencies[model] = NULL;
}

static void end_job(Job *job) {
    job_run_release(job->run);
    residency_release(job->residency);
    fixture_outputs_deinit(&job->outputs);
    *job = (Job){0};
}

static void check_outputs(const World *world, const Job *job) {
    const FixtureOutputs *expected = &world->expected[job->model];
    assert_int_equal(job->outputs.count, expected->count);
    for (int64_t i = 0; i < expected->count; i++)
        assert_memory_equal(job->outputs.rows[i].items[0].data, expected->rows[i].items[0].data,
            expected->rows[i].items[0].size);
}

/* To its next output, where its execution is, or on any residency of its model. */
static void run(World *world, Job *job) {
    JobRunResult result;
    if (job_run_is_out(job->run)) return;
    if (!job->residency && world->residencies[job->model])
        job->residency = residency_retain(world->residencies[job->model]);
    if (!job->residency) return;
    job->outputs.stop = job->run;
    if (!has_room(
            world, job_run_slice(job->run, job->residency, fixture_sink(&job->outputs), &result))) {
        end_job(job); /* it had no room to begin, which ends a job */
        return;
    }
    world->no_room += result.outcome == JOB_RUN_NEEDS_MEMORY;
    if (result.outcome != JOB_RUN_FINISHED) return;
    check_outputs(world, job);
    world->finished++;
    end_job(job);
}

static void move_out(World *world, Job *job) {
    if (!job->residency) return;
    assert_ok(job_run_move_out(job->run, NULL));
    residency_release(job->residency);
    job->residency = NULL;
    world->moved_out++;
}

static void move_in(World *world, Job *job) {
    Residency *residency = world->residencies[job->model];
    if (!residency || !job_run_is_out(job->run)) return;
    if (!has_room(world, job_run_move_in(job->run, residency, NULL))) return;
    job->residency = residency_retain(residency);
    world->moved_in++;
}

static void step(World *world, uint64_t draw) {
    Job *job = &world->jobs[draw / 16 % JOBS];
    int model = (int)(draw / 256 % MODELS);
    switch (draw % 8) {
    case 0:
        load(world, model);
        return;
    case 1:
        evict(world, model);
        return;
    case 2:
        if (job->run) move_out(world, job);
        return;
    case 3:
        if (job->run) move_in(world, job);
        return;
    case 4:
        if (job->run && draw / 4096 % 16 == 0) end_job(job); /* cancelled */
        return;
    default:
        if (!job->run) {
            job->model = model;
            make_job(world, model, &job->run);
        }
        run(world, job);
    }
}

static void world_deinit(World *world) {
    for (int i = 0; i < JOBS; i++)
        if (world->jobs[i].run) end_job(&world->jobs[i]);
    for (int i = 0; i < MODELS; i++) {
        residency_release(world->residencies[i]);
        fixture_outputs_deinit(&world->expected[i]);
    }
    assert_int_equal(free_bytes(world), DEVICE_BYTES); /* no byte is left behind */
    for (int i = 0; i < MODELS; i++) executable_release(world->executables[i]);
    device_close(world->device);
    device_close(world->host);
}

static void test_device_memory_is_accounted_for_over_ten_thousand_steps(void **state) {
    (void)state;
    static World world;
    uint64_t seed = 5;
    world_init(&world);
    for (int i = 0; i < STEPS; i++) step(&world, test_random(&seed));
    /* everything that may happen did, often */
    assert_true(world.finished > 50);
    assert_true(world.no_room > 50);
    assert_true(world.moved_out > 50);
    assert_true(world.moved_in > 50);
    assert_true(world.evicted_in_use > 50);
    world_deinit(&world);
}

int test_device_memory(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_device_memory_is_accounted_for_over_ten_thousand_steps),
    };
    return cmocka_run_group_tests_name("device_memory", tests, NULL, NULL);
}
