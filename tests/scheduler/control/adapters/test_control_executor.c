#include "scheduler/control/adapters/control_executor.h"

#include <string.h>

#include "tests/scheduler/control_fixtures.h"

/* The port without a control thread: messages are handled by whoever waits for them. */
typedef struct ExecutorBench {
    ControlFixture fixture;
    MessageQueue queue;
    ControlOptions options;
    ControlExecutor *executor;
    ControlExecutorPort port;
    JobId job; /* suspended, with a checkpoint */
    Job row;
    JobPolicy policy;
    JobHold hold;
    int tasks, slices;
} ExecutorBench;

static void post(void *self, Message *message) { message_queue_post(self, message); }

static void note_slice(void *context, Message *message) {
    (void)message;
    ((ExecutorBench *)context)->slices++;
}

static void note_task(struct Control *control, ExecutorTask *task) {
    (void)task;
    ((ExecutorBench *)(void *)control)->tasks++;
}

static void begin(ExecutorBench *bench) {
    ByteWriter OWN_BYTES(policy) = {0};
    *bench = (ExecutorBench){.hold = {.slice_ended.handle = note_slice}};
    control_fixture_init(&bench->fixture);
    control_fixture_start(&bench->fixture, NULL);
    control_fixture_suspended(&bench->fixture, 20, true, &bench->job);
    control_fixture_stop(&bench->fixture);
    assert_ok(jobs_get(bench->fixture.store, TENANT_DEFAULT, bench->job, &bench->row));
    assert_ok(jobs_get_policy(bench->fixture.store, TENANT_DEFAULT, bench->job, &policy));
    assert_ok(job_policy_read(policy.data, policy.size, &bench->policy));
    assert_ok(message_queue_init(&bench->queue));
    bench->options = (ControlOptions){.store = bench->fixture.store,
        .catalog = bench->fixture.catalog,
        .settings = bench->fixture.settings};
    assert_ok(control_executor_create(
        &bench->options, (ControlMailbox){.post = post, .self = &bench->queue}, &bench->executor));
    bench->port = control_executor_get_port(bench->executor);
}

static void end(ExecutorBench *bench) {
    bench->port.close(bench->port.self, &bench->hold);
    control_outputs_deinit(&bench->hold.outputs);
    control_executor_finish(bench->executor);
    control_executor_release(bench->executor);
    message_queue_deinit(&bench->queue);
    job_policy_deinit(&bench->policy);
    control_fixture_deinit(&bench->fixture);
}

static void await(ExecutorBench *bench, const int *counter, int count) {
    while (*counter < count) {
        message_queue_handle(&bench->queue, bench);
        fixture_pause_ms(1);
    }
}

static ExecutorTask task_of(ExecutorBench *bench, ExecutorTaskKind kind) {
    return (ExecutorTask){.done = note_task,
        .kind = kind,
        .hold = &bench->hold,
        .tenant = TENANT_DEFAULT,
        .id = bench->job,
        .policy = &bench->policy,
        .identity = bench->row.executable,
        .grant_bytes = UINT64_MAX,
        .limits = {.host_bytes = UINT64_C(1) << 30, .depth = 1000},
        .has_checkpoint = true};
}

static void do_task(ExecutorBench *bench, ExecutorTask *task) {
    const int before = bench->tasks;
    assert_ok(bench->port.post(bench->port.self, task));
    assert_int_equal(bench->tasks, before); /* never during the call */
    await(bench, &bench->tasks, before + 1);
    assert_ok(task->error);
}

/* A stored job is opened on a device, leaves it, comes back and runs to its end. */
static void test_control_executor_opens_moves_and_runs_a_job(void **state) {
    (void)state;
    ExecutorBench bench;
    ExecutorDevice device;
    ExecutorInputs inputs;
    JobSnapshot snapshot;
    begin(&bench);
    const ControlExecutorPort *port = &bench.port;
    assert_true(port->host_bytes > 0);
    assert_ok(port->add_device(port->self, "cpu", false, &device));
    assert_string_equal(device.kind, "cpu");
    assert_true(device.host_memory);
    assert_false(port->find_inputs(port->self, &bench.hold, &inputs));
    assert_null(port->get_kernel(port->self, &bench.hold).name);
    ExecutorTask task = task_of(&bench, EXECUTOR_OPEN);
    do_task(&bench, &task);
    assert_int_equal(port->items_done(port->self, &bench.hold), bench.row.items_done);
    task = task_of(&bench, EXECUTOR_LEAVE_TO_HOST);
    do_task(&bench, &task);
    assert_null(bench.hold.residency);
    task = task_of(&bench, EXECUTOR_ENTER_FROM_HOST);
    do_task(&bench, &task);
    assert_non_null(bench.hold.residency);
    assert_ok(port->take_snapshot(port->self, &bench.hold, &snapshot));
    assert_int_equal(snapshot.items_done, bench.row.items_done);
    job_snapshot_deinit(&snapshot);
    port->run(port->self, &bench.hold, 0, UINT64_MAX);
    await(&bench, &bench.slices, 1);
    assert_ok(bench.hold.slice.error);
    assert_int_equal(bench.hold.slice.result.outcome, JOB_RUN_FINISHED);
    assert_int_equal(port->items_done(port->self, &bench.hold), 20);
    assert_true(bench.hold.outputs.count > 0);
    assert_true(port->get_counters(port->self, &bench.hold).instructions > 0);
    end(&bench);
}

/* A slice that is asked to end ends before the job has. */
static void test_control_executor_ends_slices_as_asked(void **state) {
    (void)state;
    ExecutorBench bench;
    ExecutorDevice device;
    begin(&bench);
    const ControlExecutorPort *port = &bench.port;
    assert_ok(port->add_device(port->self, "cpu", false, &device));
    ExecutorTask task = task_of(&bench, EXECUTOR_OPEN);
    do_task(&bench, &task);
    port->run(port->self, &bench.hold, 0, UINT64_MAX);
    port->request(port->self, &bench.hold, EXECUTOR_ABANDON, 0);
    await(&bench, &bench.slices, 1);
    assert_ok(bench.hold.slice.error);
    assert_int_equal(bench.hold.slice.result.outcome, JOB_RUN_SLICE_ENDED);
    port->run(port->self, &bench.hold, 0, UINT64_MAX);
    port->request(port->self, &bench.hold, EXECUTOR_DISCARD, 0);
    await(&bench, &bench.slices, 2);
    if (bench.hold.slice.error) { /* it was in a kernel */
        assert_fails(ABANDONED, bench.hold.slice.error);
        bench.hold.slice.error = NULL;
    } else
        assert_int_equal(bench.hold.slice.result.outcome, JOB_RUN_SLICE_ENDED);
    end(&bench);
}

/* A device is closed and opened anew; in between it is lost to whoever asks. */
static void test_control_executor_closes_and_opens_devices(void **state) {
    (void)state;
    ExecutorBench bench;
    ExecutorDevice device;
    DeviceMemory memory;
    begin(&bench);
    const ControlExecutorPort *port = &bench.port;
    assert_ok(port->add_device(port->self, "sim:0", true, &device));
    assert_true(device.speed > 0);
    assert_fails_saying(USAGE, "already", port->add_device(port->self, "sim:0", true, &device));
    assert_ok(port->get_memory(port->self, 0, &memory));
    ExecutorTask closing = {.done = note_task, .kind = EXECUTOR_CLOSE_DEVICE};
    do_task(&bench, &closing);
    assert_fails(DEVICE_LOST, port->get_memory(port->self, 0, &memory));
    ExecutorTask opening = {.done = note_task, .kind = EXECUTOR_OPEN_DEVICE};
    do_task(&bench, &opening);
    assert_true(opening.device_bytes > 0);
    assert_ok(port->get_memory(port->self, 0, &memory));
    assert_int_equal(memory.total_bytes, opening.device_bytes);
    end(&bench);
}

int test_control_executor(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_control_executor_opens_moves_and_runs_a_job),
        cmocka_unit_test(test_control_executor_ends_slices_as_asked),
        cmocka_unit_test(test_control_executor_closes_and_opens_devices),
    };
    return cmocka_run_group_tests_name("control_executor", tests, NULL, NULL);
}
