#include <inttypes.h>
#include <string.h>

#include "kernels/shape_rules/shape_rules_internal.h"

Error *shape_rule_det(PlanRequest *request) {
    const Shape *input = rule_shape(request, 0);
    TRY(rule_check_dtype(request, 0, DTYPES_FLOAT));
    if (input->rank < 2) FAIL(INVALID, "a matrix of rank %u", input->rank);
    const int64_t rows = input->dims[input->rank - 2], columns = input->dims[input->rank - 1];
    if (rows != columns)
        FAIL(INVALID, "a matrix of %" PRId64 " rows and %" PRId64 " columns", rows, columns);
    Shape shape = shape_make(input->rank - 2, input->dims);
    rule_set(request, 0, rule_dtype(request, 0), &shape);
    return NULL;
}

/* NumPy's matmul: a vector counts as a matrix of one row or column, and the result loses that 1. */
Error *shape_rule_matmul(PlanRequest *request) {
    TRY(rule_check_dtype(request, 0, DTYPES_NUMBER));
    TRY(rule_check_same_dtype(request, 1, 0));
    const Shape *a = rule_shape(request, 0), *b = rule_shape(request, 1);
    if (a->rank == 0 || b->rank == 0) FAIL(INVALID, "a scalar operand");
    int64_t depth_a = a->dims[a->rank - 1];
    int64_t depth_b = b->rank == 1 ? b->dims[0] : b->dims[b->rank - 2];
    if (depth_a != depth_b)
        FAIL(INVALID, "%" PRId64 " columns times %" PRId64 " rows", depth_a, depth_b);
    Shape batch_a = {0}, batch_b = {0}, shape;
    if (a->rank > 2) batch_a = shape_make(a->rank - 2, a->dims);
    if (b->rank > 2) batch_b = shape_make(b->rank - 2, b->dims);
    TRY(shape_broadcast(&batch_a, &batch_b, &shape));
    if (a->rank > 1) TRY(rule_push(&shape, a->dims[a->rank - 2]));
    if (b->rank > 1) TRY(rule_push(&shape, b->dims[b->rank - 1]));
    rule_set(request, 0, rule_dtype(request, 0), &shape);
    return NULL;
}

Error *shape_rule_gemm(PlanRequest *request) {
    TRY(rule_check_dtype(request, 0, DTYPES_NUMBER));
    TRY(rule_check_same_dtype(request, 1, 0));
    TRY(rule_check_same_dtype(request, 2, 0));
    TRY(rule_check_rank(request, 0, 2));
    TRY(rule_check_rank(request, 1, 2));
    bool swap_a = attributes_int(request->attributes, "transA") != 0;
    bool swap_b = attributes_int(request->attributes, "transB") != 0;
    const Shape *a = rule_shape(request, 0), *b = rule_shape(request, 1);
    if (a->dims[swap_a ? 0 : 1] != b->dims[swap_b ? 1 : 0])
        FAIL(INVALID, "%" PRId64 " columns times %" PRId64 " rows", a->dims[swap_a ? 0 : 1],
            b->dims[swap_b ? 1 : 0]);
    Shape shape = {.rank = 2, .dims = {a->dims[swap_a ? 1 : 0], b->dims[swap_b ? 0 : 1]}};
    if (rule_has(request, 2)) {
        Shape with_c;
        TRY(shape_broadcast(&shape, rule_shape(request, 2), &with_c));
        if (!shape_equal(&with_c, &shape)) FAIL(INVALID, "C does not broadcast to the result");
    }
    rule_set(request, 0, rule_dtype(request, 0), &shape);
    return NULL;
}

/* A residual has the result's own shape. */
static Error *check_residual(PlanRequest *request) {
    TRY(rule_by_expansion(request));
    const Shape *output = &request->outputs[0].shape;
    return rule_check_shape(request, 3, output->rank, output->dims);
}

Error *shape_rule_fused_conv(PlanRequest *request) { return check_residual(request); }
Error *shape_rule_fused_matmul(PlanRequest *request) { return check_residual(request); }
Error *shape_rule_fused_elementwise(PlanRequest *request) { return rule_by_expansion(request); }
Error *shape_rule_fused_attention(PlanRequest *request) {
    TRY(rule_check_dtype(request, 0, DTYPES_FLOAT));
    for (uint32_t i = 0; i < 3; i++)
        if (rule_shape(request, i)->rank < 2)
            FAIL(INVALID, "input %u has rank %u", i, rule_shape(request, i)->rank);
    return rule_by_expansion(request);
}

/* Products at lower precision: weights of one type. The bias, and the scales before it, have one
 * element for each column. */
static Error *lower_matmul(PlanRequest *request, DType weights, uint32_t bias) {
    const Shape *a = rule_shape(request, 0), *b = rule_shape(request, 1);
    TRY(rule_check_dtype(request, 0, DTYPE_BIT(DTYPE_FLOAT32)));
    TRY(rule_check_dtype(request, 1, DTYPE_BIT(weights)));
    TRY(rule_check_rank(request, 1, 2));
    if (a->rank < 2) FAIL(INVALID, "input 0 has rank %u", a->rank);
    if (a->dims[a->rank - 1] != b->dims[0])
        FAIL(INVALID, "%" PRId64 " columns times %" PRId64 " rows", a->dims[a->rank - 1],
            b->dims[0]);
    Shape shape = *a;
    shape.dims[shape.rank - 1] = b->dims[1];
    return rule_set_lower(request, bias, &shape);
}

Error *shape_rule_fused_matmul_bfloat16(PlanRequest *request) {
    return lower_matmul(request, DTYPE_BFLOAT16, 2);
}
Error *shape_rule_fused_matmul_int8(PlanRequest *request) {
    return lower_matmul(request, DTYPE_INT8, 3);
}

/* Bytes of activations: what their kernels take. Values: whole blocks of uint4. */
static Error *check_blocks_form(PlanRequest *request) {
    const int64_t block = attributes_int(request->attributes, "block_size");
    const int64_t activation = attributes_int(request->attributes, "activation_bits");
    const int64_t depth = rule_shape(request, 1)->dims[1];
    const DType codes = request->inputs[1].dtype;
    if (activation != 0 && activation != 8)
        FAIL(INVALID, "activation_bits is %" PRId64 ", not 0 or 8", activation);
    if (activation == 8 && (block < 16 || block > 1 << 20 || (block & (block - 1)) != 0 ||
                               depth * dtype_bits(codes) % 8 != 0))
        FAIL(INVALID,
            "activation_bits 8 with blocks of %" PRId64 " of %" PRId64
            " codes; blocks are a power of two from 16 to 2^20, columns whole bytes",
            block, depth);
    if (plan_request_has(request, 4)) {
        TRY(rule_check_dtype(request, 4, DTYPE_BIT(DTYPE_FLOAT32)));
        TRY(rule_check_rank(request, 4, 1));
        if (rule_shape(request, 4)->dims[0] != rule_shape(request, 1)->dims[0])
            FAIL(INVALID, "a bias of %" PRId64 " for %" PRId64 " columns",
                rule_shape(request, 4)->dims[0], rule_shape(request, 1)->dims[0]);
    }
    if (!plan_request_has(request, 5)) return NULL;
    TRY(rule_check_dtype(request, 5, DTYPE_BIT(DTYPE_FLOAT32)));
    TRY(rule_check_rank(request, 5, 1));
    if (codes != DTYPE_UINT4 || activation != 0 || plan_request_has(request, 3) ||
        rule_shape(request, 5)->dims[0] != 16 || depth % block != 0)
        FAIL(INVALID, "16 values are for whole blocks of uint4 without zero points");
    const Shape *codes_shape = rule_shape(request, 1), *scales = rule_shape(request, 2);
    if (scales->dims[0] != codes_shape->dims[0] || scales->dims[1] != depth / block)
        FAIL(INVALID,
            "scales [%" PRId64 ", %" PRId64 "] for %" PRId64 " columns of %" PRId64 " blocks",
            scales->dims[0], scales->dims[1], codes_shape->dims[0], depth / block);
    return NULL;
}

Error *shape_rule_matmul_blocks(PlanRequest *request) {
    static const DTypeSet codes =
        DTYPES_PACKED_INTEGER | DTYPE_BIT(DTYPE_INT8) | DTYPE_BIT(DTYPE_UINT8);
    const int64_t block = attributes_int(request->attributes, "block_size");
    TRY(rule_check_dtype(request, 0, DTYPE_BIT(DTYPE_FLOAT32)));
    TRY(rule_check_dtype(request, 1, codes));
    TRY(rule_check_dtype(request, 2, DTYPE_BIT(DTYPE_FLOAT32)));
    if (rule_shape(request, 0)->rank < 2)
        FAIL(INVALID, "input 0 has rank %u", rule_shape(request, 0)->rank);
    for (uint32_t i = 1; i < 3; i++) TRY(rule_check_rank(request, i, 2));
    if (block < 1) FAIL(INVALID, "block_size %" PRId64, block);
    TRY(check_blocks_form(request));
    return rule_by_expansion(request);
}
