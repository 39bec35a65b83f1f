#include "kernels/cpu/device/cpu_device.h"

#include <stdlib.h>

#include "kernels/cpu/core/cpu_internal.h"
#include "kernels/operator/kernel_table.h"
#include "kernels/registry/device_registry.h"
#include "kernels/shape_rules/operator_infer.h"
#include "tests/kernels/fixtures/infer_fixture.h"

static Error *plan_on(Device *device, const char *name, const char *inputs, Plan **out) {
    InferFixture fixture;
    infer_fixture_init(&fixture, name, NULL, inputs, 1);
    Error *error = operator_infer(&fixture.request);
    if (!error) error = device->class_->plan(device, &fixture.request, out);
    infer_fixture_deinit(&fixture);
    return error;
}

static void test_cpu_device_names_what_it_lacks(void **state) {
    (void)state;
    OWN(Device, device) = NULL;
    Plan *plan = NULL;
    assert_ok(device_open("cpu", &device));
    assert_fails_saying(UNSUPPORTED, "cpu: no kernel for Trilu(int4)",
        plan_on(device, "Trilu", "int4[2,3]", &plan));
    assert_null(plan);
}

static void test_cpu_device_serves_views_of_any_type(void **state) {
    (void)state;
    OWN(Device, device) = NULL;
    OWN(Plan, plan) = NULL;
    assert_ok(device_open("cpu", &device));
    assert_ok(plan_on(device, "Identity", "int4[2,3]", &plan));
    assert_true(plan->view);
}

/* The same call gives the same kernel on every device and every time. */
static void test_cpu_device_chooses_by_the_call_alone(void **state) {
    (void)state;
    static const char *const specs[] = {"cpu", "cpu:threads=1", "cpu:threads=8"};
    const char *name = NULL;
    for (int i = 0; i < 3; i++) {
        OWN(Device, device) = NULL;
        OWN(Plan, plan) = NULL;
        assert_ok(device_open(specs[i], &device));
        assert_ok(plan_on(device, "MatMul", "float32[64,64] float32[64,64]", &plan));
        if (!name) name = plan->kernel_name;
        assert_string_equal(plan->kernel_name, name);
    }
}

static void test_cpu_device_portable_has_a_class_of_its_own(void **state) {
    (void)state;
    OWN(Device, device) = NULL;
    OWN(Device, portable) = NULL;
    OWN(Plan, plan) = NULL;
    TextBuilder OWN_TEXT(full) = {0};
    TextBuilder OWN_TEXT(small) = {0};
    assert_ok(device_open("cpu", &device));
    assert_ok(device_open_portable(&portable));
    device->class_->determinism_class(device, &full);
    portable->class_->determinism_class(portable, &small);
    assert_non_null(strstr(text_builder_get(&full), "oneDNN"));
    assert_non_null(strstr(text_builder_get(&small), "portable only"));
    assert_int_equal(cpu_device(portable)->level, CPU_LEVEL_PORTABLE);
    assert_ok(plan_on(portable, "Add", "float32[4] float32[4]", &plan));
}

/* Every row names a kernel and a plan, every table ends. */
static void test_cpu_device_tables_are_well_formed(void **state) {
    (void)state;
    OWN(Device, device) = NULL;
    assert_ok(device_open("cpu", &device));
    KernelRows rows = {device->class_->kernels(device), 0};
    uint32_t count = 0;
    for (const Kernel *row; (row = kernel_rows_next(&rows)); count++) {
        assert_true(row->operator_id < OPERATOR_COUNT);
        assert_true(row->dtypes != 0 && row->plan && row->name);
    }
    assert_true(count > 50);
}

int test_cpu_device(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cpu_device_names_what_it_lacks),
        cmocka_unit_test(test_cpu_device_serves_views_of_any_type),
        cmocka_unit_test(test_cpu_device_chooses_by_the_call_alone),
        cmocka_unit_test(test_cpu_device_portable_has_a_class_of_its_own),
        cmocka_unit_test(test_cpu_device_tables_are_well_formed),
    };
    return cmocka_run_group_tests_name("cpu_device", tests, NULL, NULL);
}
