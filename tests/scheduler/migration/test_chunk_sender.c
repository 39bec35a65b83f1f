#include "scheduler/migration/chunk_sender.h"

#include "base/allocator.h"
#include "tests/scheduler/migration_fixtures.h"
#include "tests/scheduler/peer_proxy.h"

enum { LARGE_ROWS = 400000 }; /* 3.2 MB */

static MigrationPair *pair;

/* A job with some chunks, held, and offered. */
static void begin(MigrationHand *hand) {
    JobId id;
    assert_ok(control_fixture_submit(&pair->west.home, "forever", LARGE_ROWS, false, NULL, &id));
    migration_node_rest(&pair->west);
    migration_hand_begin(hand, &pair->west, &pair->east, id);
    migration_hand_go(hand, MIGRATION_STEP_OFFERED);
    assert_ok(control_migration_stop(pair->west.home.control, TENANT_DEFAULT, id, "goes east"));
}

static void finish(MigrationHand *hand) {
    hand->done = MIGRATION_STEP_STOPPED;
    migration_hand_go(hand, MIGRATION_STEP_SETTLED);
    assert_ok(control_cancel(pair->east.home.control, TENANT_DEFAULT, hand->job));
    migration_hand_end(hand);
    migration_pair_check(pair);
    migration_pair_close(&pair);
}

static uint64_t send(MigrationHand *hand) {
    uint8_t *manifest;
    size_t size;
    uint64_t before = chunk_sender_get_sent(&hand->sender).bytes;
    migration_hand_send(hand, &manifest, &size);
    memory_free(manifest);
    return chunk_sender_get_sent(&hand->sender).bytes - before;
}

static void test_chunk_sender_sends_each_chunk_once(void **state) {
    (void)state;
    MigrationHand hand;
    pair = migration_pair_open();
    begin(&hand);
    uint64_t first = send(&hand);
    ChunksSent sent = chunk_sender_get_sent(&hand.sender);
    assert_true(first > 0);
    assert_true(sent.round_bytes >= (uint64_t)LARGE_ROWS * 8);
    assert_int_equal(sent.round_sent, sent.round_bytes);
    assert_int_equal(send(&hand), 0); /* not even asked about */
    assert_int_equal(chunk_sender_get_sent(&hand.sender).round_bytes, 0);
    chunk_sender_forget(&hand.sender);
    assert_int_equal(send(&hand), 0); /* asked about: they are there */
    finish(&hand);
}

/* What the target has said that it has is not asked about again. */
static void test_chunk_sender_asks_about_what_is_new(void **state) {
    (void)state;
    MigrationHand hand;
    HttpClient *client;
    pair = migration_pair_open();
    begin(&hand);
    PeerProxy *OWN_PROXY(proxy) = peer_proxy_start(pair->east.address);
    const HttpClientOptions options = {.server = proxy->url, .token = pair->east.token};
    assert_ok(http_client_open(&options, &client));
    hand.sender.client = client;
    (void)send(&hand);
    int requests = proxy->requests;
    assert_true(requests >= 2); /* missing, chunks */
    (void)send(&hand);
    assert_int_equal(proxy->requests, requests);
    chunk_sender_forget(&hand.sender);
    (void)send(&hand);
    assert_int_equal(proxy->requests, requests + 1);
    http_client_close(client);
    hand.sender.client = hand.link;
    finish(&hand);
}

static bool interrupt(void *context) {
    (void)context;
    return true;
}

static void test_chunk_sender_ends_when_it_is_told(void **state) {
    (void)state;
    MigrationHand hand;
    pair = migration_pair_open();
    begin(&hand);
    JobManifest *job_manifest;
    const JobExportRequest wanted = {.tenant = TENANT_DEFAULT, .job = hand.job};
    assert_ok(job_manifest_open(pair->west.home.store, &wanted, &job_manifest));
    hand.sender.interrupted = interrupt;
    assert_fails(CANCELLED, chunk_sender_send(&hand.sender, job_manifest));
    assert_int_equal(chunk_sender_get_sent(&hand.sender).bytes, 0);
    hand.sender.interrupted = NULL;
    hand.sender.key.attempt++;
    assert_fails(NOT_FOUND, chunk_sender_send(&hand.sender, job_manifest)); /* another attempt */
    hand.sender.key.attempt--;
    migration_node_hide(&pair->east);
    assert_fails(UNREACHABLE, chunk_sender_send(&hand.sender, job_manifest));
    migration_node_show(&pair->east);
    assert_ok(chunk_sender_send(&hand.sender, job_manifest));
    assert_true(chunk_sender_get_sent(&hand.sender).bytes > 0);
    job_manifest_close(job_manifest);
    finish(&hand);
}

int test_chunk_sender(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_chunk_sender_sends_each_chunk_once),
        cmocka_unit_test(test_chunk_sender_asks_about_what_is_new),
        cmocka_unit_test(test_chunk_sender_ends_when_it_is_told),
    };
    return cmocka_run_group_tests_name("chunk_sender", tests, NULL, NULL);
}
