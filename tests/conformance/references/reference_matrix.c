#include <math.h>
#include <string.h>

#include "tests/conformance/references/reference.h"

/* An operand as a batch of matrices, with the last two dimensions swapped or not. */
typedef struct Matrix {
    const ReferenceTensor *tensor;
    Shape batch;
    int64_t rows, columns; /* after swapping */
    bool swapped;
    bool rows_first; /* [rows, .., columns] */
} Matrix;

static Matrix matrix(const ReferenceTensor *tensor, bool swapped, bool left) {
    const Shape *shape = &tensor->shape;
    Matrix m = {.tensor = tensor, .swapped = swapped};
    if (shape->rank == 1) {
        m.rows = left ? 1 : shape->dims[0];
        m.columns = left ? shape->dims[0] : 1;
        return m;
    }
    m.batch = shape_make(shape->rank - 2, shape->dims);
    m.rows = shape->dims[shape->rank - (swapped ? 1 : 2)];
    m.columns = shape->dims[shape->rank - (swapped ? 2 : 1)];
    return m;
}

static double at(
    const Matrix *m, const Shape *batch, const int64_t *index, int64_t row, int64_t column) {
    int64_t own[SHAPE_RANK_MAX] = {0};
    uint32_t lead = batch->rank - m->batch.rank;
    for (uint32_t i = 0; i < m->batch.rank; i++)
        own[i] = m->batch.dims[i] == 1 ? 0 : index[lead + i];
    if (m->rows_first) {
        const int64_t matrix = reference_flat(&m->batch, own);
        const int64_t r = m->swapped ? column : row, c = m->swapped ? row : column;
        const int64_t width = m->swapped ? m->rows : m->columns;
        return m->tensor->values[(r * shape_count_unchecked(&m->batch) + matrix) * width + c];
    }
    int64_t base = reference_flat(&m->batch, own) * m->rows * m->columns;
    return m->tensor
        ->values[base + (m->swapped ? column * m->rows + row : row * m->columns + column)];
}

/* The rows stand in the first dimension. */
static Matrix matrix_rows_first(const ReferenceTensor *tensor, bool swapped) {
    const Shape *shape = &tensor->shape;
    const int64_t rows = shape->dims[0], columns = shape->dims[shape->rank - 1];
    return (Matrix){.tensor = tensor,
        .batch = shape_make(shape->rank - 2, shape->dims + 1),
        .rows = swapped ? columns : rows,
        .columns = swapped ? rows : columns,
        .swapped = swapped,
        .rows_first = true};
}

static void multiply(const Matrix *a, const Matrix *b, ReferenceTensor *out) {
    Shape batch = {0};
    bool vector_a = a->tensor->shape.rank == 1, vector_b = b->tensor->shape.rank == 1;
    uint32_t matrix_rank = (uint32_t)!vector_a + (uint32_t)!vector_b;
    batch = shape_make(out->shape.rank - matrix_rank, out->shape.dims);
    int64_t index[SHAPE_RANK_MAX] = {0}, to = 0;
    for (int64_t n = 0; n < shape_count_unchecked(&batch); n++) {
        for (int64_t i = 0; i < a->rows; i++)
            for (int64_t j = 0; j < b->columns; j++) {
                double sum = 0;
                for (int64_t k = 0; k < a->columns; k++)
                    sum += at(a, &batch, index, i, k) * at(b, &batch, index, k, j);
                out->values[to++] = sum;
            }
        (void)reference_next(&batch, index);
    }
}

/* MatMul, Gemm: [alpha] * A' B' [+ beta * C]. */
void reference_matmul(ReferenceCall *call) {
    const Attributes *attributes = call->attributes;
    bool gemm = call->operator_info->id == OPERATOR_GEMM;
    bool swap_a = gemm && attributes_int(attributes, "transA");
    bool swap_b = gemm && attributes_int(attributes, "transB");
    Matrix a = matrix(&call->inputs[0], swap_a, true), b = matrix(&call->inputs[1], swap_b, false);
    ReferenceTensor *out = &call->outputs[0];
    multiply(&a, &b, out);
    int64_t index[SHAPE_RANK_MAX] = {0};
    for (int64_t i = 0; gemm && i < out->count; i++, (void)reference_next(&out->shape, index)) {
        out->values[i] *= attributes_float(attributes, "alpha");
        if (call->inputs[2].present)
            out->values[i] += attributes_float(attributes, "beta") *
                              reference_broadcast(&call->inputs[2], &out->shape, index);
    }
}

static double activate(const Attributes *attributes, double x) {
    const char *name = attributes_text(attributes, "activation");
    double alpha = attributes_float(attributes, "activation_alpha");
    if (strcmp(name, "relu") == 0) return fmax(x, 0);
    if (strcmp(name, "leaky_relu") == 0) return x < 0 ? alpha * x : x;
    if (strcmp(name, "clip") == 0)
        return fmin(fmax(x, alpha), attributes_float(attributes, "activation_beta"));
    if (strcmp(name, "tanh") == 0) return tanh(x);
    if (strcmp(name, "sigmoid") == 0) return 1 / (1 + exp(-x));
    if (strcmp(name, "hard_swish") == 0) return x * fmax(0, fmin(1, x / 6 + 0.5));
    if (strcmp(name, "scaled_hard_swish") == 0)
        return x * fmax(0, fmin(1, x / 6 + 0.5)) * alpha +
               attributes_float(attributes, "activation_beta");
    if (strcmp(name, "swish") == 0) return x / (1 + exp(-alpha * x));
    if (strcmp(name, "mish") == 0) return x * tanh(log1p(exp(x)));
    if (strcmp(name, "gelu_erf") == 0) return reference_gelu(x, false);
    if (strcmp(name, "gelu_tanh") == 0) return reference_gelu(x, true);
    return x;
}

void reference_activate(ReferenceCall *call) {
    ReferenceTensor *out = &call->outputs[0];
    for (int64_t i = 0; i < out->count; i++)
        out->values[i] = activate(call->attributes, out->values[i]);
}

void reference_fused_matmul(ReferenceCall *call) {
    const Attributes *attributes = call->attributes;
    Matrix a = matrix(&call->inputs[0], attributes_int(attributes, "transA") != 0, true);
    Matrix b = matrix(&call->inputs[1], attributes_int(attributes, "transB") != 0, false);
    ReferenceTensor *out = &call->outputs[0];
    multiply(&a, &b, out);
    int64_t index[SHAPE_RANK_MAX] = {0};
    for (int64_t i = 0; i < out->count; i++, (void)reference_next(&out->shape, index)) {
        double x = out->values[i] * attributes_float(attributes, "alpha");
        if (call->inputs[2].present) x += reference_broadcast(&call->inputs[2], &out->shape, index);
        if (call->inputs[3].present) x += call->inputs[3].values[i];
        out->values[i] = activate(attributes, x);
    }
}

void reference_fused_conv(ReferenceCall *call) {
    reference_conv(call);
    for (int64_t i = 0; i < call->outputs[0].count; i++) {
        double x = call->outputs[0].values[i];
        if (call->inputs[3].present) x += call->inputs[3].values[i];
        call->outputs[0].values[i] = activate(call->attributes, x);
    }
}

enum { KEYS_MAX = 64 };

void reference_attention(ReferenceCall *call) {
    const Attributes *attributes = call->attributes;
    Matrix q = matrix(&call->inputs[0], false, true), v = matrix(&call->inputs[2], false, true);
    Matrix k = matrix(&call->inputs[1], !attributes_int(attributes, "transposed_key"), false);
    if (attributes_int(attributes, "key_rows_first")) k = matrix_rows_first(&call->inputs[1], true);
    if (attributes_int(attributes, "value_rows_first"))
        v = matrix_rows_first(&call->inputs[2], false);
    double scale = attributes_float(attributes, "scale"), weights[KEYS_MAX];
    ReferenceTensor *out = &call->outputs[0];
    Shape batch = shape_make(out->shape.rank - 2, out->shape.dims), scores = out->shape;
    scores.dims[scores.rank - 1] = v.rows;
    int64_t index[SHAPE_RANK_MAX] = {0};
    for (int64_t row = 0; row < out->count / v.columns; row++) {
        double high = -INFINITY, sum = 0;
        int64_t s = row % q.rows;
        index[scores.rank - 2] = s;
        for (int64_t t = 0; t < v.rows; t++) {
            weights[t] = 0;
            for (int64_t d = 0; d < q.columns; d++)
                weights[t] += at(&q, &batch, index, s, d) * at(&k, &batch, index, d, t);
            weights[t] *= scale;
            index[scores.rank - 1] = t;
            if (call->inputs[3].present)
                weights[t] += reference_broadcast(&call->inputs[3], &scores, index);
            high = fmax(high, weights[t]);
        }
        for (int64_t t = 0; t < v.rows; t++) sum += weights[t] = exp(weights[t] - high);
        if (isnan(sum) && attributes_int(attributes, "zero_nan")) {
            memset(weights, 0, sizeof weights);
            sum = 1;
        }
        for (int64_t e = 0; e < v.columns; e++) {
            double y = 0;
            for (int64_t t = 0; t < v.rows; t++)
                y += weights[t] / sum * at(&v, &batch, index, t, e);
            out->values[row * v.columns + e] = y;
        }
        if (s == q.rows - 1) (void)reference_next(&batch, index);
    }
}
