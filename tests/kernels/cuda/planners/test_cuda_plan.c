#include "kernels/cuda/planners/cuda_plan.h"

#include "kernels/cuda/planners/cuda_params.h"
#include "kernels/operator/kernel_table.h"
#include "tests/support/cuda_shim.h"
#include "tests/support/device_call.h"
#include "tests/support/test_support.h"

static void check_kernel(
    const char *operator_name, DType dtype, const char *kernel_name, uint64_t launches) {
    OWN(Device, device) = NULL;
    Tensor *output = NULL;
    const char *name = NULL;
    assert_ok(cuda_shim_open("shim", &device));
    DeviceCall call = {.device = device, .operator_name = operator_name, .input_count = 1};
    call.inputs[0] = device_tensor(dtype, (double[]){1, 0, 3, 4}, 2, 2, 2);
    assert_ok(device_call_run(&call, &output, &name));
    assert_string_equal(name, kernel_name);
    assert_int_equal(cuda_shim_launches(device), launches);
    tensor_release(output);
    tensor_release(call.inputs[0]);
}

static void test_kernels_come_before_the_host(void **state) {
    (void)state;
    check_kernel("Exp", DTYPE_FLOAT32, "cuda.elementwise", 1);
    check_kernel("Flatten", DTYPE_FLOAT32, "view", 0);
    check_kernel("NonZero", DTYPE_FLOAT32, "cpu.non_zero", 0);
}

/* What every row of the tables promises: a name of its own, and an operator. */
static void test_tables_are_whole(void **state) {
    (void)state;
    KernelRows rows = {cuda_plan_tables(), 0};
    for (const Kernel *row; (row = kernel_rows_next(&rows));) {
        assert_true(text_starts_with(row->name, "cuda."));
        assert_non_null(row->plan);
        assert_int_equal(row->flags & KERNEL_PORTABLE, 0);
    }
}

int test_cuda_plan(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kernels_come_before_the_host),
        cmocka_unit_test(test_tables_are_whole),
    };
    return cmocka_run_group_tests_name("cuda_plan", tests, NULL, NULL);
}
