#include "tests/kernels/fixtures/process_fixture.h"

/* An allocation that finds no room waits for what was given back before it was asked for. */
static void *give_back(void *argument) {
    ProcessWork *work = argument;
    (void)pthread_mutex_lock(&work->mutex);
    work->frees = 3;
    (void)pthread_cond_broadcast(&work->freed);
    (void)pthread_mutex_unlock(&work->mutex);
    return NULL;
}

static void test_process_serve_alloc_waits_for_memory_on_its_way(void **state) {
    (void)state;
    ProcessFixture fixture;
    uint64_t address, other;
    pthread_t thread;
    process_fixture_init(&fixture, "sim:0,memory=1MiB");
    const uint64_t all[] = {1 << 20, 0}, more[] = {64, 3};
    assert_ok(process_fixture_call(&fixture, PROCESS_CALL_ALLOC, 2, all, &address));
    assert_int_equal(pthread_create(&thread, NULL, give_back, &fixture.work), 0);
    /* they are counted as run, but nothing came of them */
    assert_fails(EXHAUSTED, process_fixture_call(&fixture, PROCESS_CALL_ALLOC, 2, more, &other));
    assert_int_equal(pthread_join(thread, NULL), 0);
    const uint64_t back[] = {address, 1 << 20};
    assert_ok(process_fixture_post(&fixture, PROCESS_CALL_FREE, 2, back));
    assert_ok(process_fixture_call(&fixture, PROCESS_CALL_ALLOC, 2, more, &other));
    const uint64_t rest[] = {other, 64};
    assert_ok(process_fixture_post(&fixture, PROCESS_CALL_FREE, 2, rest));
    process_fixture_deinit(&fixture);
    assert_int_equal(fixture.work.frees, 5);
}

static void test_process_serve_copies_go_through_in_pieces(void **state) {
    (void)state;
    enum { SIZE = RING_PAYLOAD_MAX * 5 + 13 };
    static uint8_t sent[SIZE / 5], received[SIZE];
    ProcessFixture fixture;
    uint64_t address, seed = 3;
    ByteWriter OWN_BYTES(head) = {0};
    for (size_t i = 0; i < sizeof sent; i++) sent[i] = (uint8_t)test_random(&seed);
    process_fixture_init(&fixture, "sim:0");
    const uint64_t wanted[] = {SIZE, 0};
    assert_ok(process_fixture_call(&fixture, PROCESS_CALL_ALLOC, 2, wanted, &address));
    for (uint64_t at = 0; at + sizeof sent <= SIZE; at += sizeof sent) {
        head.size = 0;
        byte_write_u64(&head, address + at);
        size_t half = sizeof sent / 2;
        assert_ok(process_channel_post(
            &fixture.channel, PROCESS_CALL_COPY_FROM_HOST, &head, (ProcessBytes){sent, half}));
        head.size = 0;
        byte_write_u64(&head, address + at + half);
        assert_ok(process_channel_post(&fixture.channel, PROCESS_CALL_COPY_FROM_HOST, &head,
            (ProcessBytes){sent + half, sizeof sent - half}));
    }
    head.size = 0;
    byte_write_u64(&head, address);
    byte_write_u64(&head, SIZE);
    assert_ok(
        process_channel_read(&fixture.channel, PROCESS_CALL_COPY_TO_HOST, &head, received, SIZE));
    for (uint64_t at = 0; at + sizeof sent <= SIZE; at += sizeof sent)
        assert_memory_equal(received + at, sent, sizeof sent);
    const uint64_t back[] = {address, SIZE};
    assert_ok(process_fixture_post(&fixture, PROCESS_CALL_FREE, 2, back));
    process_fixture_deinit(&fixture);
}

/* A piece in the middle that cannot be read is the answer. */
static void test_process_serve_copy_to_host_may_fail_in_the_middle(void **state) {
    (void)state;
    static uint8_t received[RING_PAYLOAD_MAX * 3];
    ProcessFixture fixture;
    uint64_t address;
    ByteWriter OWN_BYTES(head) = {0};
    process_fixture_init(&fixture, "sim:0");
    const uint64_t wanted[] = {RING_PAYLOAD_MAX * 2, 0};
    assert_ok(process_fixture_call(&fixture, PROCESS_CALL_ALLOC, 2, wanted, &address));
    byte_write_u64(&head, address);
    byte_write_u64(&head, sizeof received);
    assert_fails(INTERNAL, process_channel_read(&fixture.channel, PROCESS_CALL_COPY_TO_HOST, &head,
                               received, sizeof received));
    assert_ok(process_fixture_call(&fixture, PROCESS_CALL_PING, 0, NULL, NULL));
    const uint64_t back[] = {address, wanted[0]};
    assert_ok(process_fixture_post(&fixture, PROCESS_CALL_FREE, 2, back));
    process_fixture_deinit(&fixture);
}

static void test_process_serve_events_are_those_that_were_made(void **state) {
    (void)state;
    ProcessFixture fixture;
    uint64_t event, ns = UINT64_MAX;
    process_fixture_init(&fixture, "sim:0");
    assert_ok(process_fixture_post(&fixture, PROCESS_CALL_STREAM_CREATE, 0, NULL));
    assert_ok(process_fixture_call(&fixture, PROCESS_CALL_EVENT_CREATE, 0, NULL, &event));
    const uint64_t never[] = {event, 0}, first[] = {event, 1}, both[] = {event, 1, event, 1};
    assert_ok(process_fixture_call(&fixture, PROCESS_CALL_EVENT_SYNCHRONIZE, 2, never, NULL));
    assert_ok(process_fixture_post(&fixture, PROCESS_CALL_EVENT_RECORD, 2, first));
    assert_ok(process_fixture_post(&fixture, PROCESS_CALL_EVENT_WAIT, 2, first));
    assert_ok(process_fixture_call(&fixture, PROCESS_CALL_EVENT_SYNCHRONIZE, 2, first, NULL));
    assert_ok(process_fixture_call(&fixture, PROCESS_CALL_EVENT_ELAPSED, 4, both, &ns));
    assert_int_equal(ns, 0);
    const uint64_t uses[] = {event, 2};
    assert_ok(process_fixture_post(&fixture, PROCESS_CALL_EVENT_DESTROY, 2, uses));
    assert_fails(
        CORRUPT, process_fixture_call(&fixture, PROCESS_CALL_EVENT_SYNCHRONIZE, 2, first, NULL));
    assert_ok(process_fixture_call(&fixture, PROCESS_CALL_STREAM_DESTROY, 0, NULL, NULL));
    process_fixture_deinit(&fixture);
}

int test_process_service_streams(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_process_serve_alloc_waits_for_memory_on_its_way),
        cmocka_unit_test(test_process_serve_copies_go_through_in_pieces),
        cmocka_unit_test(test_process_serve_copy_to_host_may_fail_in_the_middle),
        cmocka_unit_test(test_process_serve_events_are_those_that_were_made),
    };
    return cmocka_run_group_tests_name("process_service_streams", tests, NULL, NULL);
}
