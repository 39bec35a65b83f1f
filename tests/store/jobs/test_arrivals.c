#include <string.h>

#include "store/database/alive_time.h"
#include "store/jobs/arrivals.h"
#include "store/jobs/departures.h"
#include "tests/store/job_fixtures.h"

enum { SOURCE = 7 };

static Arrival example(JobId job, int64_t epoch, int64_t attempt) {
    return (Arrival){
        .job = job, .tenant = TENANT_DEFAULT, .source = SOURCE, .epoch = epoch, .attempt = attempt};
}

static Error *offer(Store *store, const Arrival *arrival) {
    return fixture_end(arrivals_offer(fixture_begin(store), arrival));
}

static Error *move(Store *store, JobId id, JobState state) {
    return fixture_end(jobs_transition(fixture_begin(store), TENANT_DEFAULT, id, state, NULL));
}

/* What a source sends of a job, stored in doubt. */
static Error *prepare(Store *store, const Digest *executable, const Arrival *arrival) {
    JobContent inputs = fixture_content(TENANT_DEFAULT, "inputs");
    JobId id;
    JobRestore restore = {.job = fixture_submission(executable, &inputs),
        .id = arrival->job,
        .vouched = true,
        .arrival = arrival};
    restore.job.state = JOB_STATE_IN_DOUBT;
    restore.job.epoch = arrival->epoch + 1;
    restore.job.origin = (JobOrigin){JOB_ORIGIN_RELEASE, arrival->job, arrival->epoch};
    return fixture_end(jobs_restore(fixture_begin(store), TENANT_DEFAULT, &restore, &id));
}

static bool give_up(Store *store, const Arrival *arrival) {
    bool removed;
    expect_ok(fixture_end(arrivals_abort(fixture_begin(store), arrival->job, arrival->source,
        arrival->epoch, arrival->attempt, &removed)));
    return removed;
}

static bool is_known(Store *store, JobId id, Arrival *out) {
    bool found;
    expect_ok(arrivals_find(store, id, &found, out));
    return found;
}

static void test_arrivals_refuse_an_older_attempt(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    OWN(Store, store) = fixture_open(&home);
    JobId id = {SOURCE, 1};
    Arrival arrival = example(id, 4, 2), found;
    expect_ok(offer(store, &arrival));
    expect_ok(offer(store, &arrival)); /* the same again */
    arrival.attempt = 1;
    expect_error(offer(store, &arrival), ERROR_CONFLICT, "attempt 1 in epoch 4 is over");
    assert_false(give_up(store, &arrival));
    assert_true(is_known(store, id, &found));
    arrival = example(id, 3, 9);
    expect_error(offer(store, &arrival), ERROR_CONFLICT, "is over");
    arrival = example(id, 4, 3);
    expect_ok(offer(store, &arrival));
    assert_true(is_known(store, id, &found));
    assert_int_equal(found.attempt, 3);
    fixture_expect_clean(store);
}

static void live(Store *store, double seconds) {
    double total_s;
    expect_ok(fixture_end(alive_time_add(fixture_begin(store), seconds, &total_s)));
}

static size_t expire(Store *store, ArrivalList **out_list) {
    arrival_list_release(TAKE(*out_list));
    expect_ok(fixture_end(arrivals_expire(fixture_begin(store), 600)));
    expect_ok(arrivals_list(store, out_list));
    return (*out_list)->count;
}

/* By the home's time alone: no calendar has a part in it. */
static void test_arrivals_expire_unless_prepared(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    OWN(Store, store) = fixture_open(&home);
    Digest executable = fixture_add_executable(store, TENANT_DEFAULT);
    OWN(ArrivalList, list) = NULL;
    Arrival old = example((JobId){SOURCE, 1}, 0, 1), fresh = example((JobId){SOURCE, 2}, 0, 1),
            late = example((JobId){SOURCE, 3}, 0, 1), prepared = example((JobId){SOURCE, 4}, 0, 1);
    double silence_s;
    live(store, 1000);
    expect_ok(offer(store, &old));
    expect_ok(offer(store, &late));
    expect_ok(offer(store, &prepared));
    expect_ok(prepare(store, &executable, &prepared));
    store_close(TAKE(store)); /* the time between two processes does not count */
    store = fixture_open(&home);
    live(store, 400);
    expect_ok(offer(store, &fresh));
    live(store, 259);
    assert_int_equal(expire(store, &list), 4); /* old, but for a second */
    assert_true(list->items[0].touched == 1000 && list->items[1].touched == 1400);
    expect_ok(arrivals_read_silence(store, &list->items[1], &silence_s));
    assert_true(silence_s == 259);
    live(store, 1);
    assert_int_equal(expire(store, &list), 4);
    fixture_run_sql(&home, "catalog.db", "UPDATE arrivals SET touched = 1e9 WHERE number = 3");
    expect_ok(offer(store, &old));             /* heard of again */
    assert_int_equal(expire(store, &list), 3); /* without the one that no such home stamped */
    live(store, 401);
    assert_int_equal(expire(store, &list), 2);
    assert_int_equal(list->items[0].job.number, 1);
    live(store, 260);
    assert_int_equal(expire(store, &list), 1);
    assert_int_equal(list->items[0].job.number, 4);
    assert_int_equal(list->items[0].progress, ARRIVAL_IS_PREPARED);
    fixture_expect_clean(store);
}

static void test_arrivals_become_a_job_in_doubt_and_then_ours(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    OWN(Store, store) = fixture_open(&home);
    Digest executable = fixture_add_executable(store, TENANT_DEFAULT);
    JobId id = {SOURCE, 1};
    Arrival arrival = example(id, 4, 2), other = example(id, 4, 1), found;
    expect_error(prepare(store, &executable, &arrival), ERROR_CONFLICT, "is not expected");
    expect_ok(offer(store, &arrival));
    expect_error(prepare(store, &executable, &other), ERROR_CONFLICT, "is not expected");
    expect_ok(prepare(store, &executable, &arrival));
    expect_error(prepare(store, &executable, &arrival), ERROR_CONFLICT, "is here already");
    Job job = fixture_get(store, TENANT_DEFAULT, id);
    assert_int_equal(job.state, JOB_STATE_IN_DOUBT);
    assert_int_equal(job.epoch, 5);
    other.attempt = 3;
    expect_error(offer(store, &other), ERROR_CONFLICT, "is prepared, attempt 2");
    expect_ok(move(store, id, JOB_STATE_QUEUED));
    assert_false(is_known(store, id, &found));
    assert_false(give_up(store, &arrival)); /* too late: nothing happens */
    assert_int_equal(fixture_get(store, TENANT_DEFAULT, id).state, JOB_STATE_QUEUED);
    expect_error(offer(store, &other), ERROR_CONFLICT, "is here already, and queued");
    fixture_expect_clean(store);
}

static void test_arrivals_that_are_given_up_leave_nothing(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    OWN(Store, store) = fixture_open(&home);
    Digest executable = fixture_add_executable(store, TENANT_DEFAULT);
    JobId id = {SOURCE, 1};
    Arrival arrival = example(id, 4, 2), found;
    Job job;
    expect_ok(offer(store, &arrival));
    assert_false(give_up(store, &arrival));
    assert_false(is_known(store, id, &found));
    expect_ok(offer(store, &arrival));
    expect_ok(prepare(store, &executable, &arrival));
    assert_true(give_up(store, &arrival));
    assert_false(is_known(store, id, &found));
    expect_error(jobs_get(store, TENANT_DEFAULT, id, &job), ERROR_NOT_FOUND, "no job");
    fixture_expect_clean(store);
}

/* There and back, and there again: the tombstone gives way to the job and comes back without it. */
static void test_arrivals_of_a_job_that_went_from_here(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    OWN(Store, store) = fixture_open(&home);
    Digest executable = fixture_add_executable(store, TENANT_DEFAULT);
    JobId id = fixture_submit(store, TENANT_DEFAULT);
    Departure departure;
    OWN(DepartureList, unsettled) = NULL;
    expect_ok(fixture_end(
        departures_begin(fixture_begin(store), TENANT_DEFAULT, id, "node7", SOURCE, &departure)));
    expect_ok(move(store, id, JOB_STATE_HELD));
    expect_ok(move(store, id, JOB_STATE_MOVED));
    Arrival stale = example(id, 0, 1), back = example(id, 1, 1);
    expect_error(offer(store, &stale), ERROR_CONFLICT, "went from here in epoch 0");
    expect_ok(offer(store, &back));
    expect_ok(prepare(store, &executable, &back));
    expect_ok(departures_list(store, &unsettled)); /* who sends it has owned it */
    assert_int_equal(unsettled->count, 0);
    assert_true(give_up(store, &back));
    Job job = fixture_get(store, TENANT_DEFAULT, id);
    assert_int_equal(job.state, JOB_STATE_MOVED);
    assert_int_equal(job.epoch, 0);
    assert_string_equal(job.migrating, "node7");
    assert_int_equal(job.bytes_stored, 0);
    fixture_expect_clean(store);
    back.attempt = 2;
    expect_ok(offer(store, &back));
    expect_ok(prepare(store, &executable, &back));
    expect_ok(move(store, id, JOB_STATE_SUSPENDED));
    job = fixture_get(store, TENANT_DEFAULT, id);
    assert_int_equal(job.epoch, 2);
    assert_string_equal(job.migrating, "");
    fixture_expect_clean(store);
}

/* The source is to be told, also after a restart; whoever gives up too late changes nothing. */
static void test_arrivals_that_are_adopted_stay_until_the_source_knows(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    OWN(Store, store) = fixture_open(&home);
    Digest executable = fixture_add_executable(store, TENANT_DEFAULT);
    Arrival arrival = example((JobId){SOURCE, 1}, 4, 2), found;
    expect_ok(offer(store, &arrival));
    expect_error(fixture_end(arrivals_adopt(fixture_begin(store), arrival.job)), ERROR_CONFLICT,
        "is not in doubt");
    expect_ok(prepare(store, &executable, &arrival));
    expect_ok(fixture_end(arrivals_adopt(fixture_begin(store), arrival.job)));
    expect_ok(move(store, arrival.job, JOB_STATE_QUEUED));
    assert_true(is_known(store, arrival.job, &found));
    assert_int_equal(found.progress, ARRIVAL_IS_ADOPTED);
    assert_false(give_up(store, &arrival));
    assert_int_equal(fixture_get(store, TENANT_DEFAULT, arrival.job).state, JOB_STATE_QUEUED);
    expect_ok(fixture_end(arrivals_forget(fixture_begin(store), arrival.job)));
    assert_false(is_known(store, arrival.job, &found));
    fixture_expect_clean(store);
}

TEST_GROUP(arrivals, cmocka_unit_test(test_arrivals_refuse_an_older_attempt),
    cmocka_unit_test(test_arrivals_expire_unless_prepared),
    cmocka_unit_test(test_arrivals_become_a_job_in_doubt_and_then_ours),
    cmocka_unit_test(test_arrivals_that_are_given_up_leave_nothing),
    cmocka_unit_test(test_arrivals_that_are_adopted_stay_until_the_source_knows),
    cmocka_unit_test(test_arrivals_of_a_job_that_went_from_here))
