#include <string.h>

#include "store/models/models.h"
#include "store/upkeep/removals.h"
#include "store/database/row_costs.h"
#include "tests/store/job_fixtures.h"

static void test_job_events_are_read_since_a_number(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    OWN(Store, store) = fixture_open(&home);
    JobId id = fixture_submit(store, TENANT_DEFAULT);
    for (int i = 0; i < 4; i++)
        expect_ok(fixture_end(jobs_add_note(fixture_begin(store), TENANT_DEFAULT, id, "tick")));
    for (int64_t since = 0; since <= 6; since++) {
        OWN(JobEventList, list) = NULL;
        expect_ok(job_events_list(store, TENANT_DEFAULT, id, since, &list));
        assert_int_equal(list->count, since < 5 ? 5 - since : 0);
        if (list->count > 0) assert_int_equal(list->items[0].sequence, since + 1);
    }
}

/* Nobody waits for a list without an end: the rest is asked for with the last number. */
static void test_job_events_come_in_pieces(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    OWN(Store, store) = fixture_open(&home);
    JobId id = fixture_submit(store, TENANT_DEFAULT);
    Connection *catalog = fixture_begin(store);
    for (int i = 0; i < JOB_EVENTS_READ_MAX + 4; i++)
        expect_ok(jobs_add_note(catalog, TENANT_DEFAULT, id, NULL));
    expect_ok(fixture_end(NULL));
    OWN(JobEventList, first) = NULL;
    OWN(JobEventList, second) = NULL;
    expect_ok(job_events_list(store, TENANT_DEFAULT, id, 0, &first));
    assert_int_equal(first->count, JOB_EVENTS_READ_MAX);
    int64_t last = first->items[first->count - 1].sequence;
    expect_ok(job_events_list(store, TENANT_DEFAULT, id, last, &second));
    assert_int_equal(second->count, 5);
}

static void test_job_events_cut_long_reasons_between_letters(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    OWN(Store, store) = fixture_open(&home);
    OWN(JobEventList, list) = NULL;
    char why[2 * JOB_WHY_SIZE];
    JobId id = fixture_submit(store, TENANT_DEFAULT);
    for (size_t i = 0; i < sizeof why - 2; i += 2) memcpy(why + i, "\xc3\xa4", 3);
    expect_ok(fixture_end(jobs_add_note(fixture_begin(store), TENANT_DEFAULT, id, why)));
    expect_ok(job_events_list(store, TENANT_DEFAULT, id, 1, &list));
    size_t size = strlen(list->items[0].why);
    assert_int_equal(size, JOB_WHY_SIZE - 2);
    assert_true(text_is_utf8(list->items[0].why, size));
    assert_int_equal(list->items[0].kind, JOB_EVENT_NOTE);
}

/* ---- bounded ---- */

static int64_t count_rows(const TestHome *home) {
    return fixture_read_sql(home, "catalog.db", "SELECT count(*) FROM job_events");
}

static uint64_t stored(Store *store) {
    Tenant tenant;
    expect_ok(tenants_get(store, TENANT_DEFAULT, &tenant));
    return tenant.bytes_stored;
}

/* Suspended and resumed so often, in one transaction. */
static Error *turn(Store *store, JobId id, int turns) {
    Error *error = NULL;
    Connection *catalog = fixture_begin(store);
    for (int i = 0; i < turns && !error; i++) {
        error = jobs_transition(catalog, TENANT_DEFAULT, id, JOB_STATE_SUSPENDED, "on request");
        if (!error)
            error = jobs_transition(catalog, TENANT_DEFAULT, id, JOB_STATE_QUEUED, "resumed");
    }
    return fixture_end(error);
}

static Error *tell(Store *store, JobId id, JobEventKind kind, char *why) {
    const JobTelling telling = {.kind = kind, .why = why};
    const JobChanges changes = {
        .progress = {.device_seconds = NAN, .started = NAN}, .tellings = &telling};
    return fixture_end(jobs_apply(fixture_begin(store), TENANT_DEFAULT, id, &changes));
}

static const JobEvent *find_kind(const JobEventList *list, JobEventKind kind) {
    const JobEvent *found = NULL;
    for (size_t i = 0; i < list->count; i++)
        if (list->items[i].kind == kind) {
            assert_null(found);
            found = &list->items[i];
        }
    assert_non_null(found);
    return found;
}

/* A job that is suspended and resumed without end has a bounded number of events: the first and the
 * newest, and what a daemon looks for when it starts. They cost what they take, and go with it. */
static void test_job_events_in_the_middle_are_left_out(void **state) {
    (void)state;
    enum { TURNS = 3000, ALL = 2 * TURNS + 10 };
    char late[] = "late";
    TestHome OWN_HOME(home) = fixture_home_make();
    OWN(Store, store) = fixture_open(&home);
    JobId id = fixture_submit(store, TENANT_DEFAULT);
    const uint64_t before = stored(store);
    for (int i = 0; i < 8; i++)
        expect_ok(fixture_end(jobs_add_note(fixture_begin(store), TENANT_DEFAULT, id, "tick")));
    assert_int_equal(stored(store), before + ROW_COST_EVENT + 4);
    expect_ok(tell(store, id, JOB_EVENT_DEADLINE, late));
    expect_ok(turn(store, id, TURNS));
    assert_int_equal(fixture_get(store, TENANT_DEFAULT, id).event_count, ALL);
    assert_in_range(count_rows(&home), JOB_EVENTS_NEWEST, JOB_EVENTS_NEWEST + 80);
    fixture_expect_clean(store);
    OWN(JobEventList, list) = NULL;
    expect_ok(job_events_list(store, TENANT_DEFAULT, id, 0, &list));
    for (int i = 0; i < JOB_EVENTS_PAID; i++) assert_int_equal(list->items[i].sequence, i + 1);
    assert_int_equal(find_kind(list, JOB_EVENT_DEADLINE)->sequence, 10);
    assert_int_equal(list->items[JOB_EVENTS_PAID + 1].state, JOB_STATE_SUSPENDED);
    const JobEvent *left_out = find_kind(list, JOB_EVENT_LEFT_OUT);
    char why[JOB_WHY_SIZE];
    (void)snprintf(why, sizeof why, "%lld events are left out here",
        (long long)left_out->sequence - JOB_EVENTS_PAID - 2);
    assert_string_equal(left_out->why, why);
    assert_int_equal(ALL - left_out->sequence, count_rows(&home) - JOB_EVENTS_PAID - 3);
    expect_ok(fixture_end(
        jobs_transition(fixture_begin(store), TENANT_DEFAULT, id, JOB_STATE_CANCELLED, "enough")));
    expect_ok(fixture_end(jobs_remove(fixture_begin(store), TENANT_DEFAULT, id)));
    const atomic_bool never = false;
    expect_ok(removals_run(store, &never));
    expect_ok(models_remove(store, TENANT_DEFAULT, "m", NULL));
    assert_int_equal(stored(store), 0);
    fixture_expect_clean(store);
}

/* Where the quota is used up, events are stored all the same, in the place of older ones. */
static void test_job_events_take_no_room_beyond_the_quota(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    OWN(Store, store) = fixture_open(&home);
    JobId id = fixture_submit(store, TENANT_DEFAULT);
    expect_ok(turn(store, id, 200));
    assert_int_equal(count_rows(&home), 401);
    const uint64_t before = stored(store);
    expect_ok(fixture_end(
        tenants_set_quota(fixture_begin(store), TENANT_DEFAULT, QUOTA_STORE_BYTES, 1000)));
    expect_ok(turn(store, id, 2000));
    expect_ok(fixture_end(
        jobs_transition(fixture_begin(store), TENANT_DEFAULT, id, JOB_STATE_FAILED, "no more")));
    assert_in_range(count_rows(&home), JOB_EVENTS_PAID + JOB_EVENTS_NEWEST_MIN,
        JOB_EVENTS_PAID + JOB_EVENTS_NEWEST_MIN + 2);
    assert_true(stored(store) < before);
    OWN(JobEventList, list) = NULL;
    expect_ok(job_events_list(store, TENANT_DEFAULT, id, 0, &list));
    const JobEvent *last = &list->items[list->count - 1];
    assert_int_equal(last->state, JOB_STATE_FAILED);
    assert_string_equal(last->why, "no more");
    assert_int_equal(last->sequence, fixture_get(store, TENANT_DEFAULT, id).event_count);
    (void)find_kind(list, JOB_EVENT_LEFT_OUT);
    fixture_expect_clean(store);
}

TEST_GROUP(job_events, cmocka_unit_test(test_job_events_in_the_middle_are_left_out),
    cmocka_unit_test(test_job_events_take_no_room_beyond_the_quota),
    cmocka_unit_test(test_job_events_are_read_since_a_number),
    cmocka_unit_test(test_job_events_come_in_pieces),
    cmocka_unit_test(test_job_events_cut_long_reasons_between_letters))
