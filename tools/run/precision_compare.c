#include "tools/run/precision_compare.h"

#include <math.h>

#include "kernels/tensor/dtype_scalar.h"

static double element(const NamedArray *array, int64_t at) {
    double value = 0;
    (void)dtype_scalar_read(
        array->dtype, array->data + (uint64_t)at * (dtype_bits(array->dtype) / 8), &value);
    return value;
}

static int64_t arg_max(const NamedArray *array, int64_t first, int64_t count) {
    int64_t best = 0;
    for (int64_t i = 1; i < count; i++)
        if (element(array, first + i) > element(array, first + best)) best = i;
    return best;
}

static double argmax_agreement(
    const NamedArray *expected, const NamedArray *got, int64_t count, int64_t columns) {
    int64_t same = 0;
    for (int64_t first = 0; first < count; first += columns)
        same += arg_max(expected, first, columns) == arg_max(got, first, columns);
    const int64_t rows = count / columns;
    return (double)same / (double)rows;
}

/* The difference of two equal infinities, or of two NaNs, is 0. */
static double difference(double a, double b) {
    if (a == b || (isnan(a) && isnan(b))) return 0;
    return fabs(a - b);
}

bool precision_compare(const NamedArray *expected, const NamedArray *got, PrecisionErrors *out) {
    double probe, error = 0, size = 0;
    const uint8_t zero[8] = {0};
    if (!got || got->dtype != expected->dtype || !shape_equal(&got->shape, &expected->shape) ||
        dtype_bits(got->dtype) < 8 || !dtype_scalar_read(got->dtype, zero, &probe))
        return false;
    const int64_t count = shape_count_unchecked(&got->shape);
    const uint32_t rank = got->shape.rank;
    int64_t equal = 0;
    *out = (PrecisionErrors){.whole = !dtype_is_float(got->dtype), .equal = 1};
    for (int64_t i = 0; i < count; i++) {
        const double wanted = element(expected, i), delta = difference(element(got, i), wanted);
        /* a NaN stays */
        out->max_abs = delta > out->max_abs || isnan(delta) ? delta : out->max_abs;
        error += delta * delta;
        size += wanted * wanted;
        equal += delta == 0;
    }
    out->rms_relative = sqrt(size > 0 ? error / size : error);
    if (count > 0) out->equal = (double)equal / (double)count;
    out->rows =
        dtype_is_float(got->dtype) && rank >= 2 && count > 0 && got->shape.dims[rank - 1] > 1;
    if (out->rows) out->argmax = argmax_agreement(expected, got, count, got->shape.dims[rank - 1]);
    return true;
}
