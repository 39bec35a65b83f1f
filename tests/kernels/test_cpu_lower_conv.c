#include <math.h>
#include <stdlib.h>

#include "kernels/dtype_scalar.h"
#include "tests/kernels/kernel_call.h"
#include "tests/support/test_random.h"

typedef struct Operands {
    float *x, *scales, *bias, *residual;
    void *w;
} Operands;

typedef struct Sizes {
    int64_t images, height, width, channels, filters, kernel_height, kernel_width;
    const char *attributes;
    int64_t output_height, output_width;
} Sizes;

/* With everything that may follow. */
static KernelCall call_of(bool int8, const Sizes *sizes, Operands *out) {
    const int64_t pixels = sizes->images * sizes->height * sizes->width;
    const int64_t outputs = sizes->images * sizes->output_height * sizes->output_width;
    const int64_t filter = sizes->channels * sizes->kernel_height * sizes->kernel_width;
    uint64_t seed = 11;
    *out = (Operands){kernel_random_floats(1, pixels * sizes->channels),
        kernel_random_floats(2, sizes->filters), kernel_random_floats(3, sizes->filters),
        kernel_random_floats(4, outputs * sizes->filters),
        calloc((size_t)(filter * sizes->filters), 2)};
    assert_non_null(out->w);
    for (int64_t i = 0; i < filter * sizes->filters; i++) {
        const int64_t element = (int64_t)(test_random(&seed) % 255) - 127;
        if (int8)
            ((int8_t *)out->w)[i] = (int8_t)element;
        else
            ((uint16_t *)out->w)[i] = dtype_scalar_bfloat16((double)element / 128);
    }
    const Shape row = {1, {sizes->filters}};
    KernelCall call = {.name = int8 ? "FusedConvInt8" : "FusedConvBFloat16",
        .attributes = sizes->attributes,
        .output_count = 1};
    call.inputs[call.input_count++] = (KernelInput){
        DTYPE_FLOAT32, {4, {sizes->images, sizes->height, sizes->width, sizes->channels}}, out->x};
    call.inputs[call.input_count++] = (KernelInput){int8 ? DTYPE_INT8 : DTYPE_BFLOAT16,
        {4, {sizes->filters, sizes->channels, sizes->kernel_height, sizes->kernel_width}}, out->w};
    if (int8) call.inputs[call.input_count++] = (KernelInput){DTYPE_FLOAT32, row, out->scales};
    call.inputs[call.input_count++] = (KernelInput){DTYPE_FLOAT32, row, out->bias};
    call.inputs[call.input_count++] = (KernelInput){DTYPE_FLOAT32,
        {4, {sizes->images, sizes->output_height, sizes->output_width, sizes->filters}},
        out->residual};
    return call;
}

static void operands_free(Operands *operands) {
    free(operands->x);
    free(operands->w);
    free(operands->scales);
    free(operands->bias);
    free(operands->residual);
}

/* Threads, odd addresses, in place, packed weights: one result. More than one tile in every
 * direction, blocks of the depth, rows of outputs that do not fit a tile, dilated windows. */
static void test_lower_convolutions_have_the_same_bits_however_they_run(void **state) {
    (void)state;
    static const Sizes sizes[] = {
        {2, 17, 9, 8, 70, 3, 3, "{activation=\"relu\", pads=[1, 1, 1, 1]}", 17, 9},
        {1, 4, 210, 20, 20, 3, 2, "{activation=\"gelu_erf\", dilations=[1, 2]}", 2, 208},
        {3, 7, 7, 132, 24, 3, 3, "{pads=[1, 0, 1, 2], strides=[2, 2]}", 4, 4},
        {1, 1, 1, 4, 1, 1, 1, "{}", 1, 1},
    };
    for (int int8 = 0; int8 < 2; int8++)
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
            Operands operands;
            KernelResult plain;
            const KernelCall call = call_of(int8, &sizes[i], &operands);
            kernel_call_check_bits(kernel_cpu_device(), &call, &plain);
            assert_true(kernel_call_check_packed(kernel_cpu_device(), &call, 2, &plain));
            kernel_result_deinit(&plain);
            operands_free(&operands);
        }
}

/* Sums of integers: the portable device gives what every other does. */
static void test_int8_has_the_same_bits_on_the_portable_device(void **state) {
    (void)state;
    static const Sizes sizes = {2, 9, 8, 12, 33, 3, 3, "{pads=[1, 1, 1, 1]}", 9, 8};
    Operands operands;
    KernelResult fast, portable;
    const KernelCall call = call_of(true, &sizes, &operands);
    assert_ok(kernel_call_run(kernel_cpu_device(), &call, KERNEL_MODE_PLAIN, &fast));
    assert_ok(kernel_call_run(kernel_portable_device(), &call, KERNEL_MODE_PLAIN, &portable));
    assert_memory_equal(fast.data[0], portable.data[0], fast.bytes[0]);
    kernel_result_deinit(&fast);
    kernel_result_deinit(&portable);
    operands_free(&operands);
}

static void test_images_without_a_finite_range_give_nan_alone(void **state) {
    (void)state;
    static const Sizes sizes = {3, 5, 5, 4, 6, 3, 3, NULL, 3, 3};
    Operands operands;
    KernelResult result;
    const KernelCall call = call_of(true, &sizes, &operands);
    operands.x[100 + 99] = -INFINITY; /* the second image's last */
    assert_ok(kernel_call_run(kernel_cpu_device(), &call, KERNEL_MODE_PLAIN, &result));
    for (int64_t i = 0; i < 3 * 54; i++)
        assert_int_equal(isnan(kernel_result_at(&result, 0, i)), i / 54 == 1);
    kernel_result_deinit(&result);
    operands_free(&operands);
}

int test_cpu_lower_conv(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lower_convolutions_have_the_same_bits_however_they_run),
        cmocka_unit_test(test_int8_has_the_same_bits_on_the_portable_device),
        cmocka_unit_test(test_images_without_a_finite_range_give_nan_alone),
    };
    return cmocka_run_group_tests_name("cpu_lower_conv", tests, NULL, NULL);
}
