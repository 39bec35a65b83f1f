#include "base/bytes.h"

#include "base/allocator.h"
#include "base/checked.h"
#include "tests/support/test_support.h"

static void test_bytes_round_trip(void **state) {
    (void)state;
    ByteWriter OWN_BYTES(writer) = {0};
    byte_write_u8(&writer, 0xfe);
    byte_write_u16(&writer, 0xfedc);
    byte_write_u32(&writer, 0xfedcba98);
    byte_write_u64(&writer, 0xfedcba9876543210u);
    byte_write_i64(&writer, -5);
    byte_write_f64(&writer, -0.0);
    byte_write_text(&writer, "tüv");
    byte_write_bytes(&writer, "raw", 3);
    byte_patch_u32(&writer, 3, 7);
    assert_ok(byte_writer_check(&writer));
    assert_memory_equal(writer.data + 1, "\xdc\xfe\x07\0\0\0\x10\x32\x54\x76", 10);

    ByteReader reader = byte_reader(writer.data, writer.size);
    uint8_t u8 = 0;
    uint16_t u16 = 0;
    uint32_t u32 = 0;
    uint64_t u64 = 0;
    int64_t i64 = 0;
    double f64 = 1;
    char *text = NULL;
    const uint8_t *view = NULL;
    assert_ok(byte_read_u8(&reader, &u8));
    assert_ok(byte_read_u16(&reader, &u16));
    assert_ok(byte_read_u32(&reader, &u32));
    assert_ok(byte_read_u64(&reader, &u64));
    assert_ok(byte_read_i64(&reader, &i64));
    assert_ok(byte_read_f64(&reader, &f64));
    assert_ok(byte_read_text(&reader, 10, &text));
    assert_fails_saying(CORRUPT, "3 bytes too many", byte_reader_check_end(&reader));
    assert_ok(byte_read_view(&reader, 3, &view));
    assert_ok(byte_reader_check_end(&reader));
    assert_int_equal(u8, 0xfe);
    assert_int_equal(u16, 0xfedc);
    assert_int_equal(u32, 7);
    assert_true(u64 == 0xfedcba9876543210u && i64 == -5);
    assert_true(f64 == 0 && 1 / f64 < 0);
    assert_string_equal(text, "tüv");
    assert_memory_equal(view, "raw", 3);
    memory_free(text);
}

/* At every truncation every read fails, takes nothing and leaves its output alone. */
static void test_bytes_reads_fail_at_every_truncation(void **state) {
    (void)state;
    static const uint8_t data[12] = {4, 0, 0, 0, 'a', 'b', 'c', 'd'};
    for (size_t size = 0; size < 8; size++) {
        ByteReader reader = byte_reader(data, size);
        uint64_t u64 = 77;
        uint32_t u32 = 77;
        uint16_t u16 = 77;
        char *text = NULL;
        const uint8_t *view = NULL;
        assert_fails_saying(CORRUPT, "ends early", byte_read_u64(&reader, &u64));
        assert_fails(CORRUPT, byte_read_text(&reader, 10, &text));
        assert_fails(CORRUPT, byte_read_view(&reader, 9, &view));
        if (size < 4) assert_fails(CORRUPT, byte_read_u32(&reader, &u32));
        if (size < 2) assert_fails(CORRUPT, byte_read_u16(&reader, &u16));
        assert_int_equal(reader.position, 0);
        assert_true(u64 == 77 && u32 == 77 && u16 == 77 && !text && !view);
    }
}

static void test_bytes_counts_are_checked_against_what_is_left(void **state) {
    (void)state;
    static const uint8_t data[12] = {2, 0, 0, 0};
    ByteReader reader = byte_reader(data, sizeof data);
    uint32_t count = 0;
    assert_fails(CORRUPT, byte_read_count(&reader, 5, &count));
    assert_int_equal(reader.position, 0);
    assert_fails(CORRUPT, byte_read_count(&reader, SIZE_MAX, &count));
    assert_ok(byte_read_count(&reader, 4, &count));
    assert_int_equal(count, 2);
    ByteReader huge = byte_reader("\xff\xff\xff\xff", 4);
    assert_fails(CORRUPT, byte_read_count(&huge, 1, &count));
}

static void test_bytes_texts_are_limited_utf8_without_nul(void **state) {
    (void)state;
    char *text = NULL;
    ByteReader reader = byte_reader("\3\0\0\0abc", 7);
    assert_fails_saying(CORRUPT, "at most 2", byte_read_text(&reader, 2, &text));
    ByteReader nul = byte_reader("\3\0\0\0a\0c", 7), wrong = byte_reader("\2\0\0\0a\xff", 6);
    assert_fails_saying(CORRUPT, "not UTF-8", byte_read_text(&nul, 9, &text));
    assert_fails_saying(CORRUPT, "not UTF-8", byte_read_text(&wrong, 9, &text));
    assert_null(text);
}

static void test_bytes_writer_grows_and_remembers_failure(void **state) {
    (void)state;
    ByteWriter OWN_BYTES(writer) = {0};
    for (uint32_t i = 0; i < 10000; i++) byte_write_u32(&writer, i);
    assert_ok(byte_writer_check(&writer));
    assert_int_equal(writer.size, 40000);
    writer.failed = 1;
    byte_write_u32(&writer, 1);
    assert_int_equal(writer.size, 40000);
    assert_fails(OUT_OF_MEMORY, byte_writer_check(&writer));
    byte_patch_u32(&writer, 0, 1); /* does nothing, as it does beyond the end */
    writer.failed = 0;
    byte_patch_u32(&writer, 39997, 1);
    assert_int_equal(writer.data[0], 0);
}

static void test_checked_arithmetic_sees_every_overflow(void **state) {
    (void)state;
    uint64_t u = 0;
    int64_t i = 0;
    size_t s = 0;
    assert_true(checked_add_u64(UINT64_MAX - 1, 1, &u) && u == UINT64_MAX);
    assert_false(checked_add_u64(UINT64_MAX, 1, &u));
    assert_false(checked_mul_u64((uint64_t)1 << 32, (uint64_t)1 << 32, &u));
    assert_true(checked_mul_size(1 << 20, 1 << 20, &s) && s == (size_t)1 << 40);
    assert_false(checked_add_size(SIZE_MAX, 1, &s));
    assert_false(checked_add_i64(INT64_MAX, 1, &i));
    assert_false(checked_sub_i64(INT64_MIN, 1, &i));
    assert_false(checked_mul_i64(INT64_MIN, -1, &i));
    assert_true(checked_align_u64(65, 64, &u) && u == 128);
    assert_true(checked_align_u64(64, 64, &u) && u == 64);
    assert_false(checked_align_u64(UINT64_MAX - 3, 64, &u));
}

int test_bytes(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bytes_round_trip),
        cmocka_unit_test(test_bytes_reads_fail_at_every_truncation),
        cmocka_unit_test(test_bytes_counts_are_checked_against_what_is_left),
        cmocka_unit_test(test_bytes_texts_are_limited_utf8_without_nul),
        cmocka_unit_test(test_bytes_writer_grows_and_remembers_failure),
        cmocka_unit_test(test_checked_arithmetic_sees_every_overflow),
    };
    return cmocka_run_group_tests_name("bytes", tests, NULL, NULL);
}
