#include "kernels/tensor/dtype.h"

#include "tests/support/test_support.h"

static void test_dtype_names_are_found_again(void **state) {
    (void)state;
    uint32_t known = 0;
    for (uint32_t i = 0; i < 64; i++) {
        if (!dtype_is_known(i)) continue;
        known++;
        assert_int_equal(dtype_find(dtype_name((DType)i)), i);
    }
    assert_int_equal(known, 26);
    assert_int_equal(dtype_find("float"), DTYPE_NONE);
    assert_int_equal(dtype_find(""), DTYPE_NONE);
    assert_string_equal(dtype_name(DTYPE_NONE), "none");
    assert_string_equal(dtype_name((DType)1000), "none");
}

static void test_dtype_numbers_are_those_of_onnx(void **state) {
    (void)state;
    assert_int_equal(DTYPE_FLOAT32, 1);
    assert_int_equal(DTYPE_INT64, 7);
    assert_int_equal(DTYPE_BOOL, 9);
    assert_int_equal(DTYPE_BFLOAT16, 16);
    assert_int_equal(DTYPE_INT4, 22);
    assert_int_equal(DTYPE_FLOAT8E8M0, 24);
    assert_int_equal(DTYPE_FLOAT6E3M2, 28);
}

static void test_dtype_kinds_exclude_each_other(void **state) {
    (void)state;
    for (uint32_t i = 1; i < DTYPE_COUNT; i++) {
        if (!dtype_is_known(i)) continue;
        DType dtype = (DType)i;
        bool other = dtype == DTYPE_BOOL || dtype == DTYPE_STRING;
        assert_int_equal(dtype_is_float(dtype) + dtype_is_integer(dtype) + other, 1);
    }
    assert_true(dtype_is_signed(DTYPE_INT8) && dtype_is_signed(DTYPE_FLOAT16));
    assert_false(dtype_is_signed(DTYPE_UINT64) || dtype_is_signed(DTYPE_BOOL));
    assert_int_equal(dtype_bits(DTYPE_STRING), 0);
    assert_int_equal(dtype_bits(DTYPE_UINT4), 4);
}

static void test_dtype_goes_through_dlpack_and_back(void **state) {
    (void)state;
    for (uint32_t i = 1; i < DTYPE_COUNT; i++) {
        uint8_t code, bits;
        if (!dtype_is_known(i)) continue;
        if (i == DTYPE_STRING) {
            assert_false(dtype_to_dlpack((DType)i, &code, &bits));
            continue;
        }
        assert_true(dtype_to_dlpack((DType)i, &code, &bits));
        assert_int_equal(dtype_from_dlpack(code, bits, 1), i);
        assert_int_equal(dtype_from_dlpack(code, bits, 2), DTYPE_NONE);
    }
    assert_int_equal(dtype_from_dlpack(0, 128, 1), DTYPE_NONE);
    assert_int_equal(dtype_from_dlpack(3, 0, 1), DTYPE_NONE);
}

static void test_dtype_sets_hold_what_their_names_say(void **state) {
    (void)state;
    for (uint32_t i = 1; i < DTYPE_COUNT; i++) {
        if (!dtype_is_known(i)) continue;
        bool wide = dtype_bits((DType)i) >= 16;
        assert_int_equal(
            DTYPES_INTEGER >> i & 1, dtype_is_integer((DType)i) && dtype_bits((DType)i) >= 8);
        assert_int_equal(DTYPES_FLOAT >> i & 1, dtype_is_float((DType)i) && wide);
        const uint32_t bits = dtype_bits((DType)i);
        assert_int_equal(DTYPES_ANY >> i & 1, bits >= 8);
        assert_int_equal(DTYPES_PACKED >> i & 1, bits > 0 && bits < 8);
        assert_int_equal(DTYPES_SIZED >> i & 1, bits > 0);
        assert_int_equal(DTYPES_PACKED_INTEGER >> i & 1, bits < 8 && dtype_is_integer((DType)i));
        assert_int_equal(DTYPES_POINTWISE >> i & 1, bits >= 8 && i != DTYPE_FLOAT8E8M0);
        assert_int_equal(
            DTYPES_FLOAT8 >> i & 1, bits == 8 && dtype_is_float((DType)i) && i != DTYPE_FLOAT8E8M0);
    }
}

static void test_dtype_numpy_is_missing_where_numpy_has_none(void **state) {
    (void)state;
    assert_string_equal(dtype_numpy(DTYPE_FLOAT32), "<f4");
    assert_string_equal(dtype_numpy(DTYPE_BOOL), "|b1");
    assert_null(dtype_numpy(DTYPE_BFLOAT16));
    assert_null(dtype_numpy(DTYPE_STRING));
    assert_null(dtype_numpy((DType)77));
}

int test_dtype(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_dtype_names_are_found_again),
        cmocka_unit_test(test_dtype_numbers_are_those_of_onnx),
        cmocka_unit_test(test_dtype_kinds_exclude_each_other),
        cmocka_unit_test(test_dtype_goes_through_dlpack_and_back),
        cmocka_unit_test(test_dtype_sets_hold_what_their_names_say),
        cmocka_unit_test(test_dtype_numpy_is_missing_where_numpy_has_none),
    };
    return cmocka_run_group_tests_name("dtype", tests, NULL, NULL);
}
