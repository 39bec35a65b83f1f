/* The arithmetic is done in float64, which gives the same result on every machine. */
#include "compiler/passes/lower_weights.h"

#include <math.h>

#include "kernels/device/device.h"
#include "kernels/tensor/dtype_scalar.h"

enum { BYTE_MAX = 127 };

typedef struct Matrix {
    const float *data;
    int64_t depth, columns, row, column;
    double alpha;
} Matrix;

static Matrix matrix_of(const LowerWeights *weights) {
    const int64_t *dims = weights->tensor->shape.dims;
    Matrix matrix = {tensor_data(weights->tensor), dims[0], dims[1], dims[1], 1, weights->alpha};
    if (weights->transposed)
        matrix.depth = dims[1], matrix.columns = dims[0], matrix.row = 1, matrix.column = dims[1];
    if (weights->is_filters) {
        const Shape *shape = &weights->tensor->shape;
        matrix.depth = matrix.column = shape_product(shape, 1, shape->rank);
        matrix.columns = dims[0], matrix.row = 1;
    }
    return matrix;
}

/* The strides of the new weights. */
typedef struct Order {
    int64_t row, column;
    Shape shape;
} Order;

static Order order_of(const LowerWeights *weights, const Matrix *matrix) {
    if (weights->is_filters) return (Order){1, matrix->depth, weights->tensor->shape};
    const int64_t dims[2] = {matrix->depth, matrix->columns};
    return (Order){matrix->columns, 1, shape_make(2, dims)};
}

static double at(const Matrix *matrix, int64_t k, int64_t n) {
    return (double)matrix->data[k * matrix->row + n * matrix->column] * matrix->alpha;
}

static Error *create(DType dtype, const Shape *shape, Tensor **out) {
    return tensor_create_on_host(device_host(), dtype, shape, out);
}

Error *lower_weights_bfloat16(const LowerWeights *weights, Tensor **out) {
    const Matrix matrix = matrix_of(weights);
    const Order order = order_of(weights, &matrix);
    OWN(Tensor, made) = NULL;
    *out = NULL;
    TRY(create(DTYPE_BFLOAT16, &order.shape, &made));
    uint16_t *to = tensor_data(made);
    bool finite = true;
    for (int64_t k = 0; k < matrix.depth; k++)
        for (int64_t n = 0; n < matrix.columns; n++) {
            const uint16_t element = dtype_scalar_bfloat16(at(&matrix, k, n));
            finite = finite && (element & 0x7F80) != 0x7F80;
            to[k * order.row + n * order.column] = element;
        }
    if (finite) *out = TAKE(made);
    return NULL;
}

/* The scale of a column; not finite if an element is not. */
static float scale_of(const Matrix *matrix, int64_t n) {
    double most = 0;
    for (int64_t k = 0; k < matrix->depth; k++) {
        const double magnitude = fabs(at(matrix, k, n));
        if (!isfinite(magnitude)) return INFINITY;
        most = magnitude > most ? magnitude : most;
    }
    return (float)(most / BYTE_MAX);
}

Error *lower_weights_int8(const LowerWeights *weights, Tensor **out, Tensor **out_scales) {
    const Matrix matrix = matrix_of(weights);
    const Order order = order_of(weights, &matrix);
    const Shape per_column = shape_make(1, &matrix.columns);
    OWN(Tensor, made) = NULL;
    OWN(Tensor, scales) = NULL;
    *out = NULL;
    TRY(create(DTYPE_INT8, &order.shape, &made));
    TRY(create(DTYPE_FLOAT32, &per_column, &scales));
    int8_t *to = tensor_data(made);
    float *scale = tensor_data(scales);
    for (int64_t n = 0; n < matrix.columns; n++) {
        scale[n] = scale_of(&matrix, n);
        if (!isfinite(scale[n])) return NULL;
        /* a column of zeros, or of numbers too small for a float32 scale, becomes zeros */
        const double inverse = scale[n] > 0 ? 1 / (double)scale[n] : 0;
        for (int64_t k = 0; k < matrix.depth; k++) {
            const double element = rint(at(&matrix, k, n) * inverse);
            to[k * order.row + n * order.column] = (int8_t)(element > BYTE_MAX    ? BYTE_MAX
                                                            : element < -BYTE_MAX ? -BYTE_MAX
                                                                                  : element);
        }
    }
    *out = TAKE(made);
    *out_scales = TAKE(scales);
    return NULL;
}
