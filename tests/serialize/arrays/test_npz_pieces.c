#include "serialize/arrays/npz_pieces.h"

#include "serialize/arrays/npz.h"
#include "tests/serialize/array_fixtures.h"

static void add_array(NpzPieces *stream, const NamedArray *array, ByteWriter *out) {
    NamedArray description = {0};
    bool has_form;
    assert_ok(npz_pieces_begin(stream, array, out));
    assert_ok(npz_pieces_add(stream, array, out));
    assert_ok(npz_pieces_end(stream, out));
    assert_ok(npz_pieces_describe(array, &has_form, &description));
    if (has_form) add_array(stream, &description, out);
    named_array_deinit(&description);
}

static void test_npz_pieces_writes_what_npz_reads(void **state) {
    (void)state;
    ArrayList OWN_ARRAYS(arrays) = {0}, OWN_ARRAYS(read) = {0};
    ByteWriter OWN_BYTES(file) = {0};
    OWN(NpzPieces, stream) = NULL;
    example_arrays(&arrays);
    assert_ok(npz_pieces_create(&stream));
    for (size_t i = 0; i < arrays.count; i++) {
        ByteWriter OWN_BYTES(piece) = {0}; /* nothing before it is looked at */
        add_array(stream, &arrays.items[i], &piece);
        byte_write_bytes(&file, piece.data, piece.size);
    }
    assert_ok(npz_pieces_finish(stream, &file));
    assert_ok(npz_read(file.data, file.size, 1 << 20, &read));
    assert_arrays_equal(&arrays, &read);
}

/* Rows of int4, of which two share a byte, behind each other. */
static void test_npz_pieces_takes_pieces(void **state) {
    (void)state;
    static const Shape three = {1, {3}}, six = {1, {6}};
    static const uint8_t packed[] = {0x21, 0x03};
    ByteWriter OWN_BYTES(file) = {0};
    OWN(NpzPieces, stream) = NULL;
    NamedArray piece = {0};
    assert_ok(named_array_init(&piece, "a", DTYPE_UINT4, &three));
    memcpy(piece.data, packed, sizeof packed);
    assert_ok(npz_pieces_create(&stream));
    NamedArray form = {.name = piece.name, .dtype = DTYPE_UINT4, .shape = six};
    assert_ok(npz_pieces_begin(stream, &form, &file));
    for (int i = 0; i < 2; i++) assert_ok(npz_pieces_add(stream, &piece, &file));
    assert_fails(INTERNAL, npz_pieces_add(stream, &piece, &file));
    named_array_deinit(&piece);
    assert_int_equal(file.data[file.size - 3 - 3], 1);
    assert_memory_equal(file.data + file.size - 9, "\1\2\3\1\2\3\1\2\3", 9);
}

static void test_npz_pieces_refuses_a_name_twice(void **state) {
    (void)state;
    ArrayList OWN_ARRAYS(arrays) = {0};
    ByteWriter OWN_BYTES(file) = {0};
    OWN(NpzPieces, stream) = NULL;
    example_arrays(&arrays);
    assert_ok(npz_pieces_create(&stream));
    add_array(stream, &arrays.items[0], &file);
    assert_fails(INVALID, npz_pieces_begin(stream, &arrays.items[0], &file));
}

int test_npz_pieces(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_npz_pieces_writes_what_npz_reads),
        cmocka_unit_test(test_npz_pieces_takes_pieces),
        cmocka_unit_test(test_npz_pieces_refuses_a_name_twice),
    };
    return cmocka_run_group_tests_name("npz_pieces", tests, NULL, NULL);
}
