#include "scheduler/http/server/http_sessions.h"

#include <stdio.h>
#include <string.h>

#include "tests/support/test_support.h"

static HttpSessions *make(SimulatedClock *clock) {
    HttpSessions *sessions;
    assert_ok(http_sessions_create(clock_simulated(clock), &sessions));
    return sessions;
}

static void test_http_sessions_end_by_sign_out_and_by_time(void **state) {
    (void)state;
    SimulatedClock clock = {0};
    OWN(HttpSessions, sessions) = make(&clock);
    char first[HTTP_SESSION_TEXT_SIZE], second[HTTP_SESSION_TEXT_SIZE];
    uint64_t number, other, found;
    int64_t token;
    double left_s;
    assert_ok(http_sessions_begin(sessions, 7, first, &number));
    assert_ok(http_sessions_begin(sessions, 8, second, &other));
    assert_string_not_equal(first, second);
    assert_ok(http_sessions_find(sessions, first, &found, &token));
    assert_int_equal(found, number);
    assert_int_equal(token, 7);
    http_sessions_end(sessions, number);
    http_sessions_end(sessions, number);
    http_sessions_end(sessions, 0);
    assert_fails(UNAUTHENTICATED, http_sessions_find(sessions, first, &found, &token));
    assert_fails(UNAUTHENTICATED, http_sessions_check(sessions, number, &left_s));
    clock.now_ns = (HTTP_SESSION_LIFE_S - 1) * SECOND_NS;
    assert_ok(http_sessions_check(sessions, other, &left_s));
    assert_true(left_s == 1);
    assert_ok(http_sessions_find(sessions, second, &found, &token));
    clock.now_ns += SECOND_NS;
    assert_fails(UNAUTHENTICATED, http_sessions_check(sessions, other, &left_s));
    assert_fails(UNAUTHENTICATED, http_sessions_find(sessions, second, &found, &token));
    assert_fails(UNAUTHENTICATED, http_sessions_check(sessions, 0, &left_s));
}

/* Each other text is no session: one digit differs, it is cut, it is longer, it is none. */
static void test_http_sessions_refuse_other_texts(void **state) {
    (void)state;
    SimulatedClock clock = {0};
    OWN(HttpSessions, sessions) = make(&clock);
    char text[HTTP_SESSION_TEXT_SIZE], wrong[HTTP_SESSION_TEXT_SIZE + 1];
    uint64_t number;
    int64_t token;
    assert_ok(http_sessions_begin(sessions, 7, text, &number));
    for (size_t i = 0; i < sizeof text - 1; i++) {
        memcpy(wrong, text, sizeof text);
        wrong[i] = wrong[i] == '2' ? '3' : '2';
        assert_fails(UNAUTHENTICATED, http_sessions_find(sessions, wrong, &number, &token));
        wrong[i] = 0;
        assert_fails(UNAUTHENTICATED, http_sessions_find(sessions, wrong, &number, &token));
    }
    (void)snprintf(wrong, sizeof wrong, "%s0", text);
    assert_fails(UNAUTHENTICATED, http_sessions_find(sessions, wrong, &number, &token));
    memset(wrong, '0', sizeof text - 1); /* the hash of a free place is zeros, but no secret's */
    wrong[sizeof text - 1] = 0;
    assert_fails(UNAUTHENTICATED, http_sessions_find(sessions, wrong, &number, &token));
    assert_ok(http_sessions_find(sessions, text, &number, &token));
}

static void test_http_sessions_end_the_oldest_beyond_a_limit(void **state) {
    (void)state;
    enum { TOKENS = HTTP_SESSIONS_MAX / HTTP_SESSIONS_PER_TOKEN_MAX };
    SimulatedClock clock = {0};
    OWN(HttpSessions, sessions) = make(&clock);
    char other[HTTP_SESSION_TEXT_SIZE], first[HTTP_SESSION_TEXT_SIZE], text[HTTP_SESSION_TEXT_SIZE];
    uint64_t number;
    int64_t token;
    assert_ok(http_sessions_begin(sessions, 1000, other, &number));
    assert_ok(http_sessions_begin(sessions, 7, first, &number));
    for (uint32_t i = 1; i < HTTP_SESSIONS_PER_TOKEN_MAX; i++)
        assert_ok(http_sessions_begin(sessions, 7, text, &number));
    assert_ok(http_sessions_find(sessions, first, &number, &token));
    assert_ok(http_sessions_begin(sessions, 7, text, &number));
    assert_fails(UNAUTHENTICATED, http_sessions_find(sessions, first, &number, &token));
    assert_ok(http_sessions_find(sessions, text, &number, &token));
    assert_ok(http_sessions_find(sessions, other, &number, &token));
    for (uint32_t i = 0; i < HTTP_SESSIONS_MAX; i++)
        assert_ok(http_sessions_begin(sessions, i % TOKENS, text, &number));
    assert_fails(UNAUTHENTICATED, http_sessions_find(sessions, other, &number, &token));
    assert_ok(http_sessions_find(sessions, text, &number, &token));
}

int test_http_sessions(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_http_sessions_end_by_sign_out_and_by_time),
        cmocka_unit_test(test_http_sessions_refuse_other_texts),
        cmocka_unit_test(test_http_sessions_end_the_oldest_beyond_a_limit),
    };
    return cmocka_run_group_tests_name("http_sessions", tests, NULL, NULL);
}
