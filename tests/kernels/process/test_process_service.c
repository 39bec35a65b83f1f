#include "kernels/process/process_service.h"

#include "tests/kernels/fixtures/process_fixture.h"

static Error *ping(ProcessFixture *fixture) {
    return process_fixture_call(fixture, PROCESS_CALL_PING, 0, NULL, NULL);
}

/* The error of what was posted is told once, by a call that waits, and what is behind it not done.
 */
static void test_process_service_tells_posted_errors_when_waited_for(void **state) {
    (void)state;
    ProcessFixture fixture;
    uint64_t address, bytes = 0;
    uint32_t seven = 7;
    process_fixture_init(&fixture, "sim:0");
    assert_ok(process_fixture_post(&fixture, PROCESS_CALL_STREAM_CREATE, 0, NULL));
    assert_ok(
        process_fixture_call(&fixture, PROCESS_CALL_ALLOC, 2, (const uint64_t[]){64, 0}, &address));
    assert_ok(process_fixture_post(
        &fixture, PROCESS_CALL_COPY, 2, (const uint64_t[]){address, address})); /* too short */
    ByteWriter OWN_BYTES(head) = {0};
    byte_write_u64(&head, address);
    assert_ok(process_channel_post(&fixture.channel, PROCESS_CALL_COPY_FROM_HOST, &head,
        (ProcessBytes){&seven, sizeof seven}));
    assert_ok(ping(&fixture)); /* waits for nothing */
    assert_fails(CORRUPT, process_fixture_call(&fixture, PROCESS_CALL_SYNCHRONIZE, 0, NULL, NULL));
    assert_ok(process_fixture_call(&fixture, PROCESS_CALL_SYNCHRONIZE, 0, NULL, NULL));
    byte_write_u64(&head, sizeof seven);
    assert_ok(process_channel_read(
        &fixture.channel, PROCESS_CALL_COPY_TO_HOST, &head, &bytes, sizeof seven));
    assert_int_equal(bytes, 0);
    assert_ok(
        process_fixture_post(&fixture, PROCESS_CALL_FREE, 2, (const uint64_t[]){address, 64}));
    assert_ok(process_fixture_call(&fixture, PROCESS_CALL_STREAM_DESTROY, 0, NULL, NULL));
    process_fixture_deinit(&fixture);
}

static void test_process_service_ends_with_a_call_that_there_is_not(void **state) {
    (void)state;
    static const ProcessCall calls[] = {PROCESS_CALL_COUNT, (ProcessCall)4711};
    for (int i = 0; i < 2; i++) {
        ProcessFixture fixture;
        process_fixture_init(&fixture, "sim:0");
        assert_fails(DEVICE_LOST, process_fixture_call(&fixture, calls[i], 0, NULL, NULL));
        process_fixture_deinit(&fixture);
        assert_fails_saying(CORRUPT, "there is no call", fixture.ended);
    }
}

/* Any bytes in any call that does not hand an address on: an answer or an error, never a crash. */
static void test_process_service_survives_any_bytes(void **state) {
    (void)state;
    static const ProcessCall calls[] = {PROCESS_CALL_EVENT_DESTROY, PROCESS_CALL_EVENT_RECORD,
        PROCESS_CALL_EVENT_WAIT, PROCESS_CALL_EVENT_SYNCHRONIZE, PROCESS_CALL_EVENT_ELAPSED,
        PROCESS_CALL_COPY_FROM_HOST, PROCESS_CALL_COPY_TO_HOST, PROCESS_CALL_COPY,
        PROCESS_CALL_PLAN, PROCESS_CALL_PLAN_RELEASE, PROCESS_CALL_LAUNCH, PROCESS_CALL_MEASURE,
        PROCESS_CALL_PACK_RULE, PROCESS_CALL_PACK, PROCESS_CALL_BYTES, PROCESS_CALL_SYNCHRONIZE,
        PROCESS_CALL_STREAM_CREATE, PROCESS_CALL_STREAM_DESTROY, PROCESS_CALL_KERNELS};
    uint64_t seed = 6;
    ProcessFixture fixture;
    process_fixture_init(&fixture, "sim:0");
    for (uint32_t i = 0; i < 20000; i++) {
        uint8_t bytes[200];
        ProcessCall call = calls[test_random(&seed) % (sizeof calls / sizeof calls[0])];
        size_t size = test_random(&seed) % sizeof bytes;
        for (size_t k = 0; k < size; k++)
            bytes[k] = (uint8_t)(test_random(&seed) % 4 ? 0 : test_random(&seed));
        bool stream = call == PROCESS_CALL_STREAM_CREATE;
        if (stream) /* one at a time, as the parent does */
            assert_ok(process_fixture_call(&fixture, PROCESS_CALL_STREAM_DESTROY, 0, NULL, NULL));
        assert_ok(process_channel_post(&fixture.channel, call, NULL, (ProcessBytes){bytes, size}));
        /* what it answered, if it did, up to the answer of this */
        RingRecord record = {0};
        assert_ok(
            process_channel_post(&fixture.channel, PROCESS_CALL_MEMORY, NULL, (ProcessBytes){0}));
        while (record.kind != PROCESS_ANSWER_LAST || record.size != 16) {
            if (record.kind) ring_done(&fixture.channel.answers, &record);
            assert_int_equal(ring_next(&fixture.channel.answers, &record), RING_READY);
        }
        ring_done(&fixture.channel.answers, &record);
    }
    process_fixture_deinit(&fixture);
    assert_null(fixture.ended);
}

static void test_process_service_refuses_where_there_is_no_thread(void **state) {
    (void)state;
    ProcessFixture fixture;
    ProcessWork work = {0};
    process_fixture_init(&fixture, NULL);
    for (int i = 0; i < 2; i++) { /* the second attempt begins where the first one stopped */
        OWN(ProcessService, service) = NULL;
        RingRecord record;
        assert_ok(process_service_create(&work, fixture.shared, 0, &service));
        assert_ok(
            process_channel_post(&fixture.channel, PROCESS_CALL_PING, NULL, (ProcessBytes){0}));
        process_service_refuse(
            service, error_make(ERROR_OUT_OF_MEMORY, __FILE__, __LINE__, "no thread"));
        assert_int_equal(ring_next(&fixture.channel.answers, &record), RING_READY);
        assert_int_equal(record.kind, PROCESS_ANSWER_ERROR);
        ring_done(&fixture.channel.answers, &record);
    }
    process_fixture_deinit(&fixture);
}

int test_process_service(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_process_service_tells_posted_errors_when_waited_for),
        cmocka_unit_test(test_process_service_ends_with_a_call_that_there_is_not),
        cmocka_unit_test(test_process_service_survives_any_bytes),
        cmocka_unit_test(test_process_service_refuses_where_there_is_no_thread),
    };
    return cmocka_run_group_tests_name("process_service", tests, NULL, NULL);
}
