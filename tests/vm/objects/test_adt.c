#include "tests/vm/vm_fixture.h"
#include "vm/objects/adt.h"

static void test_adt_holds_its_fields(void **state) {
    (void)state;
    Adt *adt;
    assert_ok(adt_create(NULL, 3, 2, &adt));
    assert_int_equal(adt->fields[1].tag, VALUE_NIL);
    adt->fields[0] = value_int(5);
    adt->fields[1] = value_object(OBJECT_TENSOR, vm_floats(1, (float[]){1}));
    assert_int_equal(adt->tag, 3);
    adt_release(adt);
    adt_release(NULL);
}

static void test_adt_refuses_tags_and_counts_out_of_range(void **state) {
    (void)state;
    Adt *adt;
    assert_fails(INVALID, adt_create(NULL, -1, 0, &adt));
    assert_fails(INVALID, adt_create(NULL, (int64_t)ADT_TAG_MAX + 1, 0, &adt));
    assert_fails(INVALID, adt_create(NULL, 0, ADT_FIELDS_MAX + 1, &adt));
}

static void test_adt_is_charged_to_its_meter(void **state) {
    (void)state;
    ObjectMeter *meter;
    Adt *adt;
    assert_ok(object_meter_create(2000, &meter));
    assert_fails(EXHAUSTED, adt_create(meter, 0, 100, &adt));
    assert_int_equal(object_meter_used_bytes(meter), 0);
    assert_ok(adt_create(meter, 0, 4, &adt));
    assert_true(object_meter_used_bytes(meter) >= 4 * OBJECT_PLACE_BYTES);
    object_meter_release(meter); /* the object keeps it */
    adt_release(adt);
}

int test_adt(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_adt_holds_its_fields),
        cmocka_unit_test(test_adt_refuses_tags_and_counts_out_of_range),
        cmocka_unit_test(test_adt_is_charged_to_its_meter),
    };
    return cmocka_run_group_tests_name("adt", tests, NULL, NULL);
}
