#include "tests/vm/vm_fixture.h"
#include "vm/objects/value_equal.h"
#include "vm/objects/list.h"
#include "vm/objects/adt.h"
#include "vm/objects/string_object.h"
#include "vm/objects/shape_object.h"

static bool equal(Value owned_a, Value owned_b) {
    bool same;
    assert_ok(value_equal(&owned_a, &owned_b, &same));
    value_release(&owned_a);
    value_release(&owned_b);
    return same;
}

static Value list_of(Value owned_a, Value owned_b) {
    List *list;
    assert_ok(list_create(NULL, 2, &list));
    assert_ok(list_append(list, owned_a));
    assert_ok(list_append(list, owned_b));
    return value_object(OBJECT_LIST, list);
}

static Value string_of(const char *text) {
    StringObject *string;
    assert_ok(string_object_create(NULL, text, strlen(text), &string));
    return value_object(OBJECT_STRING, string);
}

static void test_value_equal_compares_scalars_by_kind_and_value(void **state) {
    (void)state;
    assert_true(equal(value_int(1), value_int(1)));
    assert_false(equal(value_int(1), value_bool(true)));
    assert_false(equal(value_float(1), value_float(2)));
    assert_true(equal(value_nil(), value_nil()));
    assert_true(equal(string_of("a"), string_of("a")));
    assert_false(equal(string_of("a"), string_of("b")));
}

static void test_value_equal_compares_tensors_bit_by_bit(void **state) {
    (void)state;
    assert_true(equal(value_object(OBJECT_TENSOR, vm_floats(2, (float[]){1, 2})),
        value_object(OBJECT_TENSOR, vm_floats(2, (float[]){1, 2}))));
    assert_false(equal(value_object(OBJECT_TENSOR, vm_floats(1, (float[]){0.0f})),
        value_object(OBJECT_TENSOR, vm_floats(1, (float[]){-0.0f}))));
    assert_false(equal(value_object(OBJECT_TENSOR, vm_floats(1, (float[]){1})),
        value_object(OBJECT_TENSOR, vm_ints(1, (int64_t[]){1}))));
}

static void test_value_equal_looks_inside_containers(void **state) {
    (void)state;
    assert_true(
        equal(list_of(value_int(1), string_of("x")), list_of(value_int(1), string_of("x"))));
    assert_false(
        equal(list_of(value_int(1), string_of("x")), list_of(value_int(1), string_of("y"))));
    assert_false(equal(list_of(value_int(1), value_nil()), value_int(1)));
}

static void test_value_equal_goes_as_deep_as_values_nest(void **state) {
    (void)state;
    Value a = value_int(1), b = value_int(1);
    for (int i = 0; i < 200000; i++) {
        Adt *adt;
        assert_ok(adt_create(NULL, 0, 1, &adt));
        adt->fields[0] = a;
        a = value_object(OBJECT_ADT, adt);
        assert_ok(adt_create(NULL, 0, 1, &adt));
        adt->fields[0] = b;
        b = value_object(OBJECT_ADT, adt);
    }
    assert_true(equal(a, b));
}

int test_value_equal(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_value_equal_compares_scalars_by_kind_and_value),
        cmocka_unit_test(test_value_equal_compares_tensors_bit_by_bit),
        cmocka_unit_test(test_value_equal_looks_inside_containers),
        cmocka_unit_test(test_value_equal_goes_as_deep_as_values_nest),
    };
    return cmocka_run_group_tests_name("value_equal", tests, NULL, NULL);
}
