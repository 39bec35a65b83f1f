#include "tests/scheduler/control_fixtures.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "scheduler/policy/policy.h"
#include "scheduler/jobs/intake_inputs.h"
#include "serialize/arrays/array_bundle.h"
#include "scheduler/node/model_loader.h"
#include "store/jobs/stored_content.h"
#include "tests/scheduler/executor_fixtures.h"
#include "tests/serialize/memory_npz.h"
#include "tests/support/test_sanitizers.h"
#include "vm/assembly/assembly.h"

/* Two instructions each; a sanitizer makes them ten times as long. */
#if defined(TEST_WITH_THREAD_SANITIZER) || defined(TEST_WITH_ADDRESS_SANITIZER)
#define SLOW_ROUNDS "300000"
#else
#define SLOW_ROUNDS "3000000"
#endif

static const char program[] =
    "primitive %add = Add\n"
    "primitive %product = MatMul\n"
    "primitive %turn = Transpose\n"
    "function four(a: float32[n, 2]) -> (y: float32[n, 2]) exported last_uses {\n"
    "    InvokePacked %add r0, r0 -> r1\n"
    "    InvokePacked %add r1, r1 -> r1\n"
    "    Ret r1\n"
    "}\n"
    /* long enough to be caught in the middle */
    "function slow(a: float32[n, 2]) -> (y: float32[n, 2]) exported last_uses {\n"
    "    LoadConsti 0 -> r1\n"
    "head:\n"
    "    IntOp add, r1, 1 -> r1\n"
    "    If r1, " SLOW_ROUNDS ", done, head\n"
    "done:\n"
    "    InvokePacked %add r0, r0 -> r2\n"
    "    Ret r2\n"
    "}\n"
    "function any_width(a: float32[n, m]) -> (y: float32[n, m]) exported last_uses {\n"
    "    InvokePacked %add r0, r0 -> r1\n"
    "    Ret r1\n"
    "}\n"
    "function forever(a: float32[n, 2]) -> (y: float32[n, 2]) exported {\n"
    "    LoadConsti 0 -> r1\n"
    "head:\n"
    "    IntOp add, r1, 1 -> r1\n"
    "    If r1, -1, done, head\n"
    "done:\n"
    "    Ret r0\n"
    "}\n"
    "function calls(1) {\n"
    "    Invoke &calls, r0 -> r1\n"
    "    Ret r1\n"
    "}\n"
    "function deep(a: float32[n, 2]) -> (y: any) exported {\n"
    "    Invoke &calls, r0 -> r1\n"
    "    Ret r1\n"
    "}\n"
    "function hoards(a: float32[n, 2]) -> (y: any) exported last_uses {\n"
    "    ListNew -> r1\n"
    "head:\n"
    "    InvokePacked %add r0, r0 -> r2\n"
    "    ListAppend r1, r2 -> r1\n"
    "    Goto head\n"
    "}\n"
    "function yields(a: float32[n, 2]) -> (y: any) exported {\n"
    "head:\n"
    "    Yield r0\n"
    "    Goto head\n"
    "}\n"
    "constant @why = string \"no luck\"\n"
    "function fails(a: float32[n, 2]) -> (y: float32[n, 2]) exported {\n"
    "    Fatal @why\n"
    "}\n"
    /* with thousands of rows the second product takes seconds */
    "function names(a: string[n] slot 0) -> (y: string[n] slot 0) exported {\n"
    "    Ret r0\n"
    "}\n"
    "function kernel(a: float32[n, 2]) -> (y: any) exported {\n"
    "    InvokePacked %turn r0 -> r1\n"
    "    InvokePacked %product r0, r1 -> r1\n"
    "    InvokePacked %product r1, r1 -> r1\n"
    "    Ret r0\n"
    "}\n";

const char *const control_fixture_cpu_and_sim[] = {"cpu", "sim:0", NULL};

static void register_program(Store *store) {
    OWN(Executable, executable) = NULL;
    ModelVersion OWN_VERSION(version) = {0};
    assert_ok(assembly_parse(program, strlen(program), &executable));
    assert_ok(
        model_loader_register(store, TENANT_DEFAULT, NULL, "m", executable, NULL, 0, &version));
}

void control_fixture_init(ControlFixture *fixture) {
    *fixture = (ControlFixture){0};
    test_folder_create(fixture->folder);
    (void)snprintf(fixture->home, sizeof fixture->home, "%s/home", fixture->folder);
    assert_ok(store_open(fixture->home, STORE_CREATE, &fixture->store));
    register_program(fixture->store);
    assert_ok(catalog_open(fixture->store, &fixture->catalog));
    assert_ok(settings_cache_create(fixture->store, &fixture->settings));
    assert_ok(intake_inputs_budget(&fixture->budget));
}

void control_fixture_start(ControlFixture *fixture, const char *const *devices) {
    ControlOptions options = {.checks_jobs = true,
        .store = fixture->store,
        .catalog = fixture->catalog,
        .settings = fixture->settings,
        .quantum_ns = fixture->quantum_ns ? fixture->quantum_ns : 1000000,
        .reopen_pause_ns = fixture->reopen_pause_ns,
        .loss_window_ns = fixture->loss_window_ns,
        .images = fixture->images,
        .metrics = fixture->metrics};
    for (; devices && devices[options.device_count]; options.device_count++)
        options.devices[options.device_count] = devices[options.device_count];
    assert_ok(control_create(&options, &fixture->control));
}

void control_fixture_stop(ControlFixture *fixture) {
    control_release(fixture->control);
    fixture->control = NULL;
}

void control_fixture_deinit(ControlFixture *fixture) {
    control_release(fixture->control);
    settings_cache_release(fixture->settings);
    memory_budget_release(fixture->budget);
    catalog_close(fixture->catalog);
    store_close(fixture->store);
}

void control_fixture_submission(
    const char *model, const char *function, const ByteWriter *file, Submission *out) {
    assert_ok(submission_init(out, function, NULL));
    out->tenant = TENANT_DEFAULT;
    out->model = model;
    out->inputs = file->data;
    out->inputs_size = file->size;
}

Error *control_fixture_submit(ControlFixture *fixture, const char *function, int64_t rows,
    bool items, const char *key, JobId *out_id) {
    ArrayList OWN_ARRAYS(inputs) = {0};
    ByteWriter OWN_BYTES(file) = {0};
    const Shape shape = {.rank = 2, .dims = {rows, 2}};
    fixture_add_floats(&inputs, "a", &shape, 1);
    stored_npz(&inputs, &file);
    bool created;
    Submission OWN_SUBMISSION(submission) = {0};
    control_fixture_submission("m", function, &file, &submission);
    submission.policy.items = items;
    submission.policy.checkpoint_keep = 2;
    submission.key = key;
    if (fixture->deadline_s != 0)
        submission.deadline = clock_real().calendar_s(clock_real().self) + fixture->deadline_s;
    return job_intake_submit(fixture->control, fixture->budget, &submission, out_id, &created);
}

void fixture_pause_ms(long ms) {
    const struct timespec pause = {.tv_nsec = ms * 1000000};
    (void)nanosleep(&pause, NULL);
}

void control_fixture_wait(ControlFixture *fixture, JobId id, JobState state, Job *out_job) {
    for (int i = 0; i < 60000; i++) {
        assert_ok(jobs_get(fixture->store, TENANT_DEFAULT, id, out_job));
        if (out_job->state == state) return;
        fixture_pause_ms(5);
    }
    fail_msg(
        "the job is %s, not %s", job_state_info(out_job->state)->name, job_state_info(state)->name);
}

void control_fixture_wait_outputs(ControlFixture *fixture, JobId id, int64_t count) {
    Job job = {0};
    for (int i = 0; i < 60000 && job.output_count < count; i++) {
        assert_ok(jobs_get(fixture->store, TENANT_DEFAULT, id, &job));
        fixture_pause_ms(2);
    }
    assert_true(job.output_count >= count);
}

void control_fixture_wait_progress(ControlFixture *fixture, JobId id, uint64_t instructions) {
    ControlStatus status = {0};
    for (int i = 0; i < 60000; i++) {
        Error *error = control_checkpoint(fixture->control, TENANT_DEFAULT, id);
        assert_true(!error || error_code(error) == ERROR_CONFLICT); /* it has not begun */
        error_free(error);
        assert_true(control_find_status(fixture->control, id, &status));
        if (status.counters.instructions > instructions) return;
        fixture_pause_ms(2);
    }
    fail_msg("it does not go on");
}

void control_fixture_wait_running(ControlFixture *fixture, JobId id) {
    ControlStatus status = {0};
    for (int i = 0; i < 60000 && !status.running; i++) {
        assert_true(control_find_status(fixture->control, id, &status));
        fixture_pause_ms(1);
    }
    assert_true(status.running);
}

void control_fixture_wait_kernel(ControlFixture *fixture, JobId id, const char *kernel) {
    char words[128];
    (void)snprintf(words, sizeof words, "kernel %s has computed for", kernel);
    for (int i = 0; i < 60000; i++) {
        OWN(Error, error) = control_checkpoint(fixture->control, TENANT_DEFAULT, id);
        if (error && strstr(error_message(error), words)) {
            assert_int_equal(error_code(error), ERROR_EXHAUSTED);
            return;
        }
        assert_true(!error || error_code(error) == ERROR_CONFLICT || /* it has not begun */
                    error_code(error) == ERROR_EXHAUSTED);           /* it is between kernels */
        fixture_pause_ms(2);
    }
    fail_msg("the job does not come to its kernel");
}

static Error *remove_job(Connection *catalog, void *context) {
    return jobs_remove(catalog, TENANT_DEFAULT, *(const JobId *)context);
}

/* False: it ended before the request came, as it may where the cores are busy; it is removed. */
static bool suspend_before_end(ControlFixture *fixture, JobId id) {
    Error *error = control_suspend(fixture->control, TENANT_DEFAULT, id);
    if (!error) return true;
    assert_int_equal(error_code(error), ERROR_CONFLICT);
    error_free(error);
    assert_ok(catalog_run(fixture->catalog, remove_job, &id));
    return false;
}

void control_fixture_suspended(ControlFixture *fixture, int64_t rows, bool items, JobId *out_id) {
    const char *function = items ? "slow" : "forever";
    Job job;
    int tries = 0;
    do {
        assert_true(tries++ < 20);
        assert_ok(control_fixture_submit(fixture, function, rows, items, NULL, out_id));
        if (items)
            control_fixture_wait_outputs(fixture, *out_id, 1);
        else
            control_fixture_wait_progress(fixture, *out_id, 0);
    } while (!suspend_before_end(fixture, *out_id));
    assert_ok(jobs_get(fixture->store, TENANT_DEFAULT, *out_id, &job));
    if (items) assert_true(job.items_done > 0 && job.items_done < rows);
}

void control_fixture_output(
    ControlFixture *fixture, JobId id, int64_t sequence, ArrayList *out_arrays) {
    OWN(StoredContent, content) = NULL;
    size_t size, chunk_count;
    assert_ok(stored_content_open(
        fixture->store, TENANT_DEFAULT, id, JOB_CONTENT_OUTPUT, sequence, &content));
    const uint8_t *bytes = stored_content_bytes(content, &size);
    const ChunkRef *chunks = stored_content_chunks(content, &chunk_count);
    assert_ok(array_bundle_read(bytes, size, chunks, chunk_count, NULL, CHUNK_VERIFY_SHA256,
        stored_content_source(content), UINT64_MAX, out_arrays));
}

void control_fixture_check(ControlFixture *fixture, JobId id, int64_t count, float factor) {
    for (int64_t i = 0; i < count; i++) {
        ArrayList OWN_ARRAYS(arrays) = {0};
        control_fixture_output(fixture, id, i, &arrays);
        assert_int_equal(arrays.count, 1);
        assert_string_equal(arrays.items[0].name, "y");
        assert_true(*(const float *)arrays.items[0].data == factor * (float)(2 * i + 1));
    }
}
