#include "scheduler/control/control.h"

#include <stdio.h>
#include <string.h>

#include "store/jobs/job_events.h"
#include "store/jobs/node_identity.h"
#include "store/database/store_connections_internal.h"
#include "tests/scheduler/control_fixtures.h"

/* The process ends without a word; the next one goes on from the newest checkpoint. */
static void test_control_recovers_after_its_end(void **state) {
    (void)state;
    ControlFixture OWN_CONTROL(fixture);
    JobId id, suspended;
    Job job;
    control_fixture_init(&fixture);
    control_fixture_start(&fixture, control_fixture_cpu_and_sim);
    assert_ok(control_fixture_submit(&fixture, "slow", 40, true, NULL, &id));
    control_fixture_suspended(&fixture, 60, true, &suspended);
    control_fixture_wait_outputs(&fixture, id, 2);
    Error *error = control_checkpoint(fixture.control, TENANT_DEFAULT, id);
    assert_true(!error || error_code(error) == ERROR_CONFLICT); /* a busy machine: it has ended */
    error_free(error);
    control_fixture_wait_outputs(&fixture, id, 4);
    control_fixture_stop(&fixture);
    control_fixture_start(&fixture, NULL);
    control_fixture_wait(&fixture, id, JOB_STATE_SUCCEEDED, &job);
    assert_int_equal(job.output_count, 40);
    control_fixture_check(&fixture, id, 40, 2);
    assert_ok(jobs_get(fixture.store, TENANT_DEFAULT, suspended, &job));
    assert_int_equal(job.state, JOB_STATE_SUSPENDED);
    assert_ok(control_resume(fixture.control, TENANT_DEFAULT, suspended, NULL));
    control_fixture_wait(&fixture, suspended, JOB_STATE_SUCCEEDED, &job);
    control_fixture_check(&fixture, suspended, 60, 2);
}

/* Its jobs wait until somebody says that they are this home's; each is asked for by itself. */
static void test_control_holds_the_jobs_of_a_copied_home(void **state) {
    (void)state;
    ControlFixture OWN_CONTROL(fixture);
    const Digest here = {{1}}, there = {{2}};
    NodeIdentity identity;
    ControlTenantStatus status;
    JobId ids[3];
    Job job;
    control_fixture_init(&fixture);
    control_fixture_start(&fixture, NULL);
    for (int i = 0; i < 3; i++)
        assert_ok(control_fixture_submit(&fixture, "slow", 16, true, NULL, &ids[i]));
    control_fixture_wait_outputs(&fixture, ids[0], 1);
    control_fixture_stop(&fixture);
    assert_ok(node_identity_claim(fixture.store, &here, &identity));
    assert_ok(node_identity_claim(fixture.store, &there, &identity));
    assert_int_equal(identity.jobs_held, 3);
    control_fixture_start(&fixture, NULL);
    control_get_tenant(fixture.control, TENANT_DEFAULT, &status);
    assert_int_equal(status.held, 3);
    assert_fails_saying(CONFLICT, "cannot suspend a job that is held",
        control_suspend(fixture.control, TENANT_DEFAULT, ids[0]));
    assert_ok(control_resume(fixture.control, TENANT_DEFAULT, ids[0], NULL));
    assert_ok(control_cancel(fixture.control, TENANT_DEFAULT, ids[1]));
    control_fixture_wait(&fixture, ids[0], JOB_STATE_SUCCEEDED, &job);
    control_fixture_check(&fixture, ids[0], 16, 2);
    assert_ok(jobs_get(fixture.store, TENANT_DEFAULT, ids[1], &job));
    assert_int_equal(job.state, JOB_STATE_CANCELLED);
    assert_ok(jobs_get(fixture.store, TENANT_DEFAULT, ids[2], &job));
    assert_int_equal(job.state, JOB_STATE_HELD);
}

/* ---- changed bits ---- */

typedef struct Statements {
    const char *sql;
} Statements;

/* Behind the store's back, whatever the tables allow. */
static Error *execute(Connection *catalog, void *context) {
    const Statements *statements = context;
    TRY(connection_execute(catalog, "PRAGMA ignore_check_constraints = 1"));
    Error *error = connection_execute(catalog, statements->sql);
    TRY(connection_execute(catalog, "PRAGMA ignore_check_constraints = 0"));
    return error;
}

static void run_sql(ControlFixture *fixture, const char *format, unsigned long long number) {
    char sql[512];
    (void)snprintf(sql, sizeof sql, format, number);
    Statements statements = {sql};
    assert_ok(catalog_run_directly(fixture->store, execute, &statements));
}

/* Starts, runs another job beside the damaged one, ends. Whatever became of the damaged one, the
 * other one's results are right. */
static void expect_start(ControlFixture *fixture, JobId damaged, const char *what) {
    JobId other;
    Job job;
    control_fixture_start(fixture, NULL);
    assert_ok(control_fixture_submit(fixture, "four", 2, true, NULL, &other));
    control_fixture_wait(fixture, other, JOB_STATE_SUCCEEDED, &job);
    control_fixture_check(fixture, other, 2, 4);
    if (job_id_equal(other, damaged)) fail_msg("%s", what);
    control_fixture_stop(fixture);
}

/* One bit of a blob, then another one; between two of them the catalog is as it was. */
static void flip_blob(ControlFixture *fixture, JobId id, const char *table, const char *column,
    const char *where, int step) {
    char sql[512], what[128];
    for (int bit = 0;; bit += step) {
        ByteWriter OWN_BYTES(changed) = {0};
        OWN(Connection, reader) = NULL;
        {
            assert_ok(store_borrow_reader(fixture->store, DATABASE_CATALOG, &reader));
            sqlite3_stmt *statement;
            (void)snprintf(sql, sizeof sql, "SELECT %s FROM %s WHERE %s", column, table, where);
            assert_int_equal(
                sqlite3_prepare_v2(reader->handle, sql, -1, &statement, NULL), SQLITE_OK);
            assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
            byte_write_bytes(&changed, sqlite3_column_blob(statement, 0),
                (size_t)sqlite3_column_bytes(statement, 0));
            (void)sqlite3_finalize(statement);
        }
        if ((size_t)bit / 8 >= changed.size) return;
        TextBuilder OWN_TEXT(update) = {0};
        for (int way = 0; way < 2; way++) { /* there and back */
            changed.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
            update.size = 0;
            text_appendf(&update, "UPDATE %s SET %s = x'", table, column);
            for (size_t i = 0; i < changed.size; i++)
                text_appendf(&update, "%02x", changed.data[i]);
            text_appendf(&update, "' WHERE %s", where);
            Statements statements = {text_builder_get(&update)};
            assert_ok(catalog_run_directly(fixture->store, execute, &statements));
            (void)snprintf(what, sizeof what, "%s.%s, bit %d", table, column, bit);
            if (way == 0) expect_start(fixture, id, what);
            run_sql(fixture, "UPDATE jobs SET state = 1, finished = NULL WHERE number = %llu",
                id.number);
        }
    }
}

/* A changed bit of one unfinished job keeps no other one from running; the job is held with the
 * reason, where it cannot go on. */
static void test_control_starts_whatever_bit_of_a_job_has_changed(void **state) {
    (void)state;
    ControlFixture OWN_CONTROL(fixture);
    JobId id;
    char where[64];
    control_fixture_init(&fixture);
    control_fixture_start(&fixture, NULL);
    control_fixture_suspended(&fixture, 60, true, &id);
    control_fixture_stop(&fixture);
    (void)snprintf(where, sizeof where, "number = %llu", (unsigned long long)id.number);
    flip_blob(&fixture, id, "jobs", "policy", where, 11);
    flip_blob(&fixture, id, "jobs", "identity", where, 85);
    flip_blob(&fixture, id, "contents", "bytes", "job = 1 AND kind = 1", 61);
    flip_blob(&fixture, id, "contents", "digest", "job = 1 AND kind = 3", 127);
    flip_blob(&fixture, id, "contents", "bytes", "job = 1 AND kind = 3", 61);
}

static void test_control_starts_whatever_number_of_a_job_has_changed(void **state) {
    (void)state;
    static const char *const sets[] = {"priority = 77", "priority = 300", "release = 9",
        "origin = 3", "state = 7", "items_total = NULL", "items_total = 1", "items_done = 900",
        "items_done = -1", "output_count = -5", "bytes_stored = -1", "executable = NULL",
        "submitted = -1e300", "deadline = 1e300", "epoch = -3", "node = 0", "checkpoint_last = -1",
        "policy = x''", "identity = zeroblob(32)", "model = ''"};
    ControlFixture OWN_CONTROL(fixture);
    JobId id;
    char sql[256];
    control_fixture_init(&fixture);
    control_fixture_start(&fixture, NULL);
    control_fixture_suspended(&fixture, 60, true, &id);
    control_fixture_stop(&fixture);
    run_sql(&fixture, "CREATE TABLE kept AS SELECT * FROM jobs WHERE number = %llu", id.number);
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) {
        run_sql(&fixture, "UPDATE jobs SET state = 1 WHERE id = %llu", 1);
        (void)snprintf(sql, sizeof sql, "UPDATE jobs SET %s WHERE id = 1", sets[i]);
        run_sql(&fixture, sql, 0);
        expect_start(&fixture, id, sets[i]);
        run_sql(&fixture,
            "UPDATE jobs SET (state, priority, release, origin, items_total, items_done, "
            "output_count, outputs_visible, bytes_stored, executable, submitted, finished, "
            "deadline, epoch, node, checkpoint_last, policy, identity, model) = (SELECT state, "
            "priority, release, origin, items_total, items_done, output_count, outputs_visible, "
            "bytes_stored, executable, submitted, finished, deadline, epoch, node, "
            "checkpoint_last, policy, identity, model FROM kept) WHERE id = 1",
            0);
    }
}

static void test_control_holds_a_job_that_cannot_go_on_until_it_is_cancelled(void **state) {
    (void)state;
    ControlFixture OWN_CONTROL(fixture);
    OWN(JobEventList, events) = NULL;
    JobId id;
    Job job;
    control_fixture_init(&fixture);
    control_fixture_start(&fixture, NULL);
    control_fixture_suspended(&fixture, 60, true, &id);
    control_fixture_stop(&fixture);
    run_sql(
        &fixture, "CREATE TABLE kept AS SELECT policy FROM jobs WHERE number = %llu", id.number);
    run_sql(&fixture, "UPDATE jobs SET policy = x'00' WHERE number = %llu", id.number);
    expect_start(&fixture, id, "policy");
    assert_ok(jobs_get(fixture.store, TENANT_DEFAULT, id, &job));
    assert_int_equal(job.state, JOB_STATE_HELD);
    assert_ok(job_events_list(fixture.store, TENANT_DEFAULT, id, 0, &events));
    const char *why = events->items[events->count - 1].why;
    if (!strstr(why, "cannot go on here: ") || !strstr(why, "job policy: ends early"))
        fail_msg("%s", why);
    control_fixture_start(&fixture, NULL);
    assert_fails_saying(
        CORRUPT, "job policy", control_resume(fixture.control, TENANT_DEFAULT, id, NULL));
    /* what was repaired goes on */
    run_sql(&fixture, "UPDATE jobs SET policy = (SELECT policy FROM kept) WHERE number = %llu",
        id.number);
    assert_ok(control_resume(fixture.control, TENANT_DEFAULT, id, NULL));
    control_fixture_wait(&fixture, id, JOB_STATE_SUCCEEDED, &job);
    control_fixture_check(&fixture, id, 60, 2);
    control_fixture_suspended(&fixture, 60, true, &id);
    control_fixture_stop(&fixture);
    run_sql(&fixture, "UPDATE jobs SET policy = x'00' WHERE number = %llu", id.number);
    control_fixture_start(&fixture, NULL);
    assert_ok(control_cancel(fixture.control, TENANT_DEFAULT, id));
    assert_ok(jobs_get(fixture.store, TENANT_DEFAULT, id, &job));
    assert_int_equal(job.state, JOB_STATE_CANCELLED);
}

int test_control_recovery(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_control_recovers_after_its_end),
        cmocka_unit_test(test_control_holds_the_jobs_of_a_copied_home),
        cmocka_unit_test(test_control_starts_whatever_bit_of_a_job_has_changed),
        cmocka_unit_test(test_control_starts_whatever_number_of_a_job_has_changed),
        cmocka_unit_test(test_control_holds_a_job_that_cannot_go_on_until_it_is_cancelled),
    };
    return cmocka_run_group_tests_name("control_recovery", tests, NULL, NULL);
}
