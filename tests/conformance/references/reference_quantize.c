#include <math.h>
#include <string.h>

#include "kernels/tensor/dtype_scalar.h"
#include "tests/conformance/references/reference.h"

/* Integers of `bits` bits keep the lowest ones. */
static double wrap(double value, DType dtype) {
    const double count = ldexp(1, (int)dtype_bits(dtype));
    double low = dtype_is_signed(dtype) ? -count / 2 : 0;
    return value - floor((value - low) / count) * count;
}

static double saturate(double value, DType dtype) {
    const double count = ldexp(1, (int)dtype_bits(dtype));
    const double low = dtype_is_signed(dtype) ? -count / 2 : 0;
    return fmin(fmax(value, low), low + count - 1);
}

/* The number among all that the type has which is nearest; of two the one with the even code. */
static double nearest(double value, DType dtype) {
    const uint32_t count = 1u << dtype_bits(dtype);
    double best = NAN;
    uint32_t best_code = 0;
    for (uint32_t code = 0; code < count && !isnan(value); code++) {
        const double x = dtype_scalar_from_code(dtype, (uint8_t)code);
        if (!isfinite(x)) continue;
        const double distance = fabs(x - value), least = fabs(best - value);
        const bool even = distance == least && code % 2 == 0 && best_code % 2 == 1;
        if (!isnan(best) && distance >= least && !even) continue;
        best = x;
        best_code = code;
    }
    return best;
}

static double power_of_two(double value, const char *mode) {
    const double below = ldexp(1, (int)floor(log2(value)));
    if (value == below || strcmp(mode, "down") == 0) return below;
    if (strcmp(mode, "nearest") == 0) return value >= 1.5 * below ? 2 * below : below;
    return 2 * below;
}

void reference_cast(ReferenceCall *call) {
    const DType from = call->inputs[0].dtype, to = call->outputs[0].dtype;
    const char *mode = attributes_text(call->attributes, "round_mode");
    for (int64_t i = 0; i < call->outputs[0].count; i++) {
        double value = call->inputs[0].values[i];
        if (to == DTYPE_BOOL) value = value != 0;
        if (dtype_is_integer(to)) value = trunc(value);
        if (dtype_is_integer(to) && dtype_is_integer(from) && dtype_bits(to) <= 8)
            value = wrap(value, to);
        if (to == DTYPE_FLOAT8E8M0)
            value = value == 0 ? 0x1p-127 : power_of_two(fabs(value), mode);
        else if (dtype_is_float(to) && dtype_bits(to) <= 8)
            value = nearest(value, to);
        call->outputs[0].values[i] = value;
    }
}

/* Which scale the element of x at `index` has. */
static int64_t scale_of(const ReferenceCall *call, const int64_t *index) {
    const ReferenceTensor *x = &call->inputs[0], *scale = &call->inputs[1];
    const int64_t block = attributes_int(call->attributes, "block_size");
    if (scale->count == 1) return 0;
    const uint32_t axis = reference_axis(attributes_int(call->attributes, "axis"), x->shape.rank);
    if (block == 0) return index[axis];
    int64_t at[SHAPE_RANK_MAX];
    memcpy(at, index, sizeof at);
    at[axis] /= block;
    return reference_flat(&scale->shape, at);
}

void reference_quantize(ReferenceCall *call) {
    const ReferenceTensor *x = &call->inputs[0], *zero = &call->inputs[2];
    const DType to = call->outputs[0].dtype;
    int64_t index[SHAPE_RANK_MAX] = {0};
    for (int64_t i = 0; i < x->count; i++) {
        const int64_t scale = scale_of(call, index);
        double value = x->values[i] / call->inputs[1].values[scale];
        if (dtype_is_integer(to)) value = nearbyint(value);
        if (zero->present) value += zero->values[scale];
        call->outputs[0].values[i] =
            dtype_is_integer(to) ? saturate(value, to) : nearest(value, to);
        (void)reference_next(&x->shape, index);
    }
}

void reference_dequantize(ReferenceCall *call) {
    const ReferenceTensor *x = &call->inputs[0], *zero = &call->inputs[2];
    int64_t index[SHAPE_RANK_MAX] = {0};
    for (int64_t i = 0; i < x->count; i++) {
        const int64_t scale = scale_of(call, index);
        const double value = zero->present ? x->values[i] - zero->values[scale] : x->values[i];
        call->outputs[0].values[i] = value * call->inputs[1].values[scale];
        (void)reference_next(&x->shape, index);
    }
}

void reference_dynamic_quantize(ReferenceCall *call) {
    const ReferenceTensor *x = &call->inputs[0];
    double low = 0, high = 0;
    for (int64_t i = 0; i < x->count; i++) {
        low = fmin(low, x->values[i]);
        high = fmax(high, x->values[i]);
    }
    const float range = (float)high - (float)low;
    const float scale = range > 0 ? range / 255 : 1;
    const double zero = saturate(nearbyint((double)(-(float)low / scale)), DTYPE_UINT8);
    for (int64_t i = 0; i < x->count; i++)
        call->outputs[0].values[i] =
            saturate(nearbyint((double)((float)x->values[i] / scale)) + zero, DTYPE_UINT8);
    call->outputs[1].values[0] = (double)scale;
    call->outputs[2].values[0] = zero;
}

/* An operand of a matrix product with what there is one of for each row of A, or column of B. */
typedef struct Operand {
    const ReferenceTensor *matrix;
    bool rows;
    int64_t height, width;
} Operand;

static Operand operand_of(const ReferenceTensor *matrix, bool rows) {
    const Shape *shape = &matrix->shape;
    Operand operand = {matrix, rows, rows ? 1 : shape->dims[0], rows ? shape->dims[0] : 1};
    if (shape->rank == 1) return operand;
    operand.height = shape->dims[shape->rank - 2];
    operand.width = shape->dims[shape->rank - 1];
    return operand;
}

/* Element [.., row, column] of the operand's matrix that belongs to the result at `index`. */
static double at(const Operand *operand, const ReferenceTensor *from, uint32_t batch_rank,
    const int64_t *index, int64_t row, int64_t column) {
    const Shape *shape = &from->shape;
    if (from->count == 1) return from->values[0];
    if (shape->rank == 1)
        return from->values[from == operand->matrix ? (operand->rows ? column : row)
                                                    : (operand->rows ? row : column)];
    int64_t own[SHAPE_RANK_MAX] = {0};
    for (uint32_t i = 0; i + 2 < shape->rank; i++)
        own[i] = shape->dims[i] == 1 ? 0 : index[batch_rank - (shape->rank - 2) + i];
    own[shape->rank - 2] = shape->dims[shape->rank - 2] == 1 ? 0 : row;
    own[shape->rank - 1] = shape->dims[shape->rank - 1] == 1 ? 0 : column;
    return from->values[reference_flat(shape, own)];
}

static double zero_at(const Operand *operand, const ReferenceTensor *zero, uint32_t batch_rank,
    const int64_t *index, int64_t row, int64_t column) {
    return zero->present ? at(operand, zero, batch_rank, index, row, column) : 0;
}

/* Calls back with each sum of products less the zero points. */
static void multiply(ReferenceCall *call, uint32_t b_input, uint32_t a_zero, uint32_t b_zero,
    void (*write)(ReferenceCall *call, int64_t i, double sum, const Operand *a, const Operand *b,
        uint32_t batch_rank, const int64_t *index, int64_t row, int64_t column)) {
    const Operand a = operand_of(&call->inputs[0], true);
    const Operand b = operand_of(&call->inputs[b_input], false);
    const Shape *shape = &call->outputs[0].shape;
    const uint32_t left = a.matrix->shape.rank > 1, right = b.matrix->shape.rank > 1;
    const uint32_t batch_rank = shape->rank - left - right;
    int64_t index[SHAPE_RANK_MAX] = {0};
    for (int64_t i = 0; i < call->outputs[0].count; i++) {
        const int64_t row = left ? index[batch_rank] : 0;
        const int64_t column = right ? index[batch_rank + left] : 0;
        double sum = 0;
        for (int64_t k = 0; k < a.width; k++)
            sum += (at(&a, a.matrix, batch_rank, index, row, k) -
                       zero_at(&a, &call->inputs[a_zero], batch_rank, index, row, k)) *
                   (at(&b, b.matrix, batch_rank, index, k, column) -
                       zero_at(&b, &call->inputs[b_zero], batch_rank, index, k, column));
        write(call, i, sum, &a, &b, batch_rank, index, row, column);
        (void)reference_next(shape, index);
    }
}

static void write_sum(ReferenceCall *call, int64_t i, double sum, const Operand *a,
    const Operand *b, uint32_t batch_rank, const int64_t *index, int64_t row, int64_t column) {
    (void)a, (void)b, (void)batch_rank, (void)index, (void)row, (void)column;
    call->outputs[0].values[i] = sum;
}

void reference_matmul_integer(ReferenceCall *call) { multiply(call, 1, 2, 3, write_sum); }

/* Steps in float32, as the operator rounds them. */
static void write_scaled(ReferenceCall *call, int64_t i, double sum, const Operand *a,
    const Operand *b, uint32_t batch_rank, const int64_t *index, int64_t row, int64_t column) {
    const float scale = (float)at(a, &call->inputs[2], batch_rank, index, row, 0) *
                        (float)at(b, &call->inputs[3], batch_rank, index, 0, column);
    float value = (float)sum * scale;
    if (call->inputs[6].present) value += (float)call->inputs[6].values[column];
    if (call->inputs[7].present) value += (float)call->inputs[7].values[i];
    call->outputs[0].values[i] = (double)value;
}

void reference_fused_matmul_integer(ReferenceCall *call) {
    multiply(call, 1, 4, 5, write_scaled);
    reference_activate(call);
}

static void write_quantized(ReferenceCall *call, int64_t i, double sum, const Operand *a,
    const Operand *b, uint32_t batch_rank, const int64_t *index, int64_t row, int64_t column) {
    const double scale = at(a, &call->inputs[1], batch_rank, index, row, 0) *
                         at(b, &call->inputs[4], batch_rank, index, 0, column) /
                         call->inputs[6].values[0];
    const DType to = call->outputs[0].dtype;
    const double zero = call->inputs[7].values[0];
    if (call->input_count > 8) sum += call->inputs[8].values[column];
    call->outputs[0].values[i] = dtype_is_integer(to) ? saturate(nearbyint(sum * scale) + zero, to)
                                                      : nearest(sum * scale + zero, to);
}

void reference_qlinear_matmul(ReferenceCall *call) { multiply(call, 3, 2, 5, write_quantized); }

/* One number, or one for each filter. */
static double of_filter(const ReferenceTensor *from, int64_t filter) {
    if (!from->present) return 0;
    return from->values[from->count == 1 ? 0 : filter];
}

enum { SPATIAL_MAX = SHAPE_RANK_MAX - 2 };

/* The attributes of a convolution, read once a call. */
typedef struct ConvAttributes {
    int64_t group, stride[SPATIAL_MAX], dilation[SPATIAL_MAX], before[SPATIAL_MAX];
} ConvAttributes;

/* The attribute's element, or what it is where it is not given. */
static int64_t entry(
    const ReferenceCall *call, const char *name, uint32_t index, int64_t otherwise) {
    uint32_t count;
    const int64_t *values = attributes_ints(call->attributes, name, &count);
    return values ? values[index] : otherwise;
}

/* Padding before the input in a dimension, with SAME_UPPER what half of the missing comes to. */
static int64_t padding(const ReferenceCall *call, const ConvAttributes *read, uint32_t d,
    int64_t input, int64_t kernel) {
    const int64_t output = call->outputs[0].shape.dims[2 + d];
    if (strcmp(attributes_text(call->attributes, "auto_pad"), "SAME_UPPER") != 0)
        return entry(call, "pads", d, 0);
    const int64_t missing =
        (output - 1) * read->stride[d] + (kernel - 1) * read->dilation[d] + 1 - input;
    return missing > 0 ? missing / 2 : 0;
}

static ConvAttributes read_attributes(const ReferenceCall *call, const ReferenceTensor *w) {
    const Shape *input = &call->inputs[0].shape;
    ConvAttributes read = {.group = attributes_int(call->attributes, "group")};
    for (uint32_t d = 0; d + 2 < input->rank; d++) {
        read.stride[d] = entry(call, "strides", d, 1);
        read.dilation[d] = entry(call, "dilations", d, 1);
        read.before[d] = padding(call, &read, d, input->dims[2 + d], w->shape.dims[2 + d]);
    }
    return read;
}

static double convolve(const ReferenceCall *call, const ConvAttributes *read, uint32_t weights,
    uint32_t w_zero, const int64_t *index) {
    const ReferenceTensor *x = &call->inputs[0], *w = &call->inputs[weights];
    const int64_t channels = w->shape.dims[1],
                  first = index[1] / (w->shape.dims[0] / read->group) * channels;
    Shape taps = shape_make(w->shape.rank - 1, w->shape.dims + 1);
    int64_t tap[SHAPE_RANK_MAX] = {0};
    double sum = 0;
    for (int64_t k = 0; k < shape_count_unchecked(&taps); k++) {
        int64_t from[SHAPE_RANK_MAX] = {index[0], first + tap[0]};
        int64_t of[SHAPE_RANK_MAX] = {index[1], tap[0]};
        bool inside = true;
        for (uint32_t d = 0; d + 2 < x->shape.rank; d++) {
            of[2 + d] = tap[1 + d];
            from[2 + d] =
                index[2 + d] * read->stride[d] - read->before[d] + tap[1 + d] * read->dilation[d];
            inside = inside && from[2 + d] >= 0 && from[2 + d] < x->shape.dims[2 + d];
        }
        if (inside)
            sum += (x->values[reference_flat(&x->shape, from)] - of_filter(&call->inputs[2], 0)) *
                   (w->values[reference_flat(&w->shape, of)] -
                       of_filter(&call->inputs[w_zero], index[1]));
        (void)reference_next(&taps, tap);
    }
    return sum;
}

void reference_conv_integer(ReferenceCall *call) {
    const ConvAttributes read = read_attributes(call, &call->inputs[1]);
    int64_t index[SHAPE_RANK_MAX] = {0};
    for (int64_t i = 0; i < call->outputs[0].count; i++) {
        call->outputs[0].values[i] = convolve(call, &read, 1, 3, index);
        (void)reference_next(&call->outputs[0].shape, index);
    }
}

void reference_qlinear_conv(ReferenceCall *call) {
    const ConvAttributes read = read_attributes(call, &call->inputs[3]);
    int64_t index[SHAPE_RANK_MAX] = {0};
    for (int64_t i = 0; i < call->outputs[0].count; i++) {
        const double sum =
            convolve(call, &read, 3, 5, index) + of_filter(&call->inputs[8], index[1]);
        const double scale = of_filter(&call->inputs[1], 0) *
                             of_filter(&call->inputs[4], index[1]) / of_filter(&call->inputs[6], 0);
        call->outputs[0].values[i] = saturate(
            nearbyint(sum * scale) + of_filter(&call->inputs[7], 0), call->outputs[0].dtype);
        (void)reference_next(&call->outputs[0].shape, index);
    }
}
