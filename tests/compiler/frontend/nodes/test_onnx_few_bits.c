#include "compiler/frontend/nodes/onnx_few_bits.h"
#include "tests/support/test_support.h"

static void test_onnx_few_bits_takes_the_smallest_type(void **state) {
    static const DType types[9] = {0, DTYPE_UINT2, DTYPE_UINT2, DTYPE_UINT4, DTYPE_UINT4,
        DTYPE_UINT8, DTYPE_UINT8, DTYPE_UINT8, DTYPE_UINT8};
    (void)state;
    for (uint32_t bits = 1; bits <= 8; bits++)
        assert_int_equal(few_bits_dtype(&(FewBits){.bits = bits}), types[bits]);
    assert_int_equal(few_bits_dtype(&(FewBits){.bits = 3, .is_signed = true}), DTYPE_INT4);
}

static void test_onnx_few_bits_are_shared_by_a_power_of_two(void **state) {
    (void)state;
    assert_null(few_bits_check_block(16));
    assert_null(few_bits_check_block(1 << 20));
    static const int64_t refused[] = {-16, 0, 8, 17, 48};
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        Error *error = few_bits_check_block(refused[i]);
        assert_non_null(error);
        assert_int_equal(error_code(error), ERROR_INVALID);
        error_free(error);
    }
}

static void test_onnx_few_bits_are_unpacked_from_constants_alone(void **state) {
    (void)state;
    IrVariable *unused = NULL;
    Error *error = few_bits_unpack(NULL, NULL, 4, 0, true, &unused);
    assert_non_null(error);
    assert_int_equal(error_code(error), ERROR_UNSUPPORTED);
    assert_null(unused);
    error_free(error);
}

int test_onnx_few_bits(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_onnx_few_bits_takes_the_smallest_type),
        cmocka_unit_test(test_onnx_few_bits_are_shared_by_a_power_of_two),
        cmocka_unit_test(test_onnx_few_bits_are_unpacked_from_constants_alone),
    };
    return cmocka_run_group_tests_name("onnx_few_bits", tests, NULL, NULL);
}
