#include "base/duration.h"
#include "scheduler/migration/arrival_sessions.h"
#include "tests/scheduler/control_fixtures.h"

enum { SOURCE = 5, OTHER = 6 };

static MigrationKey key_of(uint64_t number, int64_t epoch, int64_t attempt) {
    return (MigrationKey){{SOURCE, number}, epoch, attempt};
}

static bool is_there(ArrivalSessions *sessions, uint64_t source, const MigrationKey *key) {
    ArrivalSession *session = arrival_sessions_find(sessions, source, key);
    if (session) arrival_sessions_let_go(sessions, session);
    return session != NULL;
}

static void add(ControlFixture *fixture, ArrivalSessions *sessions, const MigrationKey *key) {
    assert_ok(arrival_sessions_add(sessions, fixture->store, SOURCE, key, TENANT_DEFAULT));
}

static void test_arrival_sessions_are_found_by_all_of_their_key(void **state) {
    (void)state;
    ControlFixture OWN_CONTROL(fixture);
    ArrivalSessions sessions;
    ArrivalSession *session;
    const MigrationKey key = key_of(1, 2, 3),
                       others[] = {key_of(2, 2, 3), key_of(1, 3, 3), key_of(1, 2, 4)};
    control_fixture_init(&fixture);
    arrival_sessions_init(&sessions);
    assert_fails(NOT_FOUND, arrival_sessions_need(&sessions, SOURCE, &key, &session));
    add(&fixture, &sessions, &key);
    assert_true(is_there(&sessions, SOURCE, &key));
    assert_false(is_there(&sessions, OTHER, &key));
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        assert_false(is_there(&sessions, SOURCE, &others[i]));
    assert_ok(arrival_sessions_need(&sessions, SOURCE, &key, &session));
    assert_int_equal(session->tenant, TENANT_DEFAULT);
    arrival_sessions_let_go(&sessions, session);
    arrival_sessions_deinit(&sessions);
}

/* What is in use when it ends is not found any more, and goes when it is let go. */
static void test_arrival_sessions_end_while_they_are_used(void **state) {
    (void)state;
    ControlFixture OWN_CONTROL(fixture);
    ArrivalSessions sessions;
    ArrivalSession *session;
    const MigrationKey one = key_of(1, 2, 3), two = key_of(1, 2, 4), other = key_of(2, 2, 3);
    control_fixture_init(&fixture);
    arrival_sessions_init(&sessions);
    add(&fixture, &sessions, &one);
    add(&fixture, &sessions, &two);
    add(&fixture, &sessions, &other);
    assert_ok(arrival_sessions_need(&sessions, SOURCE, &one, &session));
    arrival_sessions_end(&sessions, OTHER, &one); /* another's: nothing happens */
    arrival_sessions_end_others(&sessions, OTHER, &two);
    assert_true(is_there(&sessions, SOURCE, &one));
    arrival_sessions_end(&sessions, SOURCE, &two);
    assert_false(is_there(&sessions, SOURCE, &two));
    add(&fixture, &sessions, &two);
    arrival_sessions_end_others(&sessions, SOURCE, &two); /* of the same job */
    assert_false(is_there(&sessions, SOURCE, &one));
    assert_true(is_there(&sessions, SOURCE, &two));
    arrival_sessions_end(&sessions, SOURCE, &two);
    assert_true(is_there(&sessions, SOURCE, &other));
    assert_int_equal(sessions.count, 1);
    assert_non_null(session->upload); /* still whole */
    arrival_sessions_let_go(&sessions, session);
    arrival_sessions_deinit(&sessions);
}

static void test_arrival_sessions_have_a_limit_and_expire(void **state) {
    (void)state;
    ControlFixture OWN_CONTROL(fixture);
    ArrivalSessions sessions;
    control_fixture_init(&fixture);
    arrival_sessions_init(&sessions);
    for (uint64_t i = 1; i <= ARRIVAL_SESSIONS_MAX; i++) {
        const MigrationKey key = key_of(i, 0, 1);
        assert_ok(arrival_sessions_check_room(&sessions, SOURCE, &key));
        add(&fixture, &sessions, &key);
    }
    const MigrationKey more = key_of(ARRIVAL_SESSIONS_MAX + 1, 0, 1), known = key_of(1, 0, 1);
    assert_fails(EXHAUSTED, arrival_sessions_check_room(&sessions, SOURCE, &more));
    assert_fails(
        EXHAUSTED, arrival_sessions_add(&sessions, fixture.store, SOURCE, &more, TENANT_DEFAULT));
    assert_ok(arrival_sessions_check_room(&sessions, SOURCE, &known)); /* in its own place */
    /* longer than any machine has run */
    arrival_sessions_expire(&sessions, 100ull * 365 * 86400 * SECOND_NS);
    assert_int_equal(sessions.count, ARRIVAL_SESSIONS_MAX);
    ArrivalSession *used = arrival_sessions_find(&sessions, SOURCE, &known);
    arrival_sessions_expire(&sessions, 0);
    assert_int_equal(sessions.count, 1); /* somebody uses it */
    assert_false(arrival_sessions_is_quiet(&sessions, SOURCE, &known, 0));
    assert_true(arrival_sessions_is_quiet(&sessions, SOURCE, &more, UINT64_MAX)); /* none */
    arrival_sessions_let_go(&sessions, used);
    assert_false(arrival_sessions_is_quiet(
        &sessions, SOURCE, &known, 100ull * 365 * 86400 * SECOND_NS)); /* heard of just now */
    assert_true(arrival_sessions_is_quiet(&sessions, SOURCE, &known, 0));
    arrival_sessions_expire(&sessions, 0);
    assert_int_equal(sessions.count, 0);
    arrival_sessions_deinit(&sessions);
}

int test_arrival_sessions(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_arrival_sessions_are_found_by_all_of_their_key),
        cmocka_unit_test(test_arrival_sessions_end_while_they_are_used),
        cmocka_unit_test(test_arrival_sessions_have_a_limit_and_expire),
    };
    return cmocka_run_group_tests_name("arrival_sessions", tests, NULL, NULL);
}
