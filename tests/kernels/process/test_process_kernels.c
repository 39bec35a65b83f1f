#include "kernels/registry/device_registry.h"
#include "kernels/operator/kernel.h"
#include "tests/support/test_support.h"

static void test_process_kernels_are_those_of_the_device(void **state) {
    (void)state;
    OWN(Device, here) = NULL;
    OWN(Device, there) = NULL;
    assert_ok(device_open("sim:0", &here));
    assert_ok(device_open("sim:0,worker=process", &there));
    const Kernel *const *one = here->class_->kernels(here);
    const Kernel *const *other = there->class_->kernels(there);
    assert_ptr_equal(there->class_->kernels(there), other); /* asked for once */
    size_t count = 0;
    for (; *one; one++, other++) {
        const Kernel *row = *one, *same = *other;
        assert_non_null(same);
        for (; row->operator_id != OPERATOR_NONE; row++, same++, count++) {
            assert_int_equal(same->operator_id, row->operator_id);
            assert_int_equal(same->dtypes, row->dtypes);
            assert_int_equal(same->flags, row->flags);
            assert_string_equal(same->name, row->name);
            assert_null(same->plan);
        }
        assert_int_equal(same->operator_id, OPERATOR_NONE);
    }
    assert_null(*other);
    assert_true(count > 50);
}

int test_process_kernels(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_process_kernels_are_those_of_the_device),
    };
    return cmocka_run_group_tests_name("process_kernels", tests, NULL, NULL);
}
