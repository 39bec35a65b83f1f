#include "kernels/tensor/dtype_bits.h"

#include "tests/support/test_random.h"
#include "tests/support/test_support.h"

static const uint32_t widths[] = {2, 4, 6};

static void test_dtype_bits_lie_one_behind_the_other_from_the_lowest(void **state) {
    static const uint8_t codes[] = {1, 2, 3, 1, 3};
    uint8_t packed[4] = {0xff, 0xff, 0xff, 0xff};
    (void)state;
    dtype_bits_pack(2, codes, 0, 5, packed);
    assert_memory_equal(packed, ((uint8_t[]){0x79, 0x03, 0xff}), 3);
    dtype_bits_pack(4, codes, 0, 5, packed);
    assert_memory_equal(packed, ((uint8_t[]){0x21, 0x13, 0x03, 0xff}), 4);
    dtype_bits_pack(6, codes, 0, 5, packed);
    assert_memory_equal(packed, ((uint8_t[]){0x81, 0x30, 0x04, 0x03}), 4);
}

/* From anywhere, of any length; the bits above an element's are dropped. */
static void test_dtype_bits_come_back_from_any_place(void **state) {
    enum { COUNT = 61 };
    uint8_t codes[COUNT], packed[COUNT], back[COUNT];
    uint64_t seed = 3;
    (void)state;
    for (size_t w = 0; w < 3; w++) {
        const uint8_t mask = (uint8_t)((1u << widths[w]) - 1);
        for (size_t i = 0; i < COUNT; i++) codes[i] = (uint8_t)test_random(&seed);
        dtype_bits_pack(widths[w], codes, 0, 24, packed);
        dtype_bits_pack(widths[w], codes + 24, 24, COUNT - 24, packed);
        for (size_t first = 0; first < COUNT; first++)
            for (size_t count = 0; first + count <= COUNT; count++) {
                dtype_bits_unpack(widths[w], packed, first, count, back);
                for (size_t i = 0; i < count; i++)
                    assert_int_equal(back[i], codes[first + i] & mask);
            }
    }
}

static void test_dtype_bits_behind_the_last_element_are_cleared(void **state) {
    (void)state;
    for (size_t w = 0; w < 3; w++)
        for (uint64_t count = 0; count < 9; count++) {
            uint8_t packed[8];
            const uint64_t used = count * widths[w];
            memset(packed, 0xff, sizeof packed);
            dtype_bits_clear_rest(widths[w], count, packed);
            for (uint64_t bit = 0; bit < 64; bit++) {
                const bool kept = bit < used || bit >= (used + 7) / 8 * 8;
                assert_int_equal(packed[bit / 8] >> bit % 8 & 1, kept);
            }
        }
}

static void test_dtype_bits_elements_are_numbers_by_their_index(void **state) {
    static const DType dtypes[] = {DTYPE_INT4, DTYPE_UINT2, DTYPE_FLOAT4E2M1, DTYPE_FLOAT6E3M2,
        DTYPE_FLOAT8E8M0, DTYPE_INT8, DTYPE_FLOAT64, DTYPE_BOOL};
    (void)state;
    for (size_t d = 0; d < sizeof dtypes / sizeof dtypes[0]; d++) {
        uint8_t data[64] = {0};
        double value;
        for (uint64_t i = 0; i < 7; i++)
            assert_true(dtype_bits_write_element(dtypes[d], data, i, i % 2 ? 1 : 2));
        assert_true(dtype_bits_write_element(dtypes[d], data, 3, 2)); /* over what is there */
        for (uint64_t i = 0; i < 7; i++) {
            const double two = dtypes[d] == DTYPE_BOOL ? 1 : 2;
            assert_true(dtype_bits_read_element(dtypes[d], data, i, &value));
            assert_true(value == (i % 2 && i != 3 ? 1 : two));
        }
    }
    uint8_t data[8];
    double value;
    assert_false(dtype_bits_read_element(DTYPE_STRING, data, 0, &value));
    assert_false(dtype_bits_write_element(DTYPE_STRING, data, 0, 1));
}

int test_dtype_bits(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_dtype_bits_lie_one_behind_the_other_from_the_lowest),
        cmocka_unit_test(test_dtype_bits_come_back_from_any_place),
        cmocka_unit_test(test_dtype_bits_behind_the_last_element_are_cleared),
        cmocka_unit_test(test_dtype_bits_elements_are_numbers_by_their_index),
    };
    return cmocka_run_group_tests_name("dtype_bits", tests, NULL, NULL);
}
