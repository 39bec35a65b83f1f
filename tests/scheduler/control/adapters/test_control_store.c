#include "scheduler/control/adapters/control_store.h"

#include <math.h>
#include <semaphore.h>
#include <string.h>

#include "base/allocator.h"
#include "tests/scheduler/control_fixtures.h"

/* The port without a control thread: messages are handled by whoever waits for them. */
typedef struct StoreBench {
    ControlFixture fixture;
    MessageQueue queue;
    ControlOptions options;
    IoPool *io;
    ControlStore *store;
    ControlStorePort port;
    JobId job; /* suspended, of the fixture's own control thread */
    int done;
} StoreBench;

static void post(void *self, Message *message) { message_queue_post(self, message); }

static void begin(StoreBench *bench) {
    *bench = (StoreBench){0};
    control_fixture_init(&bench->fixture);
    control_fixture_start(&bench->fixture, NULL);
    control_fixture_suspended(&bench->fixture, 20, true, &bench->job);
    control_fixture_stop(&bench->fixture); /* nobody else writes */
    assert_ok(message_queue_init(&bench->queue));
    assert_ok(io_pool_create(1, &bench->io));
    bench->options = (ControlOptions){.store = bench->fixture.store,
        .catalog = bench->fixture.catalog,
        .settings = bench->fixture.settings};
    assert_ok(control_store_create(&bench->options, bench->io,
        (ControlMailbox){.post = post, .self = &bench->queue}, &bench->store));
    bench->port = control_store_get_port(bench->store);
}

static void end(StoreBench *bench) {
    io_pool_release(bench->io);
    control_store_finish(bench->store);
    control_store_release(bench->store);
    message_queue_deinit(&bench->queue);
    control_fixture_deinit(&bench->fixture);
}

/* The context of the bench's messages: the port hands it on as the control. */
static void count_commit(struct Control *control, StoreCommit *commit) {
    (void)commit;
    ((StoreBench *)(void *)control)->done++;
}

static void count_birth(struct Control *control, StoreBirth *birth) {
    (void)birth;
    ((StoreBench *)(void *)control)->done++;
}

static void await(StoreBench *bench, int done) {
    while (bench->done < done) {
        message_queue_handle(&bench->queue, bench);
        fixture_pause_ms(1);
    }
}

static StoreCommit ending_of(const StoreBench *bench, JobState state) {
    return (StoreCommit){.done = count_commit,
        .tenant = TENANT_DEFAULT,
        .id = bench->job,
        .state = state,
        .started = NAN,
        .device_seconds = 2};
}

/* What is ordered is durable when it comes back, and comes back on the caller's thread alone. */
static void test_control_store_commits_and_tells(void **state) {
    (void)state;
    StoreBench bench;
    Job before, after;
    begin(&bench);
    const ControlStorePort *port = &bench.port;
    assert_ok(port->get(port->self, TENANT_DEFAULT, bench.job, &before));
    assert_int_equal(before.state, JOB_STATE_SUSPENDED);
    StoreCommit commit = ending_of(&bench, JOB_STATE_CANCELLED);
    commit.epoch = before.epoch;
    assert_ok(port->commit(port->self, &commit));
    assert_int_equal(bench.done, 0); /* never during the call */
    await(&bench, 1);
    assert_ok(commit.error);
    assert_ok(port->get(port->self, TENANT_DEFAULT, bench.job, &after));
    assert_int_equal(after.state, JOB_STATE_CANCELLED);
    port->set_time(port->self, TENANT_DEFAULT, bench.job, 7.5);
    control_store_finish(bench.store);
    assert_ok(port->get(port->self, TENANT_DEFAULT, bench.job, &after));
    assert_true(after.device_seconds == 7.5);
    assert_ok(port->check(port->self));
    end(&bench);
}

/* A commit of another epoch is refused, in its error and not by the order. */
static void test_control_store_tells_what_could_not_be_stored(void **state) {
    (void)state;
    StoreBench bench;
    begin(&bench);
    const ControlStorePort *port = &bench.port;
    StoreCommit commit = ending_of(&bench, JOB_STATE_CANCELLED);
    commit.id.number += 1000;
    assert_ok(port->commit(port->self, &commit));
    await(&bench, 1);
    assert_fails(NOT_FOUND, commit.error);
    const JobContent nothing = {0};
    StoreBirth birth = {.done = count_birth,
        .tenant = TENANT_DEFAULT,
        .submission = {.model = "absent", .inputs = &nothing, .deadline = NAN, .items_total = -1}};
    assert_ok(port->birth(port->self, &birth));
    await(&bench, 2);
    assert_non_null(birth.error);
    error_free(birth.error);
    end(&bench);
}

/* Everything that the logic reads of a job that is not in memory. */
static void test_control_store_reads_rows_models_and_tenants(void **state) {
    (void)state;
    StoreBench bench;
    Job job, same;
    StoreModel model;
    StorePast past;
    Tenant tenant;
    ByteWriter OWN_BYTES(policy) = {0};
    OWN(TenantList, tenants) = NULL;
    char name[JOB_ID_TEXT_SIZE], expected[JOB_ID_TEXT_SIZE];
    void *memory;
    size_t count;
    begin(&bench);
    const ControlStorePort *port = &bench.port;
    assert_ok(memory_alloc(JOB_PLACES_MAX, sizeof(JobPlace), &memory));
    JobPlace *places = memory;
    assert_ok(port->list_places(port->self, JOB_STATE_SUSPENDED, 0, places, &count));
    assert_int_equal(count, 1);
    assert_ok(port->get_at(port->self, places[0].row, &job));
    assert_ok(port->get(port->self, TENANT_DEFAULT, bench.job, &same));
    assert_int_equal(job.row, same.row);
    port->name_at(port->self, places[0].row, name);
    job_id_print(bench.job, expected);
    assert_string_equal(name, expected);
    assert_ok(port->get_policy(port->self, TENANT_DEFAULT, bench.job, &policy));
    assert_true(policy.size > 0);
    assert_ok(port->find_past(port->self, TENANT_DEFAULT, bench.job, &past));
    assert_true(past.suspended);
    assert_false(past.missed);
    assert_ok(port->find_model(port->self, TENANT_DEFAULT, &job.executable, &model));
    assert_false(model.device_strings);
    assert_fails(NOT_FOUND, port->find_model(port->self, TENANT_DEFAULT, &(Digest){{1}}, &model));
    assert_ok(port->get_tenant(port->self, TENANT_DEFAULT, &tenant));
    assert_ok(port->list_tenants(port->self, &tenants));
    assert_int_equal(tenants->count, 1);
    assert_ok(port->hold_at(port->self, places[0].row, "a test"));
    assert_ok(port->get_at(port->self, places[0].row, &job));
    assert_int_equal(job.state, JOB_STATE_HELD);
    assert_ok(port->cancel(port->self, TENANT_DEFAULT, bench.job));
    assert_ok(port->get_at(port->self, places[0].row, &job));
    assert_int_equal(job.state, JOB_STATE_CANCELLED);
    memory_free(memory);
    end(&bench);
}

int test_control_store(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_control_store_commits_and_tells),
        cmocka_unit_test(test_control_store_tells_what_could_not_be_stored),
        cmocka_unit_test(test_control_store_reads_rows_models_and_tenants),
    };
    return cmocka_run_group_tests_name("control_store", tests, NULL, NULL);
}
