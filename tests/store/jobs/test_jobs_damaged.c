#include "store/jobs/jobs_damaged.h"

#include <string.h>

#include "store/accounts/tenants_internal.h"
#include "tests/store/job_fixtures.h"

/* What a changed bit may leave in a row, whatever the tables allow. */
static void damage(const TestHome *home, const char *set, JobId id) {
    char sql[512];
    (void)snprintf(sql, sizeof sql,
        "PRAGMA ignore_check_constraints = 1; PRAGMA writable_schema = 1; UPDATE jobs SET %s WHERE "
        "number = %llu",
        set, (unsigned long long)id.number);
    fixture_run_sql(home, "catalog.db", sql);
}

static void test_jobs_damaged_are_listed_as_held_and_hide_no_others(void **state) {
    (void)state;
    static const char *const sets[] = {"priority = 300", "release = 0", "items_done = 'x'",
        "bytes_stored = -1", "identity = x'00'", "origin = 9", "submitted = 'a'"};
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) {
        TestHome OWN_HOME(home) = fixture_home_make();
        OWN(Store, store) = fixture_open(&home);
        OWN(JobList, list) = NULL;
        JobPlace places[JOB_PLACES_MAX];
        size_t count;
        Job job;
        JobId bad = fixture_submit(store, TENANT_DEFAULT);
        JobId good = fixture_submit(store, TENANT_DEFAULT);
        store_close(TAKE(store));
        if (strchr(sets[i], '\'')) /* strict tables take no such value: their shape is damaged */
            continue;
        damage(&home, sets[i], bad);
        store = fixture_open(&home);
        expect_ok(jobs_list(store, TENANT_DEFAULT, JOB_STATE_NONE, 0, 10, &list));
        assert_int_equal(list->count, 2);
        assert_true(list->items[0].damaged && job_id_equal(list->items[0].id, bad));
        assert_int_equal(list->items[0].state, JOB_STATE_HELD);
        assert_false(list->items[1].damaged);
        expect_ok(jobs_list_places(store, JOB_STATE_QUEUED, 0, places, &count));
        assert_int_equal(count, 2);
        expect_error(jobs_get_at(store, places[0].row, &job), ERROR_CORRUPT, "catalog.db");
        expect_ok(jobs_get_at(store, places[1].row, &job));
        assert_true(job_id_equal(job.id, good));
        expect_error(fixture_end(jobs_hold(fixture_begin(store), places[0].row, "damaged")),
            ERROR_CORRUPT, "catalog.db");
        expect_error(fixture_end(jobs_remove_damaged(fixture_begin(store), TENANT_DEFAULT, good)),
            ERROR_CONFLICT, "is not damaged");
        expect_ok(fixture_end(jobs_remove_damaged(fixture_begin(store), TENANT_DEFAULT, bad)));
        expect_error(jobs_get(store, TENANT_DEFAULT, bad, &job), ERROR_NOT_FOUND, "no job");
        fixture_expect_clean(store); /* counted anew */
    }
}

static void test_jobs_damaged_inside_are_held_with_the_reason(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    OWN(Store, store) = fixture_open(&home);
    OWN(JobEventList, events) = NULL;
    Job job;
    JobId id = fixture_submit(store, TENANT_DEFAULT);
    expect_ok(jobs_get(store, TENANT_DEFAULT, id, &job));
    for (int i = 0; i < 2; i++) /* the second time it is held already */
        expect_ok(fixture_end(jobs_hold(fixture_begin(store), job.row, "its policy is damaged")));
    expect_ok(jobs_get(store, TENANT_DEFAULT, id, &job));
    assert_int_equal(job.state, JOB_STATE_HELD);
    expect_ok(job_events_list(store, TENANT_DEFAULT, id, 0, &events));
    assert_int_equal(events->count, 2);
    assert_string_equal(events->items[1].why, "its policy is damaged");
    fixture_expect_clean(store);
}

TEST_GROUP(jobs_damaged, cmocka_unit_test(test_jobs_damaged_are_listed_as_held_and_hide_no_others),
    cmocka_unit_test(test_jobs_damaged_inside_are_held_with_the_reason))
