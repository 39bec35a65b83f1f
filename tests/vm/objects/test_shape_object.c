#include "tests/vm/vm_fixture.h"
#include "vm/objects/shape_object.h"

static void test_shape_object_keeps_its_shape(void **state) {
    (void)state;
    ShapeObject *object;
    Shape got, shape = shape_make(2, (int64_t[]){2, 0});
    assert_ok(shape_object_create(&shape, &object));
    assert_ok(shape_object_get(object, &got));
    assert_true(shape_equal(&got, &shape));
    shape_object_release(object);
}

static void test_shape_object_refuses_what_is_no_shape(void **state) {
    (void)state;
    ShapeObject *object;
    Shape negative = shape_make(1, (int64_t[]){-1});
    Shape huge = shape_make(2, (int64_t[]){INT64_MAX, 2});
    assert_fails(INVALID, shape_object_create(&negative, &object));
    assert_fails(INVALID, shape_object_create(&huge, &object));
}

/* Relax's shapes are lists of any numbers; only operations on tensors need a tensor's shape. */
static void test_shape_object_holds_any_numbers(void **state) {
    (void)state;
    enum { COUNT = SHAPE_OBJECT_COUNT_MAX + 1 };
    int64_t dims[COUNT];
    Shape shape;
    OWN(ShapeObject, negative) = NULL;
    OWN(ShapeObject, same) = NULL;
    OWN(ShapeObject, many) = NULL;
    TextBuilder OWN_TEXT(text) = {0};
    for (int i = 0; i < COUNT; i++) dims[i] = i;
    assert_ok(shape_object_create_of((int64_t[]){2, INT64_MIN}, 2, &negative));
    assert_ok(shape_object_create_of((int64_t[]){2, INT64_MIN}, 2, &same));
    assert_ok(shape_object_create_of(dims, COUNT - 1, &many));
    assert_fails_saying(
        INVALID, "256 dimensions; there may be 255", shape_object_create_of(dims, COUNT, &same));
    assert_true(shape_object_equal(negative, same));
    assert_false(shape_object_equal(negative, many));
    shape_object_print(negative, &text);
    assert_string_equal(text_builder_get(&text), "[2, -9223372036854775808]");
    assert_fails(INVALID, shape_object_get(negative, &shape));
    assert_fails_saying(INVALID, "255 dimensions", shape_object_get(many, &shape));
}

int test_shape_object(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shape_object_keeps_its_shape),
        cmocka_unit_test(test_shape_object_refuses_what_is_no_shape),
        cmocka_unit_test(test_shape_object_holds_any_numbers),
    };
    return cmocka_run_group_tests_name("shape_object", tests, NULL, NULL);
}
