#include "kernels/cuda/plugin/cuda_compiled.h"

#include "kernels/registry/device_registry.h"
#include "tests/kernels/fixtures/cuda_device_fixture.h"
#include "tests/kernels/fixtures/group_fixture.h"
#include "tests/support/device_call.h"
#include "tests/support/tensor_text.h"

static const char big[] = "{constants=[0.5],program=\"Mul i0 c0; Tanh r0; Add r1 i1\"}";

static uint64_t run_on(Device *device, DeviceCall *call, const char *kernel_name) {
    Tensor *output = NULL;
    const char *found = NULL;
    call->device = device;
    assert_ok(device_call_run(call, &output, &found));
    if (kernel_name) assert_string_equal(found, kernel_name);
    uint64_t hash = device_tensor_hash(output);
    tensor_release(output);
    return hash;
}

/* The kernel that serves a program over inputs of float32 on a device. */
static void check_choice(
    const char *options, const char *attributes, const char *inputs, const char *kernel_name) {
    OWN(Device, device) = cuda_device_fixture_get(options);
    DeviceCall call = {.operator_name = "FusedElementwise", .attributes = attributes};
    call.input_count = tensor_text_make(inputs, DTYPE_FLOAT32, 1, call.inputs);
    (void)run_on(device, &call, kernel_name);
    for (uint32_t i = 0; i < call.input_count; i++) tensor_release(call.inputs[i]);
}

/* Elements times steps, from 2^20 on; and not where the device's options say so. */
static void test_cuda_compiled_takes_groups_with_much_to_do(void **state) {
    (void)state;
    check_choice("", big, "T[349526] T[]", "cuda.compiled_elementwise");
    check_choice("", big, "T[349524] T[]", "cuda.fused_elementwise");
    check_choice("compile=off", big, "T[349526] T[]", "cuda.fused_elementwise");
}

/* At addresses of any alignment, in place, with and without streams: the interpreting kernel's bits
 * and the cpu's. */
static void check_program(
    Device *cpu, Device *compiling, Device *interpreting, DType dtype, const char *attributes) {
    DeviceCall call = {.operator_name = "FusedElementwise", .attributes = attributes};
    call.input_count = tensor_text_make(group_fixture_inputs, dtype, 5, call.inputs);
    const uint64_t wanted = run_on(cpu, &call, NULL);
    for (uint32_t i = 0; i < 4; i++) {
        call.offset_elements = i;
        call.in_place = i == 3;
        call.direct = i == 2;
        if (run_on(interpreting, &call, "cuda.fused_elementwise") != wanted)
            fail_msg("%s %s: interpreted, other bits", dtype_name(dtype), attributes);
        if (run_on(compiling, &call, "cuda.compiled_elementwise") != wanted)
            fail_msg("%s %s: compiled, other bits", dtype_name(dtype), attributes);
    }
    for (uint32_t i = 0; i < call.input_count; i++) tensor_release(call.inputs[i]);
}

static void test_cuda_compiled_has_the_bits_of_the_interpreter_and_of_the_cpu(void **state) {
    (void)state;
    static const DType dtypes[] = {DTYPE_FLOAT32, DTYPE_FLOAT16, DTYPE_BFLOAT16, DTYPE_FLOAT64,
        DTYPE_INT8, DTYPE_UINT32, DTYPE_INT64, DTYPE_FLOAT32};
    OWN(Device, cpu) = NULL;
    assert_ok(device_open("cpu", &cpu));
    OWN(Device, compiling) = cuda_device_fixture_get("");
    OWN(Device, interpreting) = cuda_device_fixture_get("compile=off");
    for (uint64_t i = 0; i < sizeof dtypes / sizeof dtypes[0]; i++) {
        TextBuilder OWN_TEXT(attributes) = {0};
        group_fixture_random(dtypes[i], i, &attributes);
        check_program(cpu, compiling, interpreting, dtypes[i], text_builder_get(&attributes));
    }
}

/* The library's absence is tests/kernels/test_nvrtc_missing.c's. */
static void test_cuda_compiled_lists_its_kernel(void **state) {
    (void)state;
    const char *const options[] = {"", "compile=off"};
    for (int i = 0; i < 2; i++) {
        OWN(Device, device) = cuda_device_fixture_get(options[i]);
        bool found = false;
        for (const Kernel *const *table = device->class_->kernels(device); *table; table++)
            if (strcmp((*table)->name, "cuda.compiled_elementwise") == 0) found = true;
        assert_int_equal(found, i == 0);
    }
}

int test_cuda_compiled(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cuda_compiled_takes_groups_with_much_to_do),
        cmocka_unit_test(test_cuda_compiled_has_the_bits_of_the_interpreter_and_of_the_cpu),
        cmocka_unit_test(test_cuda_compiled_lists_its_kernel),
    };
    return cmocka_run_group_tests_name("cuda_compiled", tests, NULL, NULL);
}
