#include <complex.h>
#include <math.h>
#include <string.h>

#include "tests/conformance/references/reference.h"

static const double PI = 0x1.921fb54442d18p+1;

/* Number n along the axis of a tensor whose last dimension holds its parts; 0 behind the end. */
static double complex number(const ReferenceTensor *x, uint32_t axis, int64_t *index, int64_t n) {
    if (n >= x->shape.dims[axis]) return 0;
    index[axis] = n;
    index[x->shape.rank - 1] = 0;
    const double *at = x->values + reference_flat(&x->shape, index);
    return x->shape.dims[x->shape.rank - 1] == 2 ? at[0] + at[1] * I : at[0];
}

static double complex root(double k, double length) {
    return cexp(-2 * PI * I * fmod(k, length) / length);
}

void reference_dft(ReferenceCall *call) {
    const ReferenceTensor *x = &call->inputs[0], *given = &call->inputs[1];
    ReferenceTensor *out = &call->outputs[0];
    const bool inverse = attributes_int(call->attributes, "inverse") != 0;
    const bool half = inverse && attributes_int(call->attributes, "onesided") != 0;
    const uint32_t last = x->shape.rank - 1;
    const uint32_t axis = reference_axis(
        call->inputs[2].present ? (int64_t)call->inputs[2].values[0] : -2, x->shape.rank);
    const int64_t dim = x->shape.dims[axis];
    const int64_t length = given->present ? (int64_t)given->values[0] : half ? 2 * (dim - 1) : dim;
    int64_t index[SHAPE_RANK_MAX] = {0};
    for (int64_t i = 0; i < out->count; i++, (void)reference_next(&out->shape, index)) {
        int64_t from[SHAPE_RANK_MAX];
        double complex sum = 0;
        memcpy(from, index, sizeof from);
        for (int64_t n = 0; n < length; n++) {
            const bool mirrored = half && n > length / 2;
            double complex value = number(x, axis, from, mirrored ? length - n : n);
            if (mirrored) value = conj(value);
            const double complex w = root((double)n * (double)index[axis], (double)length);
            sum += value * (inverse ? conj(w) : w);
        }
        if (inverse) sum /= (double)length;
        out->values[i] = index[last] ? cimag(sum) : creal(sum);
    }
}

void reference_stft(ReferenceCall *call) {
    const ReferenceTensor *x = &call->inputs[0], *window = &call->inputs[2];
    ReferenceTensor *out = &call->outputs[0];
    int64_t length = x->shape.dims[1];
    if (window->present) length = window->count;
    if (call->inputs[3].present) length = (int64_t)call->inputs[3].values[0];
    int64_t index[SHAPE_RANK_MAX] = {0};
    for (int64_t i = 0; i < out->count; i++, (void)reference_next(&out->shape, index)) {
        const int64_t begin = index[1] * (int64_t)call->inputs[1].values[0];
        int64_t from[SHAPE_RANK_MAX] = {index[0]};
        double complex sum = 0;
        for (int64_t n = 0; n < length; n++)
            sum += number(x, 1, from, begin + n) * (window->present ? window->values[n] : 1) *
                   root((double)n * (double)index[2], (double)length);
        out->values[i] = index[3] ? cimag(sum) : creal(sum);
    }
}

void reference_window(ReferenceCall *call) {
    ReferenceTensor *out = &call->outputs[0];
    const double period =
        (double)(out->count - (attributes_int(call->attributes, "periodic") == 0));
    for (int64_t i = 0; i < out->count; i++) {
        const double angle = 2 * PI * (double)i / period;
        double value = 0.42 - 0.5 * cos(angle) + 0.08 * cos(2 * angle);
        if (call->operator_info->id == OPERATOR_HANN_WINDOW) value = pow(sin(angle / 2), 2);
        if (call->operator_info->id == OPERATOR_HAMMING_WINDOW)
            value = 25.0 / 46 - 21.0 / 46 * cos(angle);
        out->values[i] = dtype_is_integer(out->dtype) ? trunc(value) : value;
    }
}

void reference_mel_weight_matrix(ReferenceCall *call) {
    ReferenceTensor *out = &call->outputs[0];
    const int64_t bands = out->shape.dims[1];
    const double length = call->inputs[1].values[0], rate = call->inputs[2].values[0];
    const double low = 2595 * log10(1 + call->inputs[3].values[0] / 700);
    const double high = 2595 * log10(1 + call->inputs[4].values[0] / 700);
    for (int64_t band = 0; band < bands; band++) {
        double edge[3];
        for (int64_t k = 0; k < 3; k++) {
            const double mel = low + (double)(band + k) * (high - low) / (double)(bands + 2);
            edge[k] = floor((length + 1) * 700 * (pow(10, mel / 2595) - 1) / rate);
        }
        for (int64_t bin = 0; bin < out->shape.dims[0]; bin++) {
            const double at = (double)bin;
            double value = 0;
            if (at >= edge[0] && at < edge[1]) value = (at - edge[0]) / (edge[1] - edge[0]);
            if (at >= edge[1] && at < edge[2]) value = (edge[2] - at) / (edge[2] - edge[1]);
            if (at == edge[1]) value = 1;
            out->values[bin * bands + band] = dtype_is_integer(out->dtype) ? trunc(value) : value;
        }
    }
}
