#include "tests/kernels/lower_fixture.h"

#include <math.h>
#include <stdlib.h>

#include "kernels/tensor/dtype_scalar.h"
#include "tests/support/test_random.h"

static void *random_weights(bool int8, int64_t count) {
    uint64_t seed = 11;
    void *weights = calloc((size_t)count + 1, 2);
    assert_non_null(weights);
    for (int64_t i = 0; i < count; i++) {
        const int64_t element = (int64_t)(test_random(&seed) % 255) - 127;
        if (int8)
            ((int8_t *)weights)[i] = (int8_t)element;
        else
            ((uint16_t *)weights)[i] = dtype_scalar_bfloat16((double)element / 128);
    }
    return weights;
}

KernelCall lower_fixture_call(bool int8, const char *name, const char *attributes,
    const Shape *left, const Shape *weights, const Shape *result, LowerOperands *out) {
    const int64_t columns = result->dims[result->rank - 1];
    const Shape row = {1, {columns}};
    *out = (LowerOperands){kernel_random_floats(1, shape_count_unchecked(left)),
        kernel_random_floats(2, columns), kernel_random_floats(3, columns),
        kernel_random_floats(4, shape_count_unchecked(result)),
        random_weights(int8, shape_count_unchecked(weights))};
    KernelCall call = {.name = name, .attributes = attributes, .output_count = 1};
    call.inputs[call.input_count++] = (KernelInput){DTYPE_FLOAT32, *left, out->left};
    call.inputs[call.input_count++] =
        (KernelInput){int8 ? DTYPE_INT8 : DTYPE_BFLOAT16, *weights, out->weights};
    if (int8) call.inputs[call.input_count++] = (KernelInput){DTYPE_FLOAT32, row, out->scales};
    call.inputs[call.input_count++] = (KernelInput){DTYPE_FLOAT32, row, out->bias};
    call.inputs[call.input_count++] = (KernelInput){DTYPE_FLOAT32, *result, out->residual};
    return call;
}

void lower_fixture_free(LowerOperands *operands) {
    free(operands->left);
    free(operands->weights);
    free(operands->scales);
    free(operands->bias);
    free(operands->residual);
}

void lower_fixture_check_runs(const KernelCall *call) {
    KernelResult plain;
    kernel_call_check_bits(kernel_cpu_device(), call, &plain);
    assert_true(kernel_call_check_packed(kernel_cpu_device(), call, 2, &plain));
    kernel_result_deinit(&plain);
}

void lower_fixture_check_portable(const KernelCall *call) {
    KernelResult fast, portable;
    assert_ok(kernel_call_run(kernel_cpu_device(), call, KERNEL_MODE_PLAIN, &fast));
    assert_ok(kernel_call_run(kernel_portable_device(), call, KERNEL_MODE_PLAIN, &portable));
    assert_memory_equal(fast.data[0], portable.data[0], fast.bytes[0]);
    kernel_result_deinit(&fast);
    kernel_result_deinit(&portable);
}

void lower_fixture_check_nan(const KernelCall *call, int64_t parts, int64_t size, int64_t wanted) {
    KernelResult result;
    assert_ok(kernel_call_run(kernel_cpu_device(), call, KERNEL_MODE_PLAIN, &result));
    assert_int_equal(result.bytes[0], (size_t)(parts * size) * sizeof(float));
    for (int64_t i = 0; i < parts * size; i++)
        assert_int_equal(isnan(kernel_result_at(&result, 0, i)), i / size == wanted);
    kernel_result_deinit(&result);
}
