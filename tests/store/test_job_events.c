#include <string.h>

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

TEST_GROUP(job_events, cmocka_unit_test(test_job_events_are_read_since_a_number),
    cmocka_unit_test(test_job_events_come_in_pieces),
    cmocka_unit_test(test_job_events_cut_long_reasons_between_letters))
