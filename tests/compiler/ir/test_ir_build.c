#include "compiler/ir/ir_build.h"
#include "tests/compiler/compiler_fixtures.h"

static IrFunction *function_create(IrModule *module, IrVariable **out_x) {
    IrFunction *function;
    IrType type = ir_type_shaped(DTYPE_FLOAT32, 1, (int64_t[]){2});
    assert_ok(ir_function_create(module, "main", true, NULL, &function));
    assert_ok(ir_function_add_parameter(function, "x", &type, out_x));
    return function;
}

static void test_ir_build_operator_checks_name_counts_and_attributes(void **state) {
    (void)state;
    OWN(IrModule, module) = NULL;
    IrVariable *x, **results;
    assert_ok(ir_module_create(&module));
    IrCursor at = ir_at_end(function_create(module, &x)->body);
    IrVariable *inputs[3] = {x, x, x};
    assert_fails_saying(UNSUPPORTED, "Frobnicate",
        ir_build_operator(at, "Frobnicate", NULL, 1, inputs, 1, &results));
    assert_fails_saying(
        INVALID, "3 inputs", ir_build_operator(at, "Add", NULL, 3, inputs, 1, &results));
    assert_fails_saying(
        INVALID, "2 outputs", ir_build_operator(at, "Add", NULL, 2, inputs, 2, &results));
    inputs[0] = NULL;
    assert_fails_saying(
        INVALID, "input 0", ir_build_operator(at, "Add", NULL, 2, inputs, 1, &results));
    inputs[0] = x;
    assert_fails_saying(
        INVALID, "axis", ir_build_operator(at, "Concat", NULL, 2, inputs, 1, &results));
}

static void test_ir_build_operator_drops_absent_inputs_at_the_end(void **state) {
    (void)state;
    OWN(IrModule, module) = NULL;
    IrVariable *x, *clipped;
    assert_ok(ir_module_create(&module));
    IrCursor at = ir_at_end(function_create(module, &x)->body);
    assert_ok(ir_build_simple(at, "Clip", NULL, x, NULL, NULL, &clipped));
    assert_int_equal(clipped->binding->operand_count, 1);
    assert_int_equal(clipped->type.kind, IR_TYPE_TENSOR);
}

static void test_ir_build_puts_bindings_where_the_cursor_is(void **state) {
    (void)state;
    OWN(IrModule, module) = NULL;
    IrVariable *x, *first, *second, *third;
    assert_ok(ir_module_create(&module));
    IrFunction *function = function_create(module, &x);
    assert_ok(ir_build_simple(ir_at_end(function->body), "Neg", NULL, x, NULL, NULL, &second));
    assert_ok(ir_build_simple(ir_before(second->binding), "Abs", NULL, x, NULL, NULL, &first));
    assert_ok(ir_build_simple(ir_behind(first->binding), "Relu", NULL, x, NULL, NULL, &third));
    assert_ptr_equal(function->body->first, first->binding);
    assert_ptr_equal(first->binding->next, third->binding);
    assert_ptr_equal(third->binding->next, second->binding);
    assert_ptr_equal(function->body->last, second->binding);
    assert_ptr_equal(second->binding->previous, third->binding);
}

static void test_ir_build_construct_checks_the_number_of_fields(void **state) {
    (void)state;
    OWN(IrModule, module) = NULL;
    IrVariable *x, *value;
    IrConstructor *some;
    assert_ok(ir_module_create(&module));
    IrCursor at = ir_at_end(function_create(module, &x)->body);
    assert_ok(ir_constructor_create(module, "option", "some", 1, &some));
    assert_fails_saying(INVALID, "some", ir_build_construct(at, some, 0, NULL, &value));
    assert_ok(ir_build_construct(at, some, 1, &x, &value));
}

static void test_ir_build_cast_names_the_type(void **state) {
    (void)state;
    OWN(IrModule, module) = NULL;
    IrVariable *x, *y;
    assert_ok(ir_module_create(&module));
    assert_ok(ir_build_cast(ir_at_end(function_create(module, &x)->body), x, DTYPE_INT8, &y));
    assert_int_equal(y->binding->operator_info->id, OPERATOR_CAST);
    assert_int_equal(attributes_dtype(y->binding->attributes, "to"), DTYPE_INT8);
}

int test_ir_build(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ir_build_cast_names_the_type),
        cmocka_unit_test(test_ir_build_operator_checks_name_counts_and_attributes),
        cmocka_unit_test(test_ir_build_operator_drops_absent_inputs_at_the_end),
        cmocka_unit_test(test_ir_build_puts_bindings_where_the_cursor_is),
        cmocka_unit_test(test_ir_build_construct_checks_the_number_of_fields),
    };
    return cmocka_run_group_tests_name("ir_build", tests, NULL, NULL);
}
