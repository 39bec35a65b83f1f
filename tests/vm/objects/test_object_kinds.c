#include "tests/vm/vm_fixture.h"
#include "vm/objects/adt.h"
#include "vm/objects/list.h"
#include "vm/objects/closure.h"

static void test_object_kinds_have_names(void **state) {
    (void)state;
    assert_string_equal(object_kind_name(OBJECT_LIST), "list");
    assert_null(object_kind_name(OBJECT_KIND_COUNT));
    Value nil = value_nil();
    assert_string_equal(value_kind_name(&nil), "nil");
}

/* Alternating kinds, a million deep, more than any stack has frames for: released in constant C
 * stack. */
static void test_object_release_of_a_million_nested_containers(void **state) {
    (void)state;
    TEST_OF_ONE_THREAD();
    Value inner = value_int(1);
    for (int i = 0; i < 1000000; i++) {
        if (i % 3 == 0) {
            Adt *adt;
            assert_ok(adt_create(NULL, 0, 1, &adt));
            adt->fields[0] = inner;
            inner = value_object(OBJECT_ADT, adt);
        } else if (i % 3 == 1) {
            List *list;
            assert_ok(list_create(NULL, 1, &list));
            assert_ok(list_append(list, inner));
            inner = value_object(OBJECT_LIST, list);
        } else {
            Closure *closure;
            assert_ok(closure_create(NULL, 0, CLOSURE_FIRST, 1, &closure));
            closure->bound[0] = inner;
            inner = value_object(OBJECT_CLOSURE, closure);
        }
    }
    value_release(&inner);
    assert_int_equal(inner.tag, VALUE_NIL);
}

static void test_object_shared_parts_are_released_once(void **state) {
    (void)state;
    Adt *shared, *outer;
    assert_ok(adt_create(NULL, 0, 0, &shared));
    assert_ok(adt_create(NULL, 0, 3, &outer));
    for (int i = 0; i < 3; i++) outer->fields[i] = value_copy(value_object(OBJECT_ADT, shared));
    adt_release(outer);
    assert_true(refcount_is_sole(&shared->refcount));
    adt_release(shared);
}

static void test_object_meter_refuses_beyond_its_limit(void **state) {
    (void)state;
    ObjectMeter *meter;
    assert_ok(object_meter_create(100, &meter));
    assert_ok(object_meter_charge(meter, 60));
    assert_fails(EXHAUSTED, object_meter_charge(meter, 60));
    assert_int_equal(object_meter_used_bytes(meter), 60);
    object_meter_refund(meter, 60);
    object_meter_release(meter);
    object_meter_release(NULL);
}

int test_object_kinds(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_object_kinds_have_names),
        cmocka_unit_test(test_object_release_of_a_million_nested_containers),
        cmocka_unit_test(test_object_shared_parts_are_released_once),
        cmocka_unit_test(test_object_meter_refuses_beyond_its_limit),
    };
    return cmocka_run_group_tests_name("object_kinds", tests, NULL, NULL);
}
