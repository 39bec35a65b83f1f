#include <string.h>

#include "tests/store/job_fixtures.h"

static Error *move(Store *store, JobId id, JobState state, const char *why) {
    return fixture_end(jobs_transition(fixture_begin(store), TENANT_DEFAULT, id, state, why));
}

static void test_jobs_transition_writes_state_and_event_together(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    OWN(Store, store) = fixture_open(&home);
    OWN(JobEventList, events) = NULL;
    JobId id = fixture_submit(store, TENANT_DEFAULT);
    expect_ok(move(store, id, JOB_STATE_SUSPENDED, "by hand"));
    expect_ok(move(store, id, JOB_STATE_QUEUED, NULL));
    assert_true(isnan(fixture_get(store, TENANT_DEFAULT, id).finished));
    expect_ok(move(store, id, JOB_STATE_SUCCEEDED, "done"));
    assert_true(fixture_get(store, TENANT_DEFAULT, id).finished > 1e9);
    expect_ok(job_events_list(store, TENANT_DEFAULT, id, 0, &events));
    static const char *const why[] = {"submitted", "by hand", "", "done"};
    static const JobState states[] = {
        JOB_STATE_QUEUED, JOB_STATE_SUSPENDED, JOB_STATE_QUEUED, JOB_STATE_SUCCEEDED};
    assert_int_equal(events->count, 4);
    for (size_t i = 0; i < 4; i++) {
        assert_string_equal(events->items[i].why, why[i]);
        assert_int_equal(events->items[i].state, states[i]);
        assert_int_equal(events->items[i].kind, JOB_EVENT_STATE);
    }
}

/* Every pair of states: what the table does not allow is refused, and changes nothing. */
static void test_jobs_transition_takes_only_ways_of_the_table(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    OWN(Store, store) = fixture_open(&home);
    JobId id = fixture_submit(store, TENANT_DEFAULT);
    for (int from = 1; from < JOB_STATE_COUNT; from++)
        for (int to = 1; to < JOB_STATE_COUNT; to++) {
            char sql[80];
            (void)snprintf(sql, sizeof sql, "UPDATE jobs SET state = %d", from);
            fixture_run_sql(&home, "catalog.db", sql);
            Error *error = move(store, id, (JobState)to, NULL);
            bool allowed = job_state_allows((JobState)from, (JobState)to);
            JobState now = fixture_get(store, TENANT_DEFAULT, id).state;
            assert_int_equal(now, allowed ? to : from);
            if (allowed)
                expect_ok(error);
            else
                expect_error(error, ERROR_CONFLICT, job_state_info((JobState)from)->name);
        }
}

static void test_jobs_that_have_ended_do_not_change(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    OWN(Store, store) = fixture_open(&home);
    JobId id = fixture_submit(store, TENANT_DEFAULT);
    JobProgress progress = {3, NAN, NAN, NULL};
    int64_t number;
    expect_ok(move(store, id, JOB_STATE_CANCELLED, NULL));
    expect_error(move(store, id, JOB_STATE_CANCELLED, NULL), ERROR_CONFLICT, "is cancelled");
    expect_error(fixture_add_output(store, id, 0, "late"), ERROR_CONFLICT, "is cancelled");
    expect_error(
        fixture_add_checkpoint(store, id, "late", 1, 0, 1, &number), ERROR_CONFLICT, "cancelled");
    expect_error(
        fixture_end(jobs_set_progress(fixture_begin(store), TENANT_DEFAULT, id, &progress)),
        ERROR_CONFLICT, "is cancelled");
    /* But a note may still be made of it. */
    expect_ok(fixture_end(jobs_add_note(fixture_begin(store), TENANT_DEFAULT, id, "fetched")));
    fixture_expect_clean(store);
}

static void test_jobs_device_time_of_an_ended_job_only_grows(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    OWN(Store, store) = fixture_open(&home);
    JobId id = fixture_submit(store, TENANT_DEFAULT), absent = {id.node, id.number + 1};
    expect_ok(fixture_end(
        jobs_transition(fixture_begin(store), TENANT_DEFAULT, id, JOB_STATE_CANCELLED, NULL)));
    expect_ok(fixture_end(jobs_set_device_seconds(fixture_begin(store), TENANT_DEFAULT, id, 1.5)));
    expect_ok(fixture_end(jobs_set_device_seconds(fixture_begin(store), TENANT_DEFAULT, id, 0.5)));
    Job job = fixture_get(store, TENANT_DEFAULT, id);
    assert_true(job.device_seconds == 1.5 && job.state == JOB_STATE_CANCELLED);
    expect_error(
        fixture_end(jobs_set_device_seconds(fixture_begin(store), TENANT_DEFAULT, absent, 1)),
        ERROR_NOT_FOUND, "");
    fixture_expect_clean(store);
}

static void test_jobs_set_progress_keeps_what_is_not_given(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    OWN(Store, store) = fixture_open(&home);
    JobId id = fixture_submit(store, TENANT_DEFAULT);
    JobProgress progress = {4, 1.5, 2e9, "cpu"}, nothing = {-1, NAN, NAN, NULL},
                back = {2, 1.75, NAN, NULL};
    const JobProgress *const steps[] = {&progress, &nothing, &back};
    for (size_t i = 0; i < 3; i++)
        expect_ok(
            fixture_end(jobs_set_progress(fixture_begin(store), TENANT_DEFAULT, id, steps[i])));
    Job job = fixture_get(store, TENANT_DEFAULT, id);
    assert_int_equal(job.items_done, 4); /* never back */
    assert_true(job.device_seconds == 1.75 && job.started == 2e9);
    assert_string_equal(job.device, "cpu");
    assert_int_equal(job.event_count, 1);
    progress.items_done = 11;
    expect_error(
        fixture_end(jobs_set_progress(fixture_begin(store), TENANT_DEFAULT, id, &progress)),
        ERROR_INVALID, "11 items done, the job has 10");
    char name[80];
    memset(name, 'd', sizeof name - 1);
    name[sizeof name - 1] = 0;
    nothing.device = name;
    expect_error(fixture_end(jobs_set_progress(fixture_begin(store), TENANT_DEFAULT, id, &nothing)),
        ERROR_INVALID, "too long");
}

/* Whoever lost the job to another node writes nothing of it any more. */
static void test_jobs_apply_refuses_another_epoch(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    OWN(Store, store) = fixture_open(&home);
    JobId id = fixture_submit(store, TENANT_DEFAULT);
    JobChanges changes = {
        .progress = {.items_done = 1, .device_seconds = NAN, .started = NAN}, .new_epoch = 4};
    expect_ok(fixture_end(jobs_apply(fixture_begin(store), TENANT_DEFAULT, id, &changes)));
    assert_int_equal(fixture_get(store, TENANT_DEFAULT, id).epoch, 4);
    changes.new_epoch = 0;
    changes.progress.items_done = 2;
    expect_error(fixture_end(jobs_apply(fixture_begin(store), TENANT_DEFAULT, id, &changes)),
        ERROR_CONFLICT, "is in epoch 4, not 0");
    assert_int_equal(fixture_get(store, TENANT_DEFAULT, id).items_done, 1);
    changes.epoch = 4;
    expect_ok(fixture_end(jobs_apply(fixture_begin(store), TENANT_DEFAULT, id, &changes)));
    assert_int_equal(fixture_get(store, TENANT_DEFAULT, id).items_done, 2);
    fixture_expect_clean(store);
}

TEST_GROUP(jobs_change, cmocka_unit_test(test_jobs_transition_writes_state_and_event_together),
    cmocka_unit_test(test_jobs_transition_takes_only_ways_of_the_table),
    cmocka_unit_test(test_jobs_that_have_ended_do_not_change),
    cmocka_unit_test(test_jobs_device_time_of_an_ended_job_only_grows),
    cmocka_unit_test(test_jobs_set_progress_keeps_what_is_not_given),
    cmocka_unit_test(test_jobs_apply_refuses_another_epoch))
