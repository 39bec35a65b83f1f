#include "tests/vm/vm_fixture.h"
#include "vm/objects/list.h"

static void test_list_grows_and_keeps_order(void **state) {
    (void)state;
    List *list;
    assert_ok(list_create(NULL, 0, &list));
    for (int64_t i = 0; i < 1000; i++) assert_ok(list_append(list, value_int(i)));
    assert_int_equal(list->count, 1000);
    assert_int_equal(list->items[999].integer, 999);
    list_release(list);
}

static void test_list_copy_shares_items(void **state) {
    (void)state;
    List *list, *copy;
    Tensor *tensor = vm_floats(1, (float[]){1});
    assert_ok(list_create(NULL, 1, &list));
    assert_ok(list_append(list, value_object(OBJECT_TENSOR, tensor)));
    assert_ok(list_copy(list, NULL, 3, &copy));
    assert_ptr_equal(copy->items[0].tensor, tensor);
    assert_int_equal(copy->capacity, 4);
    assert_false(refcount_is_sole(&tensor->refcount));
    list_release(list);
    assert_true(refcount_is_sole(&tensor->refcount));
    list_release(copy);
}

/* The value is consumed even when there is no room for it. */
static void test_list_append_beyond_the_meter_fails_without_a_leak(void **state) {
    (void)state;
    ObjectMeter *meter;
    List *list;
    assert_ok(object_meter_create(sizeof(List) + 4 * OBJECT_PLACE_BYTES, &meter));
    assert_ok(list_create(meter, 4, &list));
    for (int i = 0; i < 4; i++)
        assert_ok(list_append(list, value_object(OBJECT_TENSOR, vm_floats(1, (float[]){1}))));
    assert_fails(
        EXHAUSTED, list_append(list, value_object(OBJECT_TENSOR, vm_floats(1, (float[]){1}))));
    assert_int_equal(list->count, 4);
    list_release(list);
    assert_int_equal(object_meter_used_bytes(meter), 0);
    object_meter_release(meter);
}

int test_list(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_list_grows_and_keeps_order),
        cmocka_unit_test(test_list_copy_shares_items),
        cmocka_unit_test(test_list_append_beyond_the_meter_fails_without_a_leak),
    };
    return cmocka_run_group_tests_name("list", tests, NULL, NULL);
}
