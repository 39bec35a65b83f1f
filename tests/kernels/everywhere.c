#include "tests/kernels/everywhere.h"

#include <math.h>

#include "kernels/registry/device_registry.h"

typedef struct Mode {
    uint32_t threads, offset, in_place;
} Mode;

Device *everywhere_cpu(void) {
    static Device *device;
    if (!device) assert_ok(device_open("cpu:threads=8", &device));
    return device;
}

Device *everywhere_portable(void) {
    static Device *device;
    if (!device) assert_ok(device_open_portable(&device));
    return device;
}

static void compare_mode(
    const DeviceCall *call, Device *device, const Mode *mode, Tensor *const *expected) {
    Tensor *outputs[DEVICE_CALL_OUTPUTS_MAX] = {0};
    uint32_t count = call->output_count ? call->output_count : 1;
    DeviceCall other = *call;
    other.device = device;
    other.threads = mode->threads;
    other.offset_elements = mode->offset;
    other.in_place = mode->in_place;
    assert_ok(device_call_run(&other, outputs, NULL));
    for (uint32_t i = 0; i < count; i++) {
        if (device_tensor_hash(outputs[i]) != device_tensor_hash(expected[i]))
            fail_msg("%s %s: output %u differs on %s with %u threads, offset %u, in place %u",
                call->operator_name, call->attributes ? call->attributes : "", i,
                device == everywhere_cpu() ? "cpu" : "the portable device", mode->threads,
                mode->offset, mode->in_place);
        tensor_release(outputs[i]);
    }
}

void everywhere_run(const DeviceCall *call, Tensor **out_outputs) {
    static const Mode modes[] = {
        {2, 0, 0}, {3, 1, 0}, {8, 3, 0}, {1, 0, 1}, {2, 1, 2}, {1, 3, 3}, {1, 5, 0}};
    DeviceCall plain = *call;
    plain.device = everywhere_cpu();
    assert_ok(device_call_run(&plain, out_outputs, NULL));
    for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++) {
        compare_mode(call, everywhere_cpu(), &modes[i], out_outputs);
        compare_mode(call, everywhere_portable(), &modes[i], out_outputs);
    }
}

void everywhere_compare(const Tensor *tensor, const double *expected, double tolerance) {
    int64_t count = shape_count_unchecked(&tensor->shape);
    for (int64_t i = 0; i < count; i++) {
        double got = device_tensor_get(tensor, i);
        if (isnan(expected[i]) ? isnan(got) : got == expected[i]) continue;
        if (fabs(got - expected[i]) <= tolerance * fabs(expected[i])) continue;
        fail_msg("element %lld of %lld is %.17g, not %.17g", (long long)i, (long long)count, got,
            expected[i]);
    }
}

void everywhere_check(const DeviceCall *call, const double *expected, double tolerance) {
    Tensor *outputs[DEVICE_CALL_OUTPUTS_MAX] = {0};
    everywhere_run(call, outputs);
    everywhere_compare(outputs[0], expected, tolerance);
    for (uint32_t i = 0; i < DEVICE_CALL_OUTPUTS_MAX; i++) tensor_release(outputs[i]);
}

void everywhere_release(DeviceCall *call) {
    for (uint32_t i = 0; i < DEVICE_CALL_INPUTS_MAX; i++) tensor_release(call->inputs[i]);
    memset(call->inputs, 0, sizeof call->inputs);
}
