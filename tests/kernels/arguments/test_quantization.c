#include "kernels/arguments/quantization.h"

#include "tests/kernels/fixtures/infer_fixture.h"

static void check_layout(
    const char *attributes, const char *inputs, const QuantizationLayout *expected) {
    InferFixture infer;
    QuantizationLayout layout;
    infer_fixture_init(&infer, "DequantizeLinear", attributes, inputs, 1);
    assert_ok(quantization_layout(&infer.request, &layout));
    assert_int_equal(layout.outer, expected->outer);
    assert_int_equal(layout.axis, expected->axis);
    assert_int_equal(layout.inner, expected->inner);
    assert_int_equal(layout.block, expected->block);
    assert_int_equal(layout.blocks, expected->blocks);
    assert_int_equal(layout.apart, expected->apart);
    infer_fixture_deinit(&infer);
}

static void test_quantization_is_for_all_for_an_axis_or_for_blocks(void **state) {
    (void)state;
    check_layout("{}", "int8[2,3,5] float32[]", &(QuantizationLayout){1, 1, 30, 1, 1, false});
    check_layout("{axis=9}", "int8[4] float32[1]", &(QuantizationLayout){1, 1, 4, 1, 1, false});
    check_layout("{}", "int8[2,3,5] float32[3]", &(QuantizationLayout){2, 3, 5, 1, 3, false});
    check_layout(
        "{axis=-1}", "int8[2,3,5] float32[5]", &(QuantizationLayout){6, 5, 1, 1, 5, false});
    check_layout(
        "{block_size=2}", "int8[2,3,5] float32[2,2,5]", &(QuantizationLayout){2, 3, 5, 2, 2, true});
    check_layout("{axis=0, block_size=9}", "int8[2,3] float32[1,3]",
        &(QuantizationLayout){1, 2, 3, 9, 1, true});
    check_layout(
        "{block_size=3}", "int8[2,3] float32[]", &(QuantizationLayout){1, 1, 6, 1, 1, false});
}

static void check_matrix(const char *inputs, uint32_t index, bool rows, const Shape *expected) {
    InferFixture infer;
    Shape shape;
    infer_fixture_init(&infer, "MatMulInteger", NULL, inputs, 1);
    Error *error = quantization_of_matrix(&infer.request, index, index - 2, rows, &shape);
    if (expected) {
        assert_ok(error);
        assert_true(shape_equal(&shape, expected));
    } else {
        assert_int_equal(error_code(error), ERROR_INVALID);
        error_free(error);
    }
    infer_fixture_deinit(&infer);
}

static void test_quantization_of_a_matrix_is_one_for_each_line(void **state) {
    (void)state;
    check_matrix("int8[3,5] int8[5,4]", 2, true, &(Shape){0});
    check_matrix("int8[3,5] int8[5,4] int8[]", 2, true, &(Shape){0});
    check_matrix("int8[3,5] int8[5,4] int8[3]", 2, true, &(Shape){2, {3, 1}});
    check_matrix("int8[3,5] int8[5,4] - int8[4]", 3, false, &(Shape){2, {1, 4}});
    check_matrix("int8[5] int8[5,4] int8[1]", 2, true, &(Shape){0});
    check_matrix("int8[2,3,5] int8[5,4] int8[2,3,1]", 2, true, &(Shape){3, {2, 3, 1}});
    check_matrix("int8[2,3,5] int8[5,4] int8[1,3,1]", 2, true, &(Shape){3, {1, 3, 1}});
    check_matrix("int8[3,5] int8[5,4] int8[5]", 2, true, NULL);
    check_matrix("int8[3,5] int8[5,4] int8[1,5]", 2, true, NULL);
    check_matrix("int8[3,5] int8[5,4] int8[2,3,1]", 2, true, NULL);
    check_matrix("int8[3,5] int8[5,4] - int8[5,1]", 3, false, NULL);
    check_matrix("int8[3,5] int8[5,4] - int8[2]", 3, false, NULL);
}

int test_quantization(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_quantization_is_for_all_for_an_axis_or_for_blocks),
        cmocka_unit_test(test_quantization_of_a_matrix_is_one_for_each_line),
    };
    return cmocka_run_group_tests_name("quantization", tests, NULL, NULL);
}
