#include "scheduler/policy/event_log.h"

#include "tests/support/test_support.h"

static void write_log(EventLogWriter *log) {
    event_log_begin(log);
    event_log_write(log,
        &(PolicyEvent){.kind = POLICY_EVENT_DEVICE_ADDED,
            .time_ns = 5,
            .device = 3,
            .memory_bytes = 1 << 20,
            .speed = 2},
        11);
    event_log_write(log, &(PolicyEvent){.kind = POLICY_EVENT_CLOCK, .time_ns = 6}, 12);
    event_log_end(log, 12);
    assert_ok(byte_writer_check(&log->bytes));
}

/* Reads to the end; how it ended. */
static Error *read_log(const uint8_t *data, size_t size, EventLogItem *out_item) {
    EventLogReader reader;
    TRY(event_log_open(data, size, &reader));
    do {
        PolicyEvent event;
        uint64_t digest;
        TRY(event_log_read(&reader, &event, &digest, out_item));
        if (*out_item == EVENT_LOG_EVENT) TRY(policy_event_check(&event));
    } while (*out_item == EVENT_LOG_EVENT);
    return NULL;
}

static void test_event_log_gives_back_what_was_written(void **state) {
    (void)state;
    EventLogWriter log;
    EventLogReader reader;
    PolicyEvent event;
    uint64_t digest;
    EventLogItem item;
    write_log(&log);
    assert_ok(event_log_open(log.bytes.data, log.bytes.size, &reader));
    assert_ok(event_log_read(&reader, &event, &digest, &item));
    assert_int_equal(item, EVENT_LOG_EVENT);
    assert_int_equal(event.kind, POLICY_EVENT_DEVICE_ADDED);
    assert_int_equal(event.time_ns, 5);
    assert_int_equal(event.device, 3);
    assert_int_equal(event.memory_bytes, 1 << 20);
    assert_int_equal(event.speed, 2);
    assert_int_equal(digest, 11);
    assert_ok(event_log_read(&reader, &event, &digest, &item));
    assert_int_equal(event.kind, POLICY_EVENT_CLOCK);
    assert_ok(event_log_read(&reader, &event, &digest, &item));
    assert_int_equal(item, EVENT_LOG_END);
    assert_int_equal(digest, 12);
    byte_writer_deinit(&log.bytes);
}

/* A log that stops anywhere behind its header is one whose process died. */
static void test_event_log_cut_at_every_byte(void **state) {
    (void)state;
    EventLogWriter log;
    EventLogItem item;
    int cut = 0, torn = 0, damaged = 0;
    write_log(&log);
    for (size_t size = 0; size < log.bytes.size; size++) {
        Error *error = read_log(log.bytes.data, size, &item);
        damaged += error != NULL;
        cut += !error && item == EVENT_LOG_CUT;
        torn += !error && item == EVENT_LOG_TORN;
        error_free(error);
    }
    assert_int_equal(damaged, 16); /* without its whole header */
    assert_int_equal(cut, 3);      /* after the header and after each event */
    assert_int_equal(damaged + cut + torn, log.bytes.size);
    byte_writer_deinit(&log.bytes);
}

static void test_event_log_refuses_every_flipped_bit(void **state) {
    (void)state;
    EventLogWriter log;
    EventLogItem item;
    write_log(&log);
    for (size_t bit = 0; bit < log.bytes.size * 8; bit++) {
        log.bytes.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
        Error *error = read_log(log.bytes.data, log.bytes.size, &item);
        /* a kind that has more fields than are left looks torn: it does not end as it should */
        assert_true(error || item == EVENT_LOG_TORN);
        error_free(error);
        log.bytes.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    assert_ok(read_log(log.bytes.data, log.bytes.size, &item));
    assert_int_equal(item, EVENT_LOG_END);
    byte_writer_deinit(&log.bytes);
}

/* The checksum is right, the field is not: written by somebody who means harm. */
static void test_event_log_checks_fields_behind_a_right_checksum(void **state) {
    (void)state;
    EventLogWriter log;
    EventLogItem item;
    event_log_begin(&log);
    event_log_write(&log,
        &(PolicyEvent){.kind = POLICY_EVENT_DEVICE_ADDED, .memory_bytes = UINT64_MAX, .speed = 1},
        0);
    assert_fails_saying(CORRUPT, "memory_bytes", read_log(log.bytes.data, log.bytes.size, &item));
    byte_writer_deinit(&log.bytes);
    write_log(&log);
    log.bytes.data[8] = 2;
    assert_fails_saying(UNSUPPORTED, "version 2", read_log(log.bytes.data, log.bytes.size, &item));
    byte_writer_deinit(&log.bytes);
}

int test_event_log(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_event_log_gives_back_what_was_written),
        cmocka_unit_test(test_event_log_cut_at_every_byte),
        cmocka_unit_test(test_event_log_refuses_every_flipped_bit),
        cmocka_unit_test(test_event_log_checks_fields_behind_a_right_checksum),
    };
    return cmocka_run_group_tests_name("event_log", tests, NULL, NULL);
}
