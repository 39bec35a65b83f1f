#include "store/jobs/departures.h"
#include "tests/store/job_fixtures.h"

enum { TARGET = 2, OTHER = 3 };

static Error *begin(Store *store, JobId id, const char *node, Departure *out) {
    return fixture_end(
        departures_begin(fixture_begin(store), TENANT_DEFAULT, id, node, TARGET, out));
}

static Error *give_up(Store *store, JobId id, int64_t attempt) {
    return fixture_end(
        departures_abort(fixture_begin(store), TENANT_DEFAULT, id, attempt, "cut off"));
}

static Error *settle(Store *store, JobId id, int64_t attempt) {
    return fixture_end(departures_end(fixture_begin(store), TENANT_DEFAULT, id, attempt));
}

static Error *move(Store *store, JobId id, JobState state) {
    return fixture_end(jobs_transition(fixture_begin(store), TENANT_DEFAULT, id, state, NULL));
}

static DepartureOutcome outcome(
    Store *store, JobId id, uint64_t target, int64_t epoch, int64_t attempt) {
    DepartureOutcome result;
    expect_ok(departures_find_outcome(store, id, target, epoch, attempt, &result));
    return result;
}

static size_t count(Store *store, Departure *out_first) {
    OWN(DepartureList, list) = NULL;
    expect_ok(departures_list(store, &list));
    if (list->count > 0) *out_first = list->items[0];
    return list->count;
}

static void test_departures_count_their_attempts(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    OWN(Store, store) = fixture_open(&home);
    JobId id = fixture_submit(store, TENANT_DEFAULT);
    Departure departure;
    for (int64_t i = 1; i <= 3; i++) {
        expect_ok(begin(store, id, "node2", &departure));
        assert_int_equal(departure.attempt, i);
        assert_string_equal(fixture_get(store, TENANT_DEFAULT, id).migrating, "node2");
        expect_error(
            begin(store, id, "node3", &departure), ERROR_CONFLICT, "migrating to node2 already");
        assert_int_equal(outcome(store, id, TARGET, 0, i), DEPARTURE_PENDING);
        assert_int_equal(outcome(store, id, OTHER, 0, i), DEPARTURE_ABORTED);
        expect_ok(give_up(store, id, i - 1)); /* another attempt's: nothing happens */
        assert_int_equal(outcome(store, id, TARGET, 0, i), DEPARTURE_PENDING);
        expect_ok(give_up(store, id, i));
        expect_ok(give_up(store, id, i));
        assert_string_equal(fixture_get(store, TENANT_DEFAULT, id).migrating, "");
        assert_int_equal(outcome(store, id, TARGET, 0, i), DEPARTURE_ABORTED);
    }
    expect_error(begin(store, id, "no/name", &departure), ERROR_INVALID, "node \"no/name\"");
    fixture_expect_clean(store);
}

/* The commit point is the tombstone: from then on the answer is "moved", for ever. */
static void test_departures_are_moved_with_the_job(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    OWN(Store, store) = fixture_open(&home);
    JobId id = fixture_submit(store, TENANT_DEFAULT);
    Departure departure, listed;
    uint64_t target;
    bool found;
    expect_ok(departures_find(store, TENANT_DEFAULT, id, &found, &departure));
    assert_false(found);
    expect_ok(begin(store, id, "node2", &departure));
    expect_error(settle(store, id, 1), ERROR_CONFLICT, "has not moved");
    expect_error(departures_find_target(store, TENANT_DEFAULT, id, &target), ERROR_CONFLICT,
        "has not moved");
    expect_ok(move(store, id, JOB_STATE_SUSPENDED)); /* somebody suspends it meanwhile */
    expect_ok(move(store, id, JOB_STATE_HELD));
    assert_int_equal(count(store, &listed), 1);
    assert_true(listed.suspended);
    expect_ok(departures_find(store, TENANT_DEFAULT, id, &found, &departure));
    assert_true(found && departure.suspended && departure.attempt == 1);
    assert_int_equal(departure.target, TARGET);
    expect_error(give_up(store, id, 1), ERROR_CONFLICT, "is held");
    expect_ok(move(store, id, JOB_STATE_MOVED));
    assert_int_equal(outcome(store, id, TARGET, 0, 1), DEPARTURE_MOVED);
    assert_int_equal(outcome(store, id, TARGET, 0, 2), DEPARTURE_ABORTED);
    expect_ok(departures_find_target(store, TENANT_DEFAULT, id, &target));
    assert_int_equal(target, TARGET);
    assert_int_equal(count(store, &listed), 1);
    assert_int_equal(listed.progress, DEPARTURE_IS_MOVED);
    assert_true(fixture_get(store, TENANT_DEFAULT, id).bytes_stored > 0);
    expect_error(give_up(store, id, 1), ERROR_CONFLICT, "can't be given up");
    expect_ok(settle(store, id, 7)); /* another attempt's */
    assert_int_equal(count(store, &listed), 1);
    expect_ok(settle(store, id, 1));
    expect_ok(settle(store, id, 1));
    assert_int_equal(count(store, &listed), 0);
    expect_ok(departures_find(store, TENANT_DEFAULT, id, &found, &departure));
    assert_true(found);
    assert_int_equal(departure.progress, DEPARTURE_IS_SETTLED);
    Job job = fixture_get(store, TENANT_DEFAULT, id);
    assert_int_equal(job.state, JOB_STATE_MOVED);
    assert_int_equal(job.bytes_stored, 0);
    assert_string_equal(job.migrating, "node2"); /* where it went */
    assert_int_equal(outcome(store, id, TARGET, 0, 1), DEPARTURE_MOVED);
    fixture_expect_clean(store);
}

static void test_departures_are_over_when_a_held_job_comes_back(void **state) {
    (void)state;
    static const JobState back[] = {JOB_STATE_QUEUED, JOB_STATE_SUSPENDED, JOB_STATE_CANCELLED};
    TestHome OWN_HOME(home) = fixture_home_make();
    OWN(Store, store) = fixture_open(&home);
    for (size_t i = 0; i < sizeof back / sizeof *back; i++) {
        JobId id = fixture_submit(store, TENANT_DEFAULT);
        Departure departure;
        expect_ok(begin(store, id, "node2", &departure));
        expect_ok(move(store, id, JOB_STATE_HELD));
        expect_ok(move(store, id, back[i]));
        assert_int_equal(outcome(store, id, TARGET, 0, 1), DEPARTURE_ABORTED);
        assert_string_equal(fixture_get(store, TENANT_DEFAULT, id).migrating, "");
        assert_int_equal(count(store, &departure), 0);
    }
    fixture_expect_clean(store);
}

static void test_departures_need_a_job_that_can_go(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    OWN(Store, store) = fixture_open(&home);
    JobId id = fixture_submit(store, TENANT_DEFAULT);
    Departure departure;
    expect_ok(move(store, id, JOB_STATE_HELD));
    expect_error(begin(store, id, "node2", &departure), ERROR_CONFLICT, "is held");
    expect_ok(move(store, id, JOB_STATE_CANCELLED));
    expect_error(begin(store, id, "node2", &departure), ERROR_CONFLICT, "is cancelled");
    assert_int_equal(outcome(store, (JobId){1, 99}, TARGET, 0, 1), DEPARTURE_ABORTED);
    fixture_expect_clean(store);
}

/* Whoever took the job over fences off the node that was believed dead. */
static void test_departures_fence_a_job_that_another_node_took(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    OWN(Store, store) = fixture_open(&home);
    JobId id = fixture_submit(store, TENANT_DEFAULT);
    Departure departure, elsewhere;
    expect_error(
        fixture_end(departures_fence(fixture_begin(store), TENANT_DEFAULT, id, "node2", TARGET)),
        ERROR_REFUSED, "node2 was never offered the job");
    expect_ok(begin(store, id, "node2", &departure));
    expect_ok(give_up(store, id, 1));
    expect_ok(fixture_end(
        departures_begin(fixture_begin(store), TENANT_DEFAULT, id, "node3", OTHER, &elsewhere)));
    assert_int_equal(outcome(store, id, TARGET, 0, 1), DEPARTURE_ABORTED);
    expect_ok(
        fixture_end(departures_fence(fixture_begin(store), TENANT_DEFAULT, id, "node2", TARGET)));
    expect_ok(move(store, id, JOB_STATE_MOVED));
    Job job = fixture_get(store, TENANT_DEFAULT, id);
    assert_string_equal(job.migrating, "node2");
    assert_int_equal(outcome(store, id, TARGET, 0, job.attempt), DEPARTURE_MOVED);
    assert_int_equal(outcome(store, id, TARGET, 0, departure.attempt), DEPARTURE_ABORTED);
    assert_int_equal(outcome(store, id, OTHER, 0, elsewhere.attempt), DEPARTURE_ABORTED);
    expect_ok(settle(store, id, job.attempt));
    expect_error(
        fixture_end(departures_fence(fixture_begin(store), TENANT_DEFAULT, id, "node2", TARGET)),
        ERROR_CONFLICT, "is moved");
    fixture_expect_clean(store);
}

TEST_GROUP(departures, cmocka_unit_test(test_departures_count_their_attempts),
    cmocka_unit_test(test_departures_are_moved_with_the_job),
    cmocka_unit_test(test_departures_are_over_when_a_held_job_comes_back),
    cmocka_unit_test(test_departures_need_a_job_that_can_go),
    cmocka_unit_test(test_departures_fence_a_job_that_another_node_took))
