#include "compiler/ir/constants.h"
#include "tests/compiler/compiler_fixtures.h"

static void test_constants_are_tensors_of_the_host(void **state) {
    (void)state;
    OWN(IrModule, module) = NULL;
    IrVariable *made;
    assert_ok(ir_module_create(&module));
    assert_ok(constants_ints(module, 1, 3, (int64_t[]){4, -5, 6}, &made));
    const Tensor *tensor = ir_variable_tensor(made);
    assert_int_equal(tensor->shape.dims[0], 3);
    assert_int_equal(((int64_t *)tensor_data(tensor))[1], -5);
    assert_ok(constants_copy(module, tensor, &made));
    assert_ptr_not_equal(ir_variable_tensor(made)->storage, tensor->storage);
    assert_int_equal(((int64_t *)tensor_data(ir_variable_tensor(made)))[2], 6);
    Shape shape = shape_make(2, (int64_t[]){0, 3});
    assert_ok(constants_zeros(module, DTYPE_FLOAT32, &shape, &made));
    assert_int_equal(made->type.dims[0], 0);
    assert_ok(constants_ints(module, 1, 0, NULL, &made));
    assert_int_equal(made->type.dims[0], 0);
}

static void test_constants_have_numbers_of_every_type_with_numbers(void **state) {
    (void)state;
    OWN(IrModule, module) = NULL;
    IrVariable *made;
    assert_ok(ir_module_create(&module));
    assert_ok(constants_number(module, DTYPE_FLOAT32, -0.5, &made));
    assert_true(*(const float *)tensor_data(ir_variable_tensor(made)) == -0.5F);
    assert_int_equal(made->type.rank, 0);
    assert_ok(constants_number(module, DTYPE_BOOL, 2, &made));
    assert_int_equal(*(const uint8_t *)tensor_data(ir_variable_tensor(made)), 1);
    assert_fails_saying(
        UNSUPPORTED, "numbers of type uint4", constants_number(module, DTYPE_UINT4, 1, &made));
}

int test_constants(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_constants_are_tensors_of_the_host),
        cmocka_unit_test(test_constants_have_numbers_of_every_type_with_numbers),
    };
    return cmocka_run_group_tests_name("constants", tests, NULL, NULL);
}
