#include "scheduler/migration/target_link.h"

#include "base/allocator.h"
#include "tests/scheduler/migration_fixtures.h"
#include "tests/scheduler/peer_proxy.h"

enum { PREPARE_MS = 500, REFS = 5 };

static const MigrationKey key = {{7, 1}, 0, 1};

static HttpClient *connect_to(const PeerProxy *proxy) {
    HttpClient *client;
    const HttpClientOptions options = {.server = proxy->url, .token = "t"};
    assert_ok(http_client_open(&options, &client));
    return client;
}

static void test_target_link_names_its_answers(void **state) {
    (void)state;
    ArrivalAnswer found;
    for (ArrivalAnswer answer = ARRIVAL_UNKNOWN; answer <= ARRIVAL_OWNED; answer++) {
        assert_true(arrival_answer_find(arrival_answer_name(answer), &found));
        assert_int_equal(found, answer);
    }
    assert_false(arrival_answer_find("", &found));
    assert_false(arrival_answer_find("owner", &found));
    assert_string_equal(departure_outcome_name(DEPARTURE_PENDING), "pending");
    assert_string_equal(departure_outcome_name(DEPARTURE_MOVED), "moved");
    assert_string_equal(departure_outcome_name(DEPARTURE_ABORTED), "aborted");
}

/* Whatever comes as an answer is one of this protocol, or CORRUPT. */
static void test_target_link_believes_no_answer_that_is_none(void **state) {
    (void)state;
    static const char *const answers[] = {"", "x", "[]", "{", "7", "\"owned\"", "{\"state\":7}",
        "{\"state\":\"OWNED\"}", "{\"outcome\":null}", "{\"outcome\":\"Moved\"}",
        "{\"executable\":\"yes\",\"missing\":1}"};
    PeerProxy *OWN_PROXY(proxy) = peer_proxy_start(NULL);
    OWN(HttpClient, client) = connect_to(proxy);
    const ChunkRef refs[REFS] = {{.raw_size = 1}};
    for (size_t i = 0; i < sizeof answers / sizeof *answers; i++) {
        ArrivalAnswer known = ARRIVAL_OFFERED;
        DepartureOutcome outcome = DEPARTURE_ABORTED;
        uint8_t *bits = NULL;
        peer_proxy_set(proxy, "/v1/peer", PEER_SAYS, 1000, 200, answers[i]);
        assert_fails(CORRUPT, target_link_find(client, &key, &known));
        assert_fails(CORRUPT, source_link_find_outcome(client, &key, &outcome));
        assert_fails(CORRUPT, target_link_find_missing(client, &key, refs, REFS, &bits));
        assert_int_equal(known, ARRIVAL_OFFERED);
        assert_int_equal(outcome, DEPARTURE_ABORTED);
        assert_null(bits);
    }
}

static void test_target_link_passes_on_what_the_node_said(void **state) {
    (void)state;
    OWN_PAIR(pair) = migration_pair_open();
    PeerProxy *OWN_PROXY(proxy) = peer_proxy_start(pair->east.address);
    const HttpClientOptions options = {.server = proxy->url, .token = pair->east.token};
    OWN(HttpClient, client) = NULL;
    ArrivalAnswer known;
    uint8_t *bits;
    const ChunkRef ref = {.raw_size = 1};
    assert_ok(http_client_open(&options, &client));
    assert_ok(target_link_find(client, &key, &known));
    assert_int_equal(known, ARRIVAL_UNKNOWN);
    assert_ok(target_link_abort(client, &key));
    assert_fails_saying(NOT_FOUND, "not prepared", target_link_activate(client, &key));
    assert_fails_saying(
        NOT_FOUND, "offer it first", target_link_find_missing(client, &key, &ref, 1, &bits));
    assert_fails(NOT_FOUND, target_link_rehearse(client, &key, "x", 1));
    assert_fails(NOT_FOUND, target_link_prepare(client, &key, true, "x", 1, 0));
    assert_fails(NOT_FOUND, source_link_fence(client, key.job, 3));
    migration_pair_check(pair);
}

/* Nobody waits longer than it was said. */
static void test_target_link_gives_up_on_silence(void **state) {
    (void)state;
    PeerProxy *OWN_PROXY(proxy) = peer_proxy_start(NULL);
    OWN(HttpClient, client) = connect_to(proxy);
    peer_proxy_set(proxy, "/prepare", PEER_STALLS, 1, 0, NULL);
    assert_fails(UNREACHABLE, target_link_prepare(client, &key, false, "x", 1, PREPARE_MS));
    assert_int_equal(proxy->applied, 1);
    peer_proxy_set(proxy, "/prepare", PEER_LOSES_REQUEST, 10, 0, NULL);
    assert_fails(UNREACHABLE, target_link_prepare(client, &key, false, "x", 1, PREPARE_MS));
}

int test_target_link(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_target_link_names_its_answers),
        cmocka_unit_test(test_target_link_believes_no_answer_that_is_none),
        cmocka_unit_test(test_target_link_passes_on_what_the_node_said),
        cmocka_unit_test(test_target_link_gives_up_on_silence),
    };
    return cmocka_run_group_tests_name("target_link", tests, NULL, NULL);
}
