#include "store/jobs/damaged_migrations.h"

#include <string.h>

#include "store/jobs/arrivals.h"
#include "store/jobs/departures.h"
#include "tests/store/job_fixtures.h"

enum { TARGET = 2 };

static void run_sql(const TestHome *home, Store **inout_store, const char *sql) {
    char text[512];
    store_close(TAKE(*inout_store));
    (void)snprintf(text, sizeof text, "PRAGMA ignore_check_constraints = 1; %s", sql);
    fixture_run_sql(home, "catalog.db", text);
    *inout_store = fixture_open(home);
}

static JobState state_of(Store *store, JobId id) {
    return fixture_get(store, TENANT_DEFAULT, id).state;
}

static Error *move(Store *store, JobId id, JobState state) {
    return fixture_end(jobs_transition(fixture_begin(store), TENANT_DEFAULT, id, state, NULL));
}

static void expect_damage(Store *store, const char *text, bool repair, uint64_t repaired) {
    OWN(FsckResult, result) = NULL;
    const FsckOptions options = {.repair = repair};
    bool named = false;
    expect_ok(fsck_run(store, &options, &result));
    for (uint64_t i = 0; i < result->error_count; i++)
        named |= text && strstr(result->errors[i], text) != NULL;
    if (named != (text != NULL))
        fail_msg("%s: %s", text ? text : "nothing", result->error_count ? result->errors[0] : "-");
    assert_int_equal(result->repaired, repaired);
}

static JobId leave(Store *store) {
    Departure departure;
    JobId id = fixture_submit(store, TENANT_DEFAULT);
    expect_ok(fixture_end(
        departures_begin(fixture_begin(store), TENANT_DEFAULT, id, "far", TARGET, &departure)));
    return id;
}

/* Others' departures are read as ever; the job waits for a person, and its way out of `held` takes
 * the row along. */
static void test_damaged_migrations_hold_a_job_that_leaves(void **state) {
    (void)state;
    static const char *const sets[] = {"target = -5", "progress = 77", "progress = -1"};
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) {
        TestHome OWN_HOME(home) = fixture_home_make();
        OWN(Store, store) = fixture_open(&home);
        OWN(DepartureList, list) = NULL;
        char sql[128];
        JobId bad = leave(store), good = leave(store);
        (void)snprintf(sql, sizeof sql, "UPDATE departures SET %s WHERE job = 1", sets[i]);
        run_sql(&home, &store, sql);
        expect_ok(departures_list(store, &list));
        assert_int_equal(list->count, 1);
        assert_true(job_id_equal(list->items[0].job, good));
        expect_damage(store, "what is written of its migration cannot be read", true, 0);
        for (int k = 0; k < 2; k++)
            expect_ok(fixture_end(damaged_migrations_hold(fixture_begin(store))));
        assert_int_equal(state_of(store, bad), JOB_STATE_HELD);
        assert_int_equal(state_of(store, good), JOB_STATE_QUEUED);
        assert_int_equal(fixture_get(store, TENANT_DEFAULT, bad).event_count, 3);
        expect_ok(move(store, bad, JOB_STATE_QUEUED));
        assert_string_equal(fixture_get(store, TENANT_DEFAULT, bad).migrating, "");
        expect_damage(store, NULL, false, 0);
        fixture_expect_clean(store);
    }
}

/* Its target must be able to ask for ever: the row is made again from the job and the node. */
static void test_damaged_migrations_restore_where_a_job_went(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    OWN(Store, store) = fixture_open(&home);
    DepartureOutcome outcome;
    JobId id = leave(store);
    expect_ok(move(store, id, JOB_STATE_HELD));
    expect_ok(move(store, id, JOB_STATE_MOVED));
    run_sql(&home, &store, "UPDATE departures SET target = -1, progress = 9");
    expect_damage(store, "what is written of its migration", true, 0); /* the node is not known */
    run_sql(&home, &store,
        "INSERT INTO nodes (name, node, url, token, created) VALUES ('far', 2, 'u', 't', 0.0)");
    expect_damage(store, NULL, true, 1);
    expect_ok(departures_find_outcome(store, id, TARGET, 0, 1, &outcome));
    assert_int_equal(outcome, DEPARTURE_MOVED);
    expect_damage(store, NULL, false, 0);
}

static void test_damaged_migrations_hold_a_job_in_doubt(void **state) {
    (void)state;
    static const char *const damages[] = {"UPDATE arrivals SET source = -1 WHERE number = 1",
        "UPDATE arrivals SET before_state = 3 WHERE number = 1",
        "UPDATE arrivals SET number = 7 WHERE number = 1"};
    for (size_t i = 0; i < sizeof damages / sizeof *damages; i++) {
        TestHome OWN_HOME(home) = fixture_home_make();
        OWN(Store, store) = fixture_open(&home);
        OWN(ArrivalList, list) = NULL;
        JobId id = fixture_submit(store, TENANT_DEFAULT);
        run_sql(&home, &store,
            "UPDATE jobs SET state = 9, node = 9, epoch = 2; INSERT INTO arrivals VALUES (9, 1, 1, "
            "9, 1, 1, 1, 0, 0.0, NULL, NULL, NULL), (9, 2, 1, 9, 1, 1, 0, 0, 0.0, NULL, NULL, "
            "NULL)");
        id.node = 9;
        run_sql(&home, &store, damages[i]);
        expect_ok(arrivals_list(store, &list));
        assert_int_equal(list->count, i == 2 ? 2 : 1);
        expect_ok(fixture_end(damaged_migrations_hold(fixture_begin(store))));
        assert_int_equal(state_of(store, id), JOB_STATE_HELD);
        expect_ok(move(store, id, JOB_STATE_CANCELLED));
        expect_damage(store, i == 2 ? "its state and its migration do not fit" : NULL, false, 0);
    }
}

static void test_damaged_migrations_repair_what_nothing_depends_on(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    OWN(Store, store) = fixture_open(&home);
    JobId id = leave(store);
    expect_ok(move(store, id, JOB_STATE_CANCELLED));
    run_sql(&home, &store,
        "UPDATE departures SET progress = 9; INSERT INTO arrivals VALUES (9, 2, 1, -9, 1, 1, 0, 0, "
        "0.0, NULL, NULL, NULL)");
    expect_damage(store, "what is written of its way here", false, 0);
    expect_damage(store, NULL, true, 2);
    fixture_expect_clean(store);
    run_sql(&home, &store,
        "PRAGMA writable_schema = 1; UPDATE sqlite_schema SET sql = replace(sql, 'STRICT', '') "
        "WHERE name = 'verifications'");
    run_sql(&home, &store, "INSERT INTO verifications VALUES (1, 1, 'x', 0, 1)");
    expect_damage(store, "what it verifies cannot be read", false, 0);
    expect_damage(store, NULL, true, 1);
}

TEST_GROUP(damaged_migrations, cmocka_unit_test(test_damaged_migrations_hold_a_job_that_leaves),
    cmocka_unit_test(test_damaged_migrations_restore_where_a_job_went),
    cmocka_unit_test(test_damaged_migrations_hold_a_job_in_doubt),
    cmocka_unit_test(test_damaged_migrations_repair_what_nothing_depends_on))
