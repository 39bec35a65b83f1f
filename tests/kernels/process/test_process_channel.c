#include "kernels/process/process_channel.h"

#include <stdio.h>

#include "tests/kernels/fixtures/process_fixture.h"

/* A worker that answers what the test says, once. */
typedef struct Script {
    ProcessFixture *fixture;
    uint32_t kinds[4]; /* of the records that it answers with; 0 ends */
    uint32_t sizes[4];
    uint64_t received; /* bytes of all commands before the answer */
    uint32_t records;
} Script;

static void *answer(void *argument) {
    Script *script = argument;
    ProcessChannelShared *shared = script->fixture->shared;
    Ring commands = ring_make_reader(&shared->commands, &script->fixture->work.ending, 0);
    Ring answers = ring_make_writer(&shared->answers, &script->fixture->work.ending, 0);
    for (RingRecord record = {0}; record.kind != PROCESS_CALL_PING;) {
        if (ring_next(&commands, &record) != RING_READY) return NULL;
        script->received += record.size;
        script->records++;
        ring_done(&commands, &record);
    }
    for (uint32_t i = 0; i < 4 && script->kinds[i]; i++) {
        void *bytes;
        if (ring_begin(&answers, script->sizes[i], &bytes) != RING_READY) return NULL;
        memset(bytes, (int)i + 1, script->sizes[i]);
        ring_end(&answers, script->kinds[i], script->sizes[i]);
    }
    return NULL;
}

static pthread_t begin(Script *script) {
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, answer, script), 0);
    return thread;
}

static void test_process_channel_joins_the_pieces_of_an_answer(void **state) {
    (void)state;
    ProcessFixture fixture;
    ByteWriter OWN_BYTES(answered) = {0};
    process_fixture_init(&fixture, NULL);
    Script script = {.fixture = &fixture, .kinds = {1, 1, 2}, .sizes = {1000, RING_PAYLOAD_MAX, 5}};
    pthread_t thread = begin(&script);
    assert_ok(process_channel_call(
        &fixture.channel, PROCESS_CALL_PING, NULL, (ProcessBytes){0}, &answered));
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(answered.size, 1005 + RING_PAYLOAD_MAX);
    assert_int_equal(answered.data[999], 1);
    assert_int_equal(answered.data[answered.size - 1], 3);
    assert_int_equal(script.records, 1);
    process_fixture_deinit(&fixture);
}

/* A head that is too large, and a body, go before the call in pieces. */
static void test_process_channel_sends_what_is_large_in_pieces(void **state) {
    (void)state;
    enum { SIZE = RING_PAYLOAD_MAX * 9 + 7 };
    static uint8_t bytes[SIZE];
    for (int large_head = 0; large_head < 2; large_head++) {
        ProcessFixture fixture;
        ByteWriter OWN_BYTES(head) = {0};
        process_fixture_init(&fixture, NULL);
        Script script = {.fixture = &fixture, .kinds = {2}, .sizes = {0}};
        pthread_t thread = begin(&script);
        if (large_head) byte_write_bytes(&head, bytes, SIZE);
        ProcessBytes body = {bytes, large_head ? 0 : SIZE};
        assert_ok(process_channel_call(&fixture.channel, PROCESS_CALL_PING, &head, body, NULL));
        assert_int_equal(pthread_join(thread, NULL), 0);
        assert_int_equal(script.received, SIZE);
        assert_int_equal(script.records, 11);
        process_fixture_deinit(&fixture);
    }
}

static void expect_loss(Script script, bool reads) {
    ProcessFixture fixture;
    uint8_t bytes[100];
    ByteWriter OWN_BYTES(head) = {0};
    ByteWriter OWN_BYTES(answered) = {0};
    process_fixture_init(&fixture, NULL);
    script.fixture = &fixture;
    pthread_t thread = begin(&script);
    if (reads)
        assert_fails(DEVICE_LOST,
            process_channel_read(&fixture.channel, PROCESS_CALL_PING, &head, bytes, sizeof bytes));
    else
        assert_fails(DEVICE_LOST, process_channel_call(&fixture.channel, PROCESS_CALL_PING, &head,
                                      (ProcessBytes){0}, &answered));
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(fixture.given_up, 1);
    assert_fails(DEVICE_LOST, process_channel_post(&fixture.channel, PROCESS_CALL_PING, NULL,
                                  (ProcessBytes){0})); /* and so does all that follows */
    process_fixture_deinit(&fixture);
}

static void test_process_channel_gives_up_a_worker_that_answers_nonsense(void **state) {
    (void)state;
    expect_loss((Script){.kinds = {9}, .sizes = {8}}, false);        /* no such kind */
    expect_loss((Script){.kinds = {3}, .sizes = {8}}, false);        /* no such error */
    expect_loss((Script){.kinds = {3}, .sizes = {100000}}, false);   /* one without end */
    expect_loss((Script){.kinds = {1, 2}, .sizes = {60, 41}}, true); /* too much */
    expect_loss((Script){.kinds = {1, 2}, .sizes = {60, 39}}, true); /* too little */
}

static void test_process_channel_notices_a_broken_cursor(void **state) {
    (void)state;
    ProcessFixture fixture;
    process_fixture_init(&fixture, NULL);
    atomic_store(&fixture.shared->answers.written, 8);
    assert_fails_saying(
        DEVICE_LOST, "nonsense", process_fixture_call(&fixture, PROCESS_CALL_PING, 0, NULL, NULL));
    assert_int_equal(fixture.given_up, 1);
    process_fixture_deinit(&fixture);
}

int test_process_channel(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_process_channel_joins_the_pieces_of_an_answer),
        cmocka_unit_test(test_process_channel_sends_what_is_large_in_pieces),
        cmocka_unit_test(test_process_channel_gives_up_a_worker_that_answers_nonsense),
        cmocka_unit_test(test_process_channel_notices_a_broken_cursor),
    };
    return cmocka_run_group_tests_name("process_channel", tests, NULL, NULL);
}
