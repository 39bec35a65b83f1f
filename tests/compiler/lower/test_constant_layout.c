#include "compiler/lower/constant_layout.h"
#include "tests/compiler/compiler_fixtures.h"

static void add(ConstantLayout *layout, Value value, uint8_t slot, uint32_t expected) {
    uint32_t index;
    assert_ok(constant_layout_add(layout, &value, slot, &index));
    assert_int_equal(index, expected);
}

/* By bits: a negative zero is another constant, equal NaNs are one. */
static void test_constant_layout_keeps_equal_values_once_for_each_slot(void **state) {
    (void)state;
    OWN(ExecutableBuilder, builder) = NULL;
    OWN(ConstantLayout, layout) = NULL;
    assert_ok(executable_builder_create(&builder));
    assert_ok(constant_layout_create(builder, &layout));
    uint64_t random = 3, again = 3;
    Value a = value_random(&random, 1, (int64_t[]){8});
    Value b = value_random(&again, 1, (int64_t[]){8});
    Value c = value_random(&again, 2, (int64_t[]){2, 4});
    add(layout, a, 1, 0);
    add(layout, b, 1, 0);
    add(layout, b, 0, 1);
    add(layout, c, 1, 2);
    add(layout, value_int(7), 0, 3);
    add(layout, value_bool(true), 0, 4);
    add(layout, value_float(0.0), 0, 5);
    add(layout, value_float(-0.0), 0, 6);
    add(layout, value_int(7), 0, 3);
    uint32_t first, second;
    assert_ok(constant_layout_add_text(layout, "message", &first));
    assert_ok(constant_layout_add_text(layout, "message", &second));
    assert_int_equal(first, 7);
    assert_int_equal(second, 7);
    /* the tensor of slot 0 is a copy: a storage is one constant only */
    assert_int_equal(a.tensor->storage->constant_index, 0);
    value_release(&a);
    value_release(&b);
    value_release(&c);
}

static void test_constant_layout_keeps_equal_primitives_once(void **state) {
    (void)state;
    OWN(ExecutableBuilder, builder) = NULL;
    OWN(ConstantLayout, layout) = NULL;
    OWN(Attributes, none) = NULL;
    OWN(Attributes, axis) = NULL;
    const OperatorInfo *softmax = operator_find("Softmax");
    uint32_t first, second, third;
    assert_ok(executable_builder_create(&builder));
    assert_ok(constant_layout_create(builder, &layout));
    assert_ok(attributes_create(&none));
    assert_ok(attributes_check(none, softmax));
    assert_ok(attributes_create(&axis));
    assert_ok(attributes_set_int(axis, "axis", -1));
    assert_ok(attributes_check(axis, softmax));
    assert_ok(constant_layout_add_primitive(layout, softmax, none, &first));
    assert_ok(constant_layout_add_primitive(layout, softmax, axis, &second));
    OWN(Attributes, other) = NULL;
    assert_ok(attributes_create(&other));
    assert_ok(attributes_set_int(other, "axis", 1));
    assert_ok(attributes_check(other, softmax));
    assert_ok(constant_layout_add_primitive(layout, softmax, other, &third));
    assert_int_equal(first, second);
    assert_int_not_equal(first, third);
}

int test_constant_layout(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_constant_layout_keeps_equal_values_once_for_each_slot),
        cmocka_unit_test(test_constant_layout_keeps_equal_primitives_once),
    };
    return cmocka_run_group_tests_name("constant_layout", tests, NULL, NULL);
}
