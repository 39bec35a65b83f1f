#include "serialize/arrays/npy_header.h"

#include "tests/serialize/serialize_fixtures.h"

static Error *parse(const char *text, NpyHeader *out) {
    return npy_header_parse(text, strlen(text), out);
}

static void test_npy_header_parses_what_numpy_writes(void **state) {
    (void)state;
    NpyHeader header;
    assert_ok(parse("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }     \n", &header));
    assert_int_equal(header.kind, 'f');
    assert_int_equal(header.item_count, 4);
    assert_false(header.big_endian || header.fortran_order);
    assert_int_equal(header.shape.rank, 2);
    assert_int_equal(header.shape.dims[1], 3);
    assert_ok(parse("{'descr': '>U12', 'fortran_order': True, 'shape': (5,), }\n", &header));
    assert_true(header.big_endian && header.fortran_order);
    assert_int_equal(npy_header_item_size(&header), 48);
    assert_ok(parse("{'descr': '|b1', 'fortran_order': False, 'shape': (), }\n", &header));
    assert_int_equal(header.shape.rank, 0);
    /* other writers: other order, other quotes, Python 2's long integers */
    assert_ok(parse("{\"shape\":(7L,0L),\"fortran_order\":False,\"descr\":\"|u1\"}", &header));
    assert_int_equal(header.shape.dims[0], 7);
    assert_int_equal(header.shape.dims[1], 0);
}

static void test_npy_header_refuses_everything_else(void **state) {
    (void)state;
    static const struct {
        ErrorCode code;
        const char *text;
    } rows[] = {
        {ERROR_CORRUPT, ""},
        {ERROR_CORRUPT, "{}"},
        {ERROR_CORRUPT, "{{{{{{{{{{{{{{{{{{{{"},
        {ERROR_CORRUPT, "{'descr': '<f4', 'shape': (1, 3), }"},
        {ERROR_CORRUPT, "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 3), } x"},
        {ERROR_CORRUPT, "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 3)"},
        {ERROR_CORRUPT, "{'descr': '<f4', 'fortran_order': Maybe, 'shape': (1, 3)}"},
        {ERROR_CORRUPT, "{'descr': '<f4', 'fortran_order': False, 'shape': (3)}"},
        {ERROR_CORRUPT, "{'descr': '<f4', 'fortran_order': False, 'shape': 3}"},
        {ERROR_CORRUPT, "{'descr': '<f4', 'fortran_order': False, 'shape': (-1, 3)}"},
        {ERROR_CORRUPT, "{'descr': '<f4', 'fortran_order': False, 'shape': (1 3)}"},
        {ERROR_CORRUPT, "{'descr': '<f4', 'descr': '<f4', 'shape': (1,)}"},
        {ERROR_CORRUPT, "{'descr': '<f4', 'fortran_order': False, 'shape': (1,), 'more': 1}"},
        {ERROR_CORRUPT, "{'descr': '<ffffffffffffffffffffffff4'}"},
        {ERROR_CORRUPT, "{'descr: 4"},
        {ERROR_INVALID, "{'descr': '<f4', 'fortran_order': False, 'shape': "
                        "(9223372036854775808,)}"},
        {ERROR_INVALID, "{'descr': '<f4', 'fortran_order': False, 'shape': "
                        "(4611686018427387904, 3)}"},
        {ERROR_INVALID, "{'descr': '<f4', 'fortran_order': False, 'shape': "
                        "(1,1,1,1,1,1,1,1,1)}"},
        {ERROR_UNSUPPORTED, "{'descr': '|O', 'fortran_order': False, 'shape': (1,)}"},
        {ERROR_UNSUPPORTED, "{'descr': '<c8', 'fortran_order': False, 'shape': (1,)}"},
        {ERROR_UNSUPPORTED, "{'descr': '<M8[ns]', 'fortran_order': False, 'shape': (1,)}"},
        {ERROR_UNSUPPORTED, "{'descr': '<f16', 'fortran_order': False, 'shape': (1,)}"},
        {ERROR_UNSUPPORTED, "{'descr': '<f1', 'fortran_order': False, 'shape': (1,)}"},
        {ERROR_UNSUPPORTED, "{'descr': '<i3', 'fortran_order': False, 'shape': (1,)}"},
        {ERROR_UNSUPPORTED, "{'descr': '|b2', 'fortran_order': False, 'shape': (1,)}"},
        {ERROR_UNSUPPORTED, "{'descr': '<U0', 'fortran_order': False, 'shape': (1,)}"},
        {ERROR_UNSUPPORTED, "{'descr': '<U99999999', 'fortran_order': False, 'shape': (1,)}"},
        {ERROR_UNSUPPORTED, "{'descr': '<', 'fortran_order': False, 'shape': (1,)}"},
        {ERROR_UNSUPPORTED, "{'descr': '', 'fortran_order': False, 'shape': (1,)}"},
        {ERROR_UNSUPPORTED, "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,)}"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        NpyHeader header;
        test_assert_fails(
            parse(rows[i].text, &header), rows[i].code, NULL, rows[i].text, __FILE__, __LINE__);
    }
}

/* Cut anywhere or with any byte changed it is parsed or refused, and never read beyond its end. */
static void test_npy_header_survives_flips_and_truncations(void **state) {
    (void)state;
    static const char text[] = "{'descr': '<f4', 'fortran_order': False, 'shape': (12, 3), }\n";
    char copy[sizeof text];
    NpyHeader header;
    for (size_t size = 0; size < 60; size++)
        assert_fails(CORRUPT, npy_header_parse(text, size, &header));
    for (size_t i = 0; i < sizeof text - 1; i++)
        for (int byte = 0; byte < 256; byte++) {
            memcpy(copy, text, sizeof text);
            copy[i] = (char)byte;
            error_free(npy_header_parse(copy, sizeof text - 1, &header)); /* either is right */
        }
}

int test_npy_header(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_npy_header_parses_what_numpy_writes),
        cmocka_unit_test(test_npy_header_refuses_everything_else),
        cmocka_unit_test(test_npy_header_survives_flips_and_truncations),
    };
    return cmocka_run_group_tests_name("npy_header", tests, NULL, NULL);
}
