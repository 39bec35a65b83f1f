#include "tests/vm/vm_fixture.h"
#include "vm/objects/shape_object.h"

static void test_shape_object_keeps_its_shape(void **state) {
    (void)state;
    ShapeObject *object;
    Shape shape = shape_make(2, (int64_t[]){2, 0});
    assert_ok(shape_object_create(&shape, &object));
    assert_true(shape_equal(&object->shape, &shape));
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

int test_shape_object(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shape_object_keeps_its_shape),
        cmocka_unit_test(test_shape_object_refuses_what_is_no_shape),
    };
    return cmocka_run_group_tests_name("shape_object", tests, NULL, NULL);
}
