#include "serialize/relax/relax_internal.h"
#include "tests/serialize/relax_example.h"

/* Writes the example with the length in front that older versions of TVM write. */
static void write_with_length(RelaxExample *example, ByteWriter *writer) {
    ByteWriter OWN_BYTES(content) = {0};
    assert_ok(relax_file_write(&example->file, false, &content));
    byte_write_u64(writer, content.size);
    byte_write_bytes(writer, content.data, content.size);
}

static void test_relax_read_tells_generations_apart_by_their_constants(void **state) {
    (void)state;
    for (RelaxGeneration generation = 0; generation < RELAX_GENERATION_COUNT; generation++) {
        for (int with_length = 0; with_length < 2; with_length++) {
            ByteWriter OWN_BYTES(writer) = {0};
            OWN(RelaxFile, file) = NULL;
            RelaxExample example;
            relax_example_init(&example, generation);
            if (with_length)
                write_with_length(&example, &writer);
            else
                assert_ok(relax_file_write(&example.file, false, &writer));
            assert_true(relax_file_probe(writer.data, writer.size));
            assert_ok(relax_file_read(writer.data, writer.size, false, &file));
            assert_int_equal(file->length_first, with_length);
            for (uint32_t i = 0; i < EXAMPLE_CONSTANTS; i++)
                assert_int_equal(file->constants[i].kind, example.constants[i].kind);
            /* 0.21 and 0.22 differ in tags of tensors, so the generation is exact, too */
            assert_int_equal(file->generation, generation);
        }
    }
}

static void test_relax_read_keeps_trailing_bytes_and_refuses_every_truncation(void **state) {
    (void)state;
    ByteWriter OWN_BYTES(writer) = {0};
    OWN(RelaxFile, file) = NULL;
    RelaxExample example;
    relax_example_init(&example, RELAX_TVM_0_23);
    assert_ok(relax_file_write(&example.file, false, &writer));
    const size_t size = writer.size;
    byte_write_u32(&writer, 99);
    assert_ok(relax_file_read(writer.data, writer.size, false, &file));
    assert_int_equal(file->trailing_size, 4);
    for (size_t cut = 0; cut < size; cut++) {
        RelaxFile *part;
        assert_fails(CORRUPT, relax_file_read(writer.data, cut, false, &part));
    }
}

static void test_relax_read_refuses_what_is_no_relax_file(void **state) {
    (void)state;
    RelaxFile *file;
    uint8_t bytes[28] = {
        0x1e, 0x15, 0x14, 0x42, 0x2f, 0xde, 0x25, 0xd2, 4, 0, 0, 0, 0, 0, 0, 0, '0', '.', '1', '5'};
    assert_fails_saying(
        UNSUPPORTED, "format \"0.15\"", relax_file_read(bytes, sizeof bytes, false, &file));
    assert_false(relax_file_probe(bytes, sizeof bytes));
    bytes[0] = 0;
    assert_fails_saying(
        CORRUPT, "no Relax executable", relax_file_read(bytes, sizeof bytes, false, &file));
    assert_false(relax_file_probe(bytes, sizeof bytes));
}

static void test_relax_read_refuses_tensors_whose_size_is_wrong(void **state) {
    (void)state;
    RelaxExample example;
    relax_example_init(&example, RELAX_TVM_0_23);
    example.shape[0] = 3;
    relax_example_refused(&example, "24 bytes of data; its shape and element type need 36");
    example.shape[0] = INT64_C(1) << 62;
    relax_example_refused(&example, "overflow");
    example.shape[0] = -2;
    relax_example_refused(&example, "dimension 0 is -2");
    relax_example_init(&example, RELAX_TVM_0_23);
    example.constants[0].tensor.rank = 65;
    int64_t dims[65] = {0};
    example.constants[0].tensor.shape = (const uint8_t *)dims;
    relax_example_refused(&example, "rank 65");
}

static void test_relax_read_bounds_counts_by_the_bytes_left(void **state) {
    (void)state;
    ByteWriter OWN_BYTES(writer) = {0};
    RelaxFile *file;
    RelaxExample example;
    relax_example_init(&example, RELAX_TVM_0_23);
    assert_ok(relax_file_write(&example.file, false, &writer));
    memset(writer.data + 20, 0xff, 8); /* the number of functions */
    assert_fails_saying(CORRUPT, "18446744073709551615 functions, but only",
        relax_file_read(writer.data, writer.size, false, &file));
}

static void test_relax_read_refuses_a_length_below_the_magic_number(void **state) {
    (void)state;
    RelaxFile *file;
    for (uint64_t length = 0; length < 8; length++) {
        ByteWriter OWN_BYTES(writer) = {0};
        byte_write_u64(&writer, length);
        byte_write_u64(&writer, RELAX_MAGIC_1);
        byte_write_u64(&writer, 4); /* of the version, which is not there */
        assert_ok(byte_writer_check(&writer));
        assert_fails_saying(CORRUPT, "bytes of content; the number it begins with has 8",
            relax_file_read(writer.data, writer.size, false, &file));
    }
}

int test_relax_read(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_relax_read_tells_generations_apart_by_their_constants),
        cmocka_unit_test(test_relax_read_keeps_trailing_bytes_and_refuses_every_truncation),
        cmocka_unit_test(test_relax_read_refuses_what_is_no_relax_file),
        cmocka_unit_test(test_relax_read_refuses_tensors_whose_size_is_wrong),
        cmocka_unit_test(test_relax_read_bounds_counts_by_the_bytes_left),
        cmocka_unit_test(test_relax_read_refuses_a_length_below_the_magic_number),
    };
    return cmocka_run_group_tests_name("relax_read", tests, NULL, NULL);
}
