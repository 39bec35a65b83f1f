#include "scheduler/migration/migrations.h"

#include "tests/scheduler/job_file_fixtures.h"
#include "tests/scheduler/migration_fixtures.h"
#include "tests/support/test_sanitizers.h"

/* Jobs that run without end, on both nodes: a sanitizer's machine has no time for many of them. */
#if defined(TEST_WITH_THREAD_SANITIZER) || defined(TEST_WITH_ADDRESS_SANITIZER)
enum { MANY = 6 };
#else
enum { MANY = 12 };
#endif
enum { ROWS = 30, TIMES = 60 };

static JobId submit(MigrationNode *node, const char *function) {
    JobId id;
    assert_ok(control_fixture_submit(&node->home, function, 3, false, NULL, &id));
    return id;
}

static Error *begin(MigrationNode *node, JobId id, const char *to) {
    MigrationStatus status;
    return migrations_begin(node->migrations, TENANT_DEFAULT, id, to, 0, &status);
}

static void test_migrations_refuse_what_cannot_begin(void **state) {
    (void)state;
    OWN_PAIR(pair) = migration_pair_open();
    MigrationStatus status;
    Job job;
    JobId ended = submit(&pair->west, "four"), id = submit(&pair->west, "forever");
    control_fixture_wait(&pair->west.home, ended, JOB_STATE_SUCCEEDED, &job);
    assert_fails_saying(CONFLICT, "succeeded", begin(&pair->west, ended, "east"));
    assert_fails_saying(NOT_FOUND, "north", begin(&pair->west, id, "north"));
    assert_fails_saying(NOT_FOUND, "west", begin(&pair->west, id, "west")); /* itself */
    assert_fails(NOT_FOUND, begin(&pair->west, (JobId){id.node, 999}, "east"));
    assert_fails(NOT_FOUND, migrations_begin(pair->west.migrations, 99, id, "east", 0, &status));
    assert_false(migrations_find(pair->west.migrations, id, &status));
    assert_ok(control_cancel(pair->west.home.control, TENANT_DEFAULT, id));
    migration_pair_check(pair);
}

/* More than go at once, and each of them once: the second wish for one is refused. */
static void test_migrations_move_many(void **state) {
    (void)state;
    OWN_PAIR(pair) = migration_pair_open();
    JobId ids[MANY];
    for (int i = 0; i < MANY; i++) ids[i] = submit(&pair->west, "forever");
    for (int i = 0; i < MANY; i++) assert_ok(begin(&pair->west, ids[i], "east"));
    Error *error = begin(&pair->west, ids[MANY - 1], "east");
    assert_int_equal(error_code(error), ERROR_CONFLICT);
    error_free(error);
    for (int i = 0; i < MANY; i++) {
        MigrationStatus status = migration_wait(&pair->west, ids[i]);
        if (status.phase != MIGRATION_MOVED) fail_msg("%s", status.error);
        assert_int_equal(migration_node_state(&pair->east, ids[i]), JOB_STATE_QUEUED);
        assert_ok(control_cancel(pair->east.home.control, TENANT_DEFAULT, ids[i]));
    }
    migration_pair_check(pair);
}

/* There and back: its tombstone makes room for it, with a later epoch each time. */
static void test_migrations_move_a_job_there_and_back(void **state) {
    (void)state;
    OWN_PAIR(pair) = migration_pair_open();
    Job job;
    JobId id;
    control_fixture_suspended(&pair->west.home, ROWS, true, &id);
    for (int i = 0; i < 4; i++) {
        MigrationNode *from = i % 2 ? &pair->east : &pair->west;
        MigrationStatus status = migration_move(from, id, i % 2 ? "west" : "east");
        if (status.phase != MIGRATION_MOVED) fail_msg("%d: %s", i, status.error);
        job = migration_node_job(i % 2 ? &pair->west : &pair->east, id);
        assert_int_equal(job.epoch, i + 1);
        assert_int_equal(job.state, JOB_STATE_SUSPENDED);
    }
    assert_ok(control_resume(pair->west.home.control, TENANT_DEFAULT, id, NULL));
    control_fixture_wait(&pair->west.home, id, JOB_STATE_SUCCEEDED, &job);
    control_fixture_check(&pair->west.home, id, ROWS, 2);
    assert_int_equal(migration_node_state(&pair->east, id), JOB_STATE_MOVED);
    TextBuilder OWN_TEXT(text) = {0};
    assert_ok(metrics_print(pair->west.home.metrics, &text));
    assert_non_null(strstr(text.data, "layover_migrations_total{outcome=\"moved\"} 2\n"));
    assert_non_null(strstr(text.data, "layover_migration_downtime_seconds_count 2\n"));
    migration_pair_check(pair);
}

/* What settles migrations that nobody works on leaves alone those that just begin. */
static void test_migrations_are_not_settled_while_they_begin(void **state) {
    (void)state;
    OWN_PAIR(pair) = migration_pair_open();
    migration_node_rest(&pair->west);
    const MigrationsOptions options = {
        .control = pair->west.home.control, .own_node = pair->west.number, .settle_pause_ns = 1};
    assert_ok(migrations_create(&options, &pair->west.migrations));
    pair->west.service.migrations = pair->west.migrations;
    for (int i = 0; i < TIMES; i++) {
        JobId id = submit(&pair->west, "forever");
        MigrationStatus status = migration_move(&pair->west, id, "east");
        if (status.phase != MIGRATION_MOVED) fail_msg("%d: %s", i, status.error);
        assert_ok(control_cancel(pair->east.home.control, TENANT_DEFAULT, id));
    }
    migration_pair_check(pair);
}

/* A job that ends, or is cancelled, while it is to move: nothing is left of the attempt. */
static void test_migrations_end_with_their_job(void **state) {
    (void)state;
    OWN_PAIR(pair) = migration_pair_open();
    for (int i = 0; i < TIMES; i++) {
        JobId id = submit(&pair->west, i % 2 ? "four" : "forever");
        Error *error = begin(&pair->west, id, "east");
        bool began = !error;
        assert_true(began || error_code(error) == ERROR_CONFLICT); /* it has ended */
        error_free(error);
        fixture_pause_ms(i % 5);
        error_free(control_cancel(pair->west.home.control, TENANT_DEFAULT, id)); /* or too late */
        MigrationStatus status = {0};
        if (began) status = migration_wait(&pair->west, id);
        bool moved = status.phase == MIGRATION_MOVED;
        if (moved) error_free(control_cancel(pair->east.home.control, TENANT_DEFAULT, id));
        JobState west = migration_node_state(&pair->west, id),
                 east = migration_node_state(&pair->east, id);
        if ((west == JOB_STATE_MOVED) != moved || (east != JOB_STATE_NONE) != moved)
            fail_msg("%d, %d: %s", west, east, status.error);
    }
    migration_pair_settle(pair);
    migration_pair_check(pair);
}

/* The process ends while they go: those that have not moved go on when it is back. */
static void test_migrations_end_with_the_process(void **state) {
    (void)state;
    OWN_PAIR(pair) = migration_pair_open();
    JobId ids[MANY];
    for (int i = 0; i < MANY; i++) ids[i] = submit(&pair->west, "forever");
    for (int i = 0; i < MANY; i++) assert_ok(begin(&pair->west, ids[i], "east"));
    fixture_pause_ms(20);
    migration_node_stop(&pair->west);
    migration_node_start(&pair->west);
    migration_pair_settle(pair);
    for (int i = 0; i < MANY; i++) {
        bool moved = migration_node_state(&pair->west, ids[i]) == JOB_STATE_MOVED;
        MigrationNode *owner = moved ? &pair->east : &pair->west;
        assert_int_equal(migration_node_state(owner, ids[i]), JOB_STATE_QUEUED);
        if (!moved) assert_int_equal(migration_node_state(&pair->east, ids[i]), JOB_STATE_NONE);
        assert_ok(control_cancel(owner->home.control, TENANT_DEFAULT, ids[i]));
    }
    migration_pair_check(pair);
}

int test_migrations(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_migrations_refuse_what_cannot_begin),
        cmocka_unit_test(test_migrations_move_many),
        cmocka_unit_test(test_migrations_move_a_job_there_and_back),
        cmocka_unit_test(test_migrations_are_not_settled_while_they_begin),
        cmocka_unit_test(test_migrations_end_with_their_job),
        cmocka_unit_test(test_migrations_end_with_the_process),
    };
    return cmocka_run_group_tests_name("migrations", tests, NULL, NULL);
}
