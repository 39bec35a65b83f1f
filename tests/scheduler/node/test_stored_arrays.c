#include "scheduler/node/stored_arrays.h"

#include "tests/scheduler/control_fixtures.h"

static void test_stored_arrays_are_what_was_submitted(void **state) {
    (void)state;
    ControlFixture OWN_CONTROL(fixture);
    ArrayList arrays = {0};
    JobId id;
    control_fixture_init(&fixture);
    control_fixture_start(&fixture, NULL);
    assert_ok(control_fixture_submit(&fixture, "forever", 3, false, NULL, &id));
    assert_ok(stored_arrays_read(fixture.store, NULL, TENANT_DEFAULT, id, JOB_CONTENT_INPUTS, 0,
        STORED_ARRAYS_INPUTS_MAX, &arrays));
    assert_int_equal(arrays.count, 1);
    assert_int_equal(arrays.items[0].shape.dims[0], 3);
    array_list_deinit(&arrays);
    assert_ok(control_cancel(fixture.control, TENANT_DEFAULT, id));
}

static void test_stored_arrays_are_refused_beyond_the_limit_and_where_there_are_none(void **state) {
    (void)state;
    ControlFixture OWN_CONTROL(fixture);
    ArrayList arrays = {0};
    JobId id;
    control_fixture_init(&fixture);
    control_fixture_start(&fixture, NULL);
    assert_ok(control_fixture_submit(&fixture, "forever", 3, false, NULL, &id));
    assert_fails(EXHAUSTED, stored_arrays_read(fixture.store, NULL, TENANT_DEFAULT, id,
                                JOB_CONTENT_INPUTS, 0, 8, &arrays));
    assert_fails(NOT_FOUND, stored_arrays_read(fixture.store, NULL, TENANT_DEFAULT, id,
                                JOB_CONTENT_OUTPUT, 7, STORED_ARRAYS_INPUTS_MAX, &arrays));
    assert_fails(NOT_FOUND, stored_arrays_read(fixture.store, NULL, 99, id, JOB_CONTENT_INPUTS, 0,
                                STORED_ARRAYS_INPUTS_MAX, &arrays));
    assert_int_equal(arrays.count, 0);
    assert_ok(control_cancel(fixture.control, TENANT_DEFAULT, id));
}

int test_stored_arrays(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stored_arrays_are_what_was_submitted),
        cmocka_unit_test(test_stored_arrays_are_refused_beyond_the_limit_and_where_there_are_none),
    };
    return cmocka_run_group_tests_name("stored_arrays", tests, NULL, NULL);
}
