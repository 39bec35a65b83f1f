/* libcublasLt.so.13 for the fake driver: cublasLtMatmul as a sum of products, in the stream's turn.
 * What a real one refuses (sizes, steps, alignments that do not fit) it refuses, too. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/tensor/dtype_scalar.h"
#include "tests/support/fake_cuda/fake_driver.h"

struct cublasLtMatmulDesc {
    int compute, transposed[2], epilogue;
    uint64_t bias;
};
struct cublasLtMatrixLayout {
    int type;
    uint64_t rows, columns;
    int64_t step, batch_step;
    int32_t batch_count;
};
struct cublasLtMatmulPreference {
    uint64_t workspace_bytes;
    uint32_t schemes, alignments[4];
};

typedef struct Matrix {
    struct cublasLtMatrixLayout layout;
    uint64_t address;
    bool transposed;
} Matrix;

typedef struct Product {
    struct cublasLtMatmulDesc desc;
    Matrix a, b, c, d;
    float alpha, beta;
} Product;

enum {
    WORKSPACE_BYTES = 1024,
    ALGORITHM = 77,
    VERSION = 130000,
    ALIGNMENT = 256 /* of operands, unless said */
};

FAKE_CUDA_EXPORT size_t cublasLtGetVersion(void) { return VERSION; }
FAKE_CUDA_EXPORT const char *cublasLtGetStatusName(int status) {
    return status == CUBLAS_STATUS_INVALID_VALUE ? "CUBLAS_STATUS_INVALID_VALUE"
                                                 : "CUBLAS_STATUS_other";
}
FAKE_CUDA_FUNCTION cublasLtCreate(CublasHandle *out) {
    *out = malloc(1);
    return *out ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_ALLOC_FAILED;
}
FAKE_CUDA_FUNCTION cublasLtDestroy(CublasHandle handle) {
    free(handle);
    return CUBLAS_STATUS_SUCCESS;
}

/* ---- descriptions ---- */

FAKE_CUDA_FUNCTION cublasLtMatmulDescCreate(CublasMatmulDesc *out, int compute, int scale) {
    *out = calloc(1, sizeof **out);
    if (!*out) return CUBLAS_STATUS_ALLOC_FAILED;
    **out = (struct cublasLtMatmulDesc){.compute = compute, .epilogue = CUBLASLT_EPILOGUE_DEFAULT};
    return scale == CUDA_R_32F ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_INVALID_VALUE;
}

static int assign(void *to, size_t to_size, const void *value, size_t size) {
    if (size != to_size) return CUBLAS_STATUS_INVALID_VALUE;
    memcpy(to, value, size);
    return CUBLAS_STATUS_SUCCESS;
}

FAKE_CUDA_FUNCTION cublasLtMatmulDescSetAttribute(
    CublasMatmulDesc desc, int attribute, const void *value, size_t size) {
    if (attribute == CUBLASLT_MATMUL_DESC_TRANSA)
        return assign(&desc->transposed[0], sizeof(int), value, size);
    if (attribute == CUBLASLT_MATMUL_DESC_TRANSB)
        return assign(&desc->transposed[1], sizeof(int), value, size);
    if (attribute == CUBLASLT_MATMUL_DESC_EPILOGUE)
        return assign(&desc->epilogue, sizeof(int), value, size);
    if (attribute == CUBLASLT_MATMUL_DESC_BIAS_POINTER)
        return assign(&desc->bias, sizeof(void *), value, size);
    return CUBLAS_STATUS_INVALID_VALUE;
}

FAKE_CUDA_FUNCTION cublasLtMatmulDescDestroy(CublasMatmulDesc desc) {
    free(desc);
    return CUBLAS_STATUS_SUCCESS;
}

FAKE_CUDA_FUNCTION cublasLtMatrixLayoutCreate(
    CublasLayout *out, int type, uint64_t rows, uint64_t columns, int64_t step) {
    if (!rows || !columns || step < (int64_t)rows) return CUBLAS_STATUS_INVALID_VALUE;
    *out = calloc(1, sizeof **out);
    if (!*out) return CUBLAS_STATUS_ALLOC_FAILED;
    **out = (struct cublasLtMatrixLayout){type, rows, columns, step, 0, 1};
    return CUBLAS_STATUS_SUCCESS;
}

FAKE_CUDA_FUNCTION cublasLtMatrixLayoutSetAttribute(
    CublasLayout layout, int attribute, const void *value, size_t size) {
    if (attribute == CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT)
        return assign(&layout->batch_count, sizeof(int32_t), value, size);
    if (attribute == CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET)
        return assign(&layout->batch_step, sizeof(int64_t), value, size);
    return CUBLAS_STATUS_INVALID_VALUE;
}

FAKE_CUDA_FUNCTION cublasLtMatrixLayoutDestroy(CublasLayout layout) {
    free(layout);
    return CUBLAS_STATUS_SUCCESS;
}

FAKE_CUDA_FUNCTION cublasLtMatmulPreferenceCreate(CublasPreference *out) {
    *out = calloc(1, sizeof **out);
    if (!*out) return CUBLAS_STATUS_ALLOC_FAILED;
    for (size_t i = 0; i < sizeof(*out)->alignments / sizeof(*out)->alignments[0]; i++)
        (*out)->alignments[i] = ALIGNMENT;
    return CUBLAS_STATUS_SUCCESS;
}

FAKE_CUDA_FUNCTION cublasLtMatmulPreferenceSetAttribute(
    CublasPreference preference, int attribute, const void *value, size_t size) {
    const int first = CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES;
    if (attribute == CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES)
        return assign(&preference->workspace_bytes, sizeof(uint64_t), value, size);
    if (attribute == CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK)
        return assign(&preference->schemes, sizeof(uint32_t), value, size);
    if (attribute >= first && attribute <= CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES)
        return assign(&preference->alignments[attribute - first], sizeof(uint32_t), value, size);
    return CUBLAS_STATUS_INVALID_VALUE;
}

FAKE_CUDA_FUNCTION cublasLtMatmulPreferenceDestroy(CublasPreference preference) {
    free(preference);
    return CUBLAS_STATUS_SUCCESS;
}

/* ---- products ---- */

static uint64_t rows_of(const Matrix *matrix) {
    return matrix->transposed ? matrix->layout.columns : matrix->layout.rows;
}
static uint64_t columns_of(const Matrix *matrix) {
    return matrix->transposed ? matrix->layout.rows : matrix->layout.columns;
}

static bool fits(const Product *product) {
    const Matrix *a = &product->a, *b = &product->b, *c = &product->c, *d = &product->d;
    bool sizes = rows_of(a) == rows_of(d) && columns_of(b) == columns_of(d) &&
                 columns_of(a) == rows_of(b) && rows_of(c) == rows_of(d) &&
                 columns_of(c) == columns_of(d);
    bool batches = a->layout.batch_count == d->layout.batch_count &&
                   b->layout.batch_count == d->layout.batch_count;
    bool types = a->layout.type == b->layout.type && a->layout.type == d->layout.type;
    return sizes && batches && types;
}

static Product product_of(
    CublasMatmulDesc desc, CublasLayout a, CublasLayout b, CublasLayout c, CublasLayout d) {
    return (Product){.desc = *desc,
        .a = {*a, 0, desc->transposed[0] == CUBLAS_OP_T},
        .b = {*b, 0, desc->transposed[1] == CUBLAS_OP_T},
        .c = {*c, 0, false},
        .d = {*d, 0, false}};
}

FAKE_CUDA_FUNCTION cublasLtMatmulAlgoGetHeuristic(CublasHandle handle, CublasMatmulDesc desc,
    CublasLayout a, CublasLayout b, CublasLayout c, CublasLayout d, CublasPreference preference,
    int wanted, CublasHeuristic *out, int *out_count) {
    Product product = product_of(desc, a, b, c, d);
    (void)handle;
    *out_count = 0;
    if (wanted < 1 || !fits(&product)) return CUBLAS_STATUS_INVALID_VALUE;
    if (preference->workspace_bytes < WORKSPACE_BYTES) return CUBLAS_STATUS_NOT_SUPPORTED;
    *out = (CublasHeuristic){.workspaceSize = WORKSPACE_BYTES};
    out->algo.data[0] = ALGORITHM;
    out->algo.data[1] = preference->alignments[0];
    *out_count = 1;
    return CUBLAS_STATUS_SUCCESS;
}

static DType dtype_of(int type) {
    if (type == CUDA_R_16F) return DTYPE_FLOAT16;
    return type == CUDA_R_16BF ? DTYPE_BFLOAT16 : DTYPE_FLOAT32;
}

static uint64_t place(const Matrix *matrix, int64_t batch, uint64_t row, uint64_t column) {
    const struct cublasLtMatrixLayout *layout = &matrix->layout;
    uint64_t down = matrix->transposed ? column : row, across = matrix->transposed ? row : column;
    uint64_t element =
        (uint64_t)(batch * layout->batch_step) + down + across * (uint64_t)layout->step;
    return matrix->address + element * (dtype_bits(dtype_of(layout->type)) / 8);
}

static double read_at(int type, uint64_t address) {
    double value = 0;
    (void)dtype_scalar_read(dtype_of(type), (const void *)(uintptr_t)address, &value);
    return value;
}

static double finish(const Product *product, double sum, uint64_t row) {
    const int type = product->d.layout.type, size = (int)dtype_bits(dtype_of(type)) / 8;
    if (product->desc.epilogue & CUBLASLT_EPILOGUE_BIAS)
        sum += read_at(type, product->desc.bias + row * (uint64_t)size);
    if (product->desc.epilogue & CUBLASLT_EPILOGUE_RELU) sum = sum < 0 ? 0 : sum;
    if (product->desc.epilogue & CUBLASLT_EPILOGUE_GELU)
        sum = 0.5 * sum * (1 + tanh(0.79788456080286536 * (sum + 0.044715 * sum * sum * sum)));
    return sum;
}

static void multiply(const Product *product, int64_t batch, uint64_t row, uint64_t column) {
    const int type = product->d.layout.type;
    double sum = 0;
    for (uint64_t i = 0; i < columns_of(&product->a); i++)
        sum += read_at(type, place(&product->a, batch, row, i)) *
               read_at(type, place(&product->b, batch, i, column));
    sum *= (double)product->alpha;
    if (product->beta != 0)
        sum += (double)product->beta * read_at(type, place(&product->c, batch, row, column));
    (void)dtype_scalar_write(dtype_of(type), finish(product, sum, row),
        (void *)(uintptr_t)place(&product->d, batch, row, column));
}

static int run_product(FakeCommand *self) {
    Product product;
    memcpy(&product, self->params, sizeof product);
    memset((void *)(uintptr_t)self->to, 0xee, self->size); /* the workspace is used */
    for (int64_t batch = 0; batch < product.d.layout.batch_count; batch++)
        for (uint64_t column = 0; column < product.d.layout.columns; column++)
            for (uint64_t row = 0; row < product.d.layout.rows; row++)
                multiply(&product, batch, row, column);
    return CUDA_SUCCESS;
}

FAKE_CUDA_FUNCTION cublasLtMatmul(CublasHandle handle, CublasMatmulDesc desc, const void *alpha,
    const void *a, CublasLayout a_layout, const void *b, CublasLayout b_layout, const void *beta,
    const void *c, CublasLayout c_layout, void *d, CublasLayout d_layout,
    const CublasAlgorithm *algo, void *workspace, size_t workspace_size, CUstream stream) {
    Product product = product_of(desc, a_layout, b_layout, c_layout, d_layout);
    const void *const operands[] = {a, b, c, d, (const void *)(uintptr_t)desc->bias};
    (void)handle;
    if (algo->data[0] != ALGORITHM || workspace_size != WORKSPACE_BYTES || !fits(&product))
        return CUBLAS_STATUS_INVALID_VALUE;
    for (size_t i = 0; i < sizeof operands / sizeof operands[0]; i++)
        if ((uintptr_t)operands[i] % algo->data[1] != 0) return CUBLAS_STATUS_INVALID_VALUE;
    product.a.address = (uint64_t)(uintptr_t)a;
    product.b.address = (uint64_t)(uintptr_t)b;
    product.c.address = (uint64_t)(uintptr_t)c;
    product.d.address = (uint64_t)(uintptr_t)d;
    memcpy(&product.alpha, alpha, sizeof product.alpha);
    memcpy(&product.beta, beta, sizeof product.beta);
    FakeCommand *command = fake_command_create(sizeof product);
    if (!command) return CUBLAS_STATUS_ALLOC_FAILED;
    command->run = run_product;
    command->capturable = true;
    command->to = (uint64_t)(uintptr_t)workspace;
    command->size = workspace_size;
    memcpy(command->params, &product, sizeof product);
    (void)pthread_mutex_lock(&fake_mutex);
    int result = fake_control_fail(__func__);
    if (result == CUDA_SUCCESS)
        result = fake_stream_push(stream, command);
    else
        free(command);
    (void)pthread_mutex_unlock(&fake_mutex);
    return result == CUDA_SUCCESS ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_EXECUTION_FAILED;
}
