#include "compiler/ir/ir.h"

#include <math.h>
#include <string.h>

#include "compiler/ir/ir_build.h"
#include "tests/compiler/compiler_fixtures.h"
#include "vm/objects/string_object.h"

static void test_ir_symbols_of_one_name_are_one(void **state) {
    (void)state;
    OWN(IrModule, module) = NULL;
    uint32_t a, b, c, d, e;
    assert_ok(ir_module_create(&module));
    assert_ok(ir_module_symbol(module, "batch", &a));
    assert_ok(ir_module_symbol(module, "seq", &b));
    assert_ok(ir_module_symbol(module, "batch", &c));
    assert_ok(ir_module_symbol(module, "", &d));
    assert_ok(ir_module_symbol(module, "", &e));
    assert_int_equal(a, c);
    assert_int_not_equal(a, b);
    assert_int_not_equal(d, e);
    assert_true(ir_dim_is_symbol(ir_dim_symbol(b)));
    assert_int_equal(ir_dim_get_symbol(ir_dim_symbol(b)), b);
}

static void test_ir_types_compare_by_what_they_say(void **state) {
    (void)state;
    OWN(IrModule, module) = NULL;
    assert_ok(ir_module_create(&module));
    IrType a = ir_type_shaped(DTYPE_FLOAT32, 2, (int64_t[]){2, 3}), b = a, list_a, list_b;
    assert_true(ir_type_equal(&a, &b));
    assert_true(ir_type_is_static(&a));
    assert_ok(ir_type_container(module, IR_TYPE_LIST, &a, &list_a));
    assert_ok(ir_type_container(module, IR_TYPE_LIST, &b, &list_b));
    assert_true(ir_type_equal(&list_a, &list_b));
    b.dims[1] = IR_DIM_UNKNOWN;
    assert_false(ir_type_equal(&a, &b));
    assert_false(ir_type_is_static(&b));
    assert_false(ir_type_equal(&a, &list_a));
    b = ir_type_tensor(DTYPE_FLOAT32);
    assert_false(ir_type_equal(&a, &b));
}

/* Whatever is built from outside is bounded. */
static void test_ir_refuses_blocks_nested_too_deep(void **state) {
    (void)state;
    OWN(IrModule, module) = NULL;
    IrFunction *function;
    IrVariable *condition, **results;
    assert_ok(ir_module_create(&module));
    assert_ok(ir_function_create(module, "main", true, NULL, &function));
    assert_ok(ir_constant_bool(module, true, &condition));
    IrBlock *block = function->body, *else_block;
    Error *error = NULL;
    uint32_t depth = 0;
    for (; !error && depth < 1000; depth++)
        error = ir_build_if(ir_at_end(block), condition, 0, &block, &else_block, &results);
    assert_int_equal(depth, IR_NESTING_MAX + 1);
    assert_fails_saying(EXHAUSTED, "nested more than 200 deep", error);
}

static void test_ir_keeps_tensors_of_constants_until_the_module_goes(void **state) {
    (void)state;
    uint64_t random = 1;
    Value value = value_random(&random, 1, (int64_t[]){4});
    OWN(IrModule, module) = NULL;
    IrVariable *constant;
    assert_ok(ir_module_create(&module));
    assert_ok(ir_constant_tensor(module, value.tensor, &constant));
    value_release(&value);
    assert_int_equal(ir_variable_tensor(constant)->shape.dims[0], 4);
    assert_null(ir_variable_function(constant));
}

static void check_equal(Value owned_a, Value owned_b, bool is_equal) {
    assert_true(ir_constant_equal(&owned_a, &owned_b) == is_equal);
    assert_true(ir_constant_equal(&owned_b, &owned_a) == is_equal);
    value_release(&owned_a);
    value_release(&owned_b);
}

static Value string_value(const char *text) {
    StringObject *string;
    assert_ok(string_object_create(NULL, text, strlen(text), &string));
    return value_object(OBJECT_STRING, string);
}

/* Values of random elements: the same ones for the same seed. */
static Value random_value(uint64_t seed, int64_t count) {
    return value_random(&seed, 1, (int64_t[]){count});
}

static void test_ir_constants_compare_by_bits(void **state) {
    (void)state;
    check_equal(value_int(1), value_int(1), true);
    check_equal(value_int(1), value_int(2), false);
    check_equal(value_int(0), value_float(0), false);
    check_equal(value_float(0.0), value_float(-0.0), false);
    check_equal(value_float(NAN), value_float(NAN), true);
    check_equal(value_bool(true), value_bool(true), true);
    check_equal(value_bool(true), value_bool(false), false);
    check_equal(string_value("ab"), string_value("ab"), true);
    check_equal(string_value("ab"), string_value("ac"), false);
    check_equal(string_value("ab"), string_value("abc"), false);
    check_equal(random_value(1, 4), random_value(1, 4), true);
    check_equal(random_value(1, 4), random_value(2, 4), false);
    check_equal(random_value(1, 4), random_value(1, 5), false);
    check_equal(random_value(1, 0), random_value(2, 0), true);
    check_equal(random_value(1, 4), string_value("ab"), false);
}

int test_ir(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ir_symbols_of_one_name_are_one),
        cmocka_unit_test(test_ir_types_compare_by_what_they_say),
        cmocka_unit_test(test_ir_refuses_blocks_nested_too_deep),
        cmocka_unit_test(test_ir_keeps_tensors_of_constants_until_the_module_goes),
        cmocka_unit_test(test_ir_constants_compare_by_bits),
    };
    return cmocka_run_group_tests_name("ir", tests, NULL, NULL);
}
