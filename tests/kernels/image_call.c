#include "tests/kernels/image_call.h"

#include <stdlib.h>

/* [N, C, pixels] to [N, pixels, C], or back. */
static float *moved(const float *from, int64_t images, int64_t channels, int64_t pixels) {
    float *to = malloc((size_t)(images * channels * pixels + 1) * sizeof *to);
    assert_non_null(to);
    for (int64_t n = 0; n < images; n++)
        for (int64_t c = 0; c < channels; c++)
            for (int64_t p = 0; p < pixels; p++)
                to[(n * pixels + p) * channels + c] = from[(n * channels + c) * pixels + p];
    return to;
}

static Shape last_of(const Shape *first) {
    return (Shape){4, {first->dims[0], first->dims[2], first->dims[3], first->dims[1]}};
}

/* [N, pixels, C], with the bias. */
static double *expected_of(
    const ConvCase *conv, const Shape *y, const float *x, const float *w, const float *bias) {
    const int64_t pixels = shape_product(y, 2, 4), count = shape_count_unchecked(y);
    double *first = conv_reference(conv, x, w);
    double *last = malloc((size_t)(count + 1) * sizeof *last);
    assert_non_null(last);
    for (int64_t i = 0; i < count; i++) {
        const int64_t channel = i / pixels % y->dims[1], image = i / pixels / y->dims[1];
        last[(image * pixels + i % pixels) * y->dims[1] + channel] =
            first[i] + (double)bias[channel];
    }
    free(first);
    return last;
}

/* The bits of the plain call. */
static void check_packed(
    const KernelCall *call, const char *kernel_name, const KernelResult *plain) {
    static const uint32_t threads[] = {1, 2, 3, 8};
    KernelResult first;
    for (uint32_t i = 0; i < sizeof threads / sizeof threads[0]; i++) {
        KernelResult result;
        const KernelMode mode = {
            .threads = threads[i], .offset = i, .packed = 2, .in_place = -1, .fill = (uint8_t)i};
        assert_ok(kernel_call_run(kernel_cpu_device(), call, mode, i ? &result : &first));
        if (i == 0) {
            assert_true(first.was_packed);
            assert_memory_equal(first.data[0], plain->data[0], plain->bytes[0]);
            assert_string_equal(first.kernel_name, kernel_name);
            continue;
        }
        assert_memory_equal(result.data[0], first.data[0], first.bytes[0]);
        kernel_result_deinit(&result);
    }
    kernel_result_deinit(&first);
}

void image_call_check(const ConvCase *conv, const char *kernel_name, double tolerance) {
    const Shape x_shape = conv_reference_input(conv), w_shape = conv_reference_weights(conv);
    const Shape y_shape = conv_reference_output(conv);
    const int64_t filters = conv->groups * conv->filters;
    float *x = kernel_random_floats(1, shape_count_unchecked(&x_shape));
    float *w = kernel_random_floats(2, shape_count_unchecked(&w_shape));
    float *bias = kernel_random_floats(3, filters);
    float *image = moved(x, x_shape.dims[0], x_shape.dims[1], shape_product(&x_shape, 2, 4));
    double *expected = expected_of(conv, &y_shape, x, w, bias);
    char attributes[256];
    conv_reference_attributes(conv, "channels_last=1, ", attributes, sizeof attributes);
    const KernelCall call = {
        .name = "FusedConv",
        .attributes = attributes,
        .input_count = 3,
        .output_count = 1,
        .inputs = {{DTYPE_FLOAT32, last_of(&x_shape), image}, {DTYPE_FLOAT32, w_shape, w},
            {DTYPE_FLOAT32, {1, {filters}}, bias}},
    };
    KernelResult plain;
    const Shape y_last = last_of(&y_shape);
    kernel_call_check_bits(kernel_cpu_device(), &call, &plain);
    assert_true(shape_equal(&plain.shapes[0], &y_last));
    kernel_check_close(&plain, 0, expected, tolerance);
    if (shape_count_unchecked(&y_shape) > 0) check_packed(&call, kernel_name, &plain);
    kernel_result_deinit(&plain);
    free(expected);
    free(image);
    free(bias);
    free(w);
    free(x);
}
