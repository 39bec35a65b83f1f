#include "tests/kernels/cuda_fixture.h"

#include <math.h>

#include "kernels/registry/device_registry.h"
#include "tests/support/cuda_shim.h"
#include "tests/support/tensor_text.h"

typedef struct Mode {
    const char *spec;
    uint32_t offset, in_place;
} Mode;

static const Mode modes[] = {
    {"shim", 0, 0}, {"shim:reversed", 0, 0}, {"shim", 1, 0}, {"shim", 3, 1}, {"shim", 0, 2}};

static double allowed(const CudaCall *call, DType dtype) {
    const double few = call->roundings < 4 ? call->roundings : 4;
    if (dtype == DTYPE_FLOAT64) return call->roundings * 0x1p-53;
    if (dtype == DTYPE_FLOAT32) return call->roundings * 0x1p-24;
    return few * (dtype == DTYPE_FLOAT16 ? 0x1p-11 : 0x1p-8);
}

static void compare(const CudaCall *call, DType dtype, const Tensor *made, const Tensor *wanted) {
    assert_true(shape_equal(&made->shape, &wanted->shape));
    assert_int_equal(made->dtype, wanted->dtype);
    if (device_tensor_hash(made) == device_tensor_hash(wanted)) return;
    for (int64_t i = 0; i < shape_count_unchecked(&made->shape); i++) {
        double x = device_tensor_get(made, i), y = device_tensor_get(wanted, i);
        if (x == y || (isnan(x) && isnan(y)) ||
            fabs(x - y) <= allowed(call, made->dtype) * (1 + fabs(y)))
            continue;
        fail_msg("%s %s %s: element %lld is %.9g, not %.9g", call->operator_name,
            call->attributes ? call->attributes : "", dtype_name(dtype), (long long)i, x, y);
    }
}

/* One mode; the outputs' hash. */
static uint64_t run_mode(
    const CudaCall *call, DType dtype, DeviceCall *run, const Mode *mode, Tensor *const *wanted) {
    Tensor *outputs[DEVICE_CALL_OUTPUTS_MAX] = {0};
    const char *kernel_name = NULL;
    uint64_t hash = 0;
    OWN(Device, device) = NULL;
    assert_ok(cuda_shim_open(mode->spec, &device));
    run->device = device;
    run->offset_elements = mode->offset;
    run->in_place = mode->in_place;
    Error *error = device_call_run(run, outputs, &kernel_name);
    if (error) fail_msg("%s %s: %s", call->operator_name, dtype_name(dtype), error_message(error));
    assert_string_equal(kernel_name, call->kernel_name);
    for (uint32_t i = 0; i < run->output_count; i++) {
        hash = hash * 31 + device_tensor_hash(outputs[i]);
        compare(call, dtype, outputs[i], wanted[i]);
        if (call->roundings == 0 && device_tensor_hash(outputs[i]) != device_tensor_hash(wanted[i]))
            fail_msg("%s %s: other bits than the cpu's", call->operator_name, dtype_name(dtype));
        tensor_release(outputs[i]);
    }
    return hash;
}

static void check_call(const CudaCall *call, DType dtype) {
    Tensor *wanted[DEVICE_CALL_OUTPUTS_MAX] = {0};
    DeviceCall run = {.operator_name = call->operator_name,
        .attributes = call->attributes,
        .output_count = call->output_count,
        .philox_key = 7,
        .philox_counter = 5};
    OWN(Device, cpu) = NULL;
    assert_ok(device_open("cpu", &cpu));
    run.device = cpu;
    run.input_count = tensor_text_make(call->inputs, dtype, 100, run.inputs);
    Error *error = device_call_run(&run, wanted, NULL);
    if (error) fail_msg("%s %s: %s", call->operator_name, dtype_name(dtype), error_message(error));
    const uint64_t hash = run_mode(call, dtype, &run, &modes[0], wanted);
    for (size_t i = 1; i < sizeof modes / sizeof modes[0]; i++)
        if (run_mode(call, dtype, &run, &modes[i], wanted) != hash)
            fail_msg("%s %s: other bits with %s, offset %u, in place %u", call->operator_name,
                dtype_name(dtype), modes[i].spec, modes[i].offset, modes[i].in_place);
    for (uint32_t i = 0; i < run.input_count; i++) tensor_release(run.inputs[i]);
    for (uint32_t i = 0; i < run.output_count; i++) tensor_release(wanted[i]);
}

void cuda_fixture_check_all(const CudaCall *calls, size_t count) {
    for (size_t i = 0; i < count; i++)
        for (uint32_t dtype = 0; dtype < DTYPE_COUNT; dtype++)
            if (calls[i].dtypes >> dtype & 1) check_call(&calls[i], (DType)dtype);
}
