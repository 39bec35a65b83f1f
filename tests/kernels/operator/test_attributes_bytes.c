#include "base/allocator.h"
#include "kernels/operator/attributes.h"
#include "kernels/operator/operator.h"
#include "tests/support/test_support.h"

static const char all_kinds[] = "{a=-7, b=0.1, c=\"text \\\"quoted\\\"\", d=bfloat16, e=[1, -2], "
                                "f=[0.5, inf], g=[\"x\", \"\"], "
                                "h=tensor(int16, [2], \"01000200\"), i=[]}";

static Attributes *parse(const char *text) {
    Attributes *attributes = NULL;
    assert_ok(attributes_parse(&text, &attributes));
    assert_int_equal(*text, 0);
    return attributes;
}

static void test_attributes_bytes_round_trip_every_kind(void **state) {
    (void)state;
    OWN(Attributes, attributes) = parse(all_kinds);
    OWN(Attributes, back) = NULL;
    ByteWriter OWN_BYTES(writer) = {0};
    attributes_write(attributes, &writer);
    assert_ok(byte_writer_check(&writer));
    ByteReader reader = byte_reader(writer.data, writer.size);
    assert_ok(attributes_read(&reader, &back));
    assert_ok(byte_reader_check_end(&reader));
    assert_true(attributes_equal(attributes, back));
    assert_true(attributes_hash(attributes) == attributes_hash(back));
}

/* Every truncation and every flipped bit: refused or read, never more. */
static void test_attributes_bytes_read_survives_any_damage(void **state) {
    (void)state;
    OWN(Attributes, attributes) = parse(all_kinds);
    ByteWriter OWN_BYTES(writer) = {0};
    attributes_write(attributes, &writer);
    for (size_t size = 0; size < writer.size; size++) {
        Attributes *back = NULL;
        ByteReader reader = byte_reader(writer.data, size);
        assert_fails(CORRUPT, attributes_read(&reader, &back));
        assert_null(back);
    }
    for (size_t bit = 0; bit < writer.size * 8; bit++) {
        OWN(Attributes, back) = NULL;
        writer.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
        ByteReader reader = byte_reader(writer.data, writer.size);
        Error *error = attributes_read(&reader, &back);
        if (error) assert_int_equal(error_code(error), ERROR_CORRUPT);
        error_free(error);
        writer.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
}

static void test_attributes_bytes_refuse_a_name_twice(void **state) {
    (void)state;
    ByteWriter OWN_BYTES(writer) = {0};
    Attributes *back = NULL;
    byte_write_u32(&writer, 2);
    for (int i = 0; i < 2; i++) {
        byte_write_text(&writer, "axis");
        byte_write_u8(&writer, 'i');
        byte_write_i64(&writer, i);
    }
    ByteReader reader = byte_reader(writer.data, writer.size);
    assert_fails_saying(CORRUPT, "attribute axis twice", attributes_read(&reader, &back));
}

static void test_attributes_equal_is_bit_for_bit(void **state) {
    (void)state;
    OWN(Attributes, zero) = parse("{a=0.0}");
    OWN(Attributes, minus) = parse("{a=-0.0}");
    OWN(Attributes, nan) = parse("{a=nan}");
    OWN(Attributes, integer) = parse("{a=0}");
    OWN(Attributes, other) = parse("{b=0.0}");
    assert_false(attributes_equal(zero, minus));
    assert_true(attributes_equal(nan, nan));
    assert_false(attributes_equal(zero, integer));
    assert_false(attributes_equal(zero, other));
    assert_true(attributes_hash(zero) != attributes_hash(minus));
    assert_true(attributes_hash(zero) != attributes_hash(other));
}

int test_attributes_bytes(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_attributes_bytes_round_trip_every_kind),
        cmocka_unit_test(test_attributes_bytes_read_survives_any_damage),
        cmocka_unit_test(test_attributes_bytes_refuse_a_name_twice),
        cmocka_unit_test(test_attributes_equal_is_bit_for_bit),
    };
    return cmocka_run_group_tests_name("attributes_bytes", tests, NULL, NULL);
}
