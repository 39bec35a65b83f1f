#include "tests/support/cuda_shim.h"
#include "tests/support/device_call.h"
#include "tests/support/test_support.h"

/* Of several, the one that the cpu would have met first is named, in whatever order they were read.
 */
static void check(const char *spec, const char *name, DType dtype, const char *message) {
    OWN(Device, device) = NULL;
    Tensor *output = NULL;
    assert_ok(cuda_shim_open(spec, &device));
    DeviceCall call = {.device = device, .operator_name = name, .input_count = 2};
    call.inputs[0] = device_tensor(DTYPE_FLOAT32, (double[]){1, 2, 3, 4}, 2, 2, 2);
    call.inputs[1] = device_tensor(dtype, (double[]){0, 1, -3, 7}, 2, 2, 2);
    assert_fails_saying(FAILED, message, device_call_run(&call, &output, NULL));
    tensor_release(call.inputs[0]);
    tensor_release(call.inputs[1]);
}

static void test_the_first_index_out_of_range_is_named(void **state) {
    (void)state;
    static const char *const specs[] = {"shim", "shim:reversed"};
    for (size_t i = 0; i < 2; i++) {
        check(specs[i], "Gather", DTYPE_INT64, "Gather: index -3 at position 2 is outside [-2, 1]");
        check(specs[i], "Gather", DTYPE_INT32, "Gather: index -3 at position 2 is outside [-2, 1]");
        check(specs[i], "GatherElements", DTYPE_INT64,
            "GatherElements: index -3 at position 2 is outside [-2, 1]");
        check(specs[i], "GatherND", DTYPE_INT64,
            "GatherND: index -3 at position 2 is outside [-2, 1]");
    }
}

int test_cuda_index(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_first_index_out_of_range_is_named),
    };
    return cmocka_run_group_tests_name("cuda_index", tests, NULL, NULL);
}
