/* Reads the requests of MatMul, Gemm and FusedMatMul into one description. */
#include <string.h>

#include "kernels/cpu/matmul/cpu_matmul.h"
#include "kernels/cpu/core/cpu_internal.h"
#include "kernels/cpu/core/cpu_layouts.h"

bool cpu_matmul_is_transposed(
    const OperatorInfo *operator_info, const Attributes *attributes, uint32_t input_index) {
    if (operator_info->id == OPERATOR_MATMUL) return false;
    return attributes_int(attributes, input_index == 0 ? "transA" : "transB") != 0;
}

/* The last two dimensions of an operand, and strides of rows and columns. */
typedef struct Operand {
    Shape batch;
    int64_t rows, columns, row, column;
} Operand;

static Operand operand_of(const Shape *shape, bool transposed, bool is_b) {
    Operand operand = {.rows = 1, .columns = 1, .column = 1};
    if (shape->rank == 1) {
        /* a vector is one row of A, or one column of B */
        if (is_b)
            operand.rows = shape->dims[0], operand.row = 1;
        else
            operand.columns = shape->dims[0], operand.row = shape->dims[0];
        return operand;
    }
    operand.batch = shape_make(shape->rank - 2, shape->dims);
    operand.rows = shape->dims[shape->rank - 2];
    operand.columns = shape->dims[shape->rank - 1];
    operand.row = operand.columns;
    if (!transposed) return operand;
    const Operand plain = operand;
    operand.rows = plain.columns, operand.columns = plain.rows;
    operand.row = plain.column, operand.column = plain.row;
    return operand;
}

static void batch_strides(const Shape *operand_batch, const Shape *batch, int64_t matrix,
    int64_t out_strides[SHAPE_RANK_MAX]) {
    shape_broadcast_strides(operand_batch, batch, out_strides);
    for (uint32_t i = 0; i < batch->rank; i++) out_strides[i] *= matrix;
}

/* The strides of a bias that broadcasts to the output. For a 1-dimensional A or B the output lacks
 * a dimension. */
static void bias_strides(CpuMatmul *matmul, const PlanRequest *request, const Shape *bias) {
    const Shape *output = &request->outputs[0].shape;
    int64_t strides[SHAPE_RANK_MAX];
    shape_broadcast_strides(bias, output, strides);
    uint32_t next = matmul->batch.rank;
    memcpy(matmul->bias_batch, strides, next * sizeof(int64_t));
    if (request->inputs[0].shape.rank > 1) matmul->bias_row = strides[next++];
    if (request->inputs[1].shape.rank > 1) matmul->bias_column = strides[next];
}

/* Turns batches into rows, from the innermost on, as long as every operand has one step for
 * both. */
static void fold_batch(CpuMatmul *matmul) {
    Shape *batch = &matmul->batch;
    while (batch->rank > 0) {
        const uint32_t last = batch->rank - 1;
        const bool single = batch->dims[last] == 1;
        if (!single &&
            (matmul->b_batch[last] != 0 || matmul->a_batch[last] != matmul->rows * matmul->a_row ||
                matmul->bias_batch[last] != matmul->rows * matmul->bias_row))
            return;
        matmul->rows *= batch->dims[last];
        batch->dims[last] = 0;
        batch->rank--;
    }
}

Error *cpu_matmul_operands(
    const PlanRequest *request, CpuLevel level, DType dtype, CpuMatmul *out) {
    CpuMatmul operands = {0};
    CpuMatmul *matmul = &operands;
    const OperatorInfo *info = request->operator_info;
    const Operand a = operand_of(
        &request->inputs[0].shape, cpu_matmul_is_transposed(info, request->attributes, 0), false);
    const Operand b = operand_of(
        &request->inputs[1].shape, cpu_matmul_is_transposed(info, request->attributes, 1), true);
    TRY(cpu_epilogue_of(request, level, dtype, &matmul->epilogue));
    if (a.columns != b.rows) FAIL(INVALID, "%s: inner dimensions differ", info->name);
    matmul->rows = a.rows, matmul->columns = b.columns, matmul->depth = a.columns;
    matmul->a_row = a.row, matmul->a_column = a.column;
    matmul->b_row = b.row, matmul->b_column = b.column;
    TRY(shape_broadcast(&a.batch, &b.batch, &matmul->batch));
    matmul->b_packed = request->inputs[1].layout == CPU_LAYOUT_PANELS;
    batch_strides(&a.batch, &matmul->batch, a.rows * a.columns, matmul->a_batch);
    batch_strides(&b.batch, &matmul->batch,
        matmul->b_packed ? cpu_matmul_packed_count(b.rows, b.columns) : b.rows * b.columns,
        matmul->b_batch);
    if (plan_request_has(request, 2) && matmul->epilogue.bias_scale != 0) {
        matmul->has_bias = true;
        bias_strides(matmul, request, &request->inputs[2].shape);
    }
    matmul->has_residual = plan_request_has(request, 3);
    fold_batch(matmul);
    matmul->batch_count = shape_count_unchecked(&matmul->batch);
    *out = operands;
    return NULL;
}
