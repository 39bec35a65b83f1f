/* What a composition may ask of a value at import: its rank, a dimension. Types are inferred after
 * the import, so a computed value is followed back to what is known. */
#include "compiler/frontend/nodes/onnx_composition_internal.h"

enum { STEPS_MAX = 64 };

static const bool is_elementwise[OPERATOR_COUNT] = {
#define OPERATOR(id, ...) [OPERATOR_##id] = false,
#define ELEMENTWISE(id, ...) [OPERATOR_##id] = true,
#include "kernels/operator/operators.def"
#undef OPERATOR
#undef ELEMENTWISE
};

static int64_t rank_of(const IrVariable *variable, uint32_t steps);

static int64_t later(int64_t a, int64_t b) { return a < 0 || b < 0 ? -1 : a + b; }

/* Elements of an int64 vector that gives a shape or axes; -1: unknown. */
static int64_t length_of(const IrVariable *vector, uint32_t steps) {
    if (!vector || steps == 0) return -1;
    const Tensor *tensor = ir_variable_tensor(vector);
    if (tensor) return tensor->shape.rank == 1 ? tensor->shape.dims[0] : 1;
    const IrType *type = &vector->type;
    if (type->kind == IR_TYPE_TENSOR && type->rank_known && type->rank == 1 && type->dims[0] >= 0)
        return type->dims[0];
    const IrBinding *binding = vector->binding;
    if (!binding || binding->kind != IR_OPERATOR) return -1;
    int64_t sum = 0, rank;
    switch ((int)binding->operator_info->id) {
    case OPERATOR_CAST:
    case OPERATOR_IDENTITY:
        return length_of(ir_operand(binding, 0), steps - 1);
    case OPERATOR_UNSQUEEZE: /* of one number, in the place where it becomes an axis */
        return rank_of(ir_operand(binding, 0), steps - 1) == 0 ? 1 : -1;
    case OPERATOR_CONCAT:
        for (uint32_t i = 0; i < binding->operand_count; i++)
            sum = later(sum, length_of(binding->operands[i], steps - 1));
        return sum;
    case OPERATOR_GATHER:
        return rank_of(ir_operand(binding, 1), steps - 1) == 1
                   ? length_of(ir_operand(binding, 1), steps - 1)
                   : -1;
    case OPERATOR_SHAPE:
        rank = rank_of(ir_operand(binding, 0), steps - 1);
        if (attributes_has(binding->attributes, "end") ||
            attributes_int(binding->attributes, "start") != 0)
            return -1;
        return rank;
    default:
        return -1;
    }
}

static int64_t largest_rank(const IrBinding *binding, uint32_t steps) {
    int64_t most = 0;
    for (uint32_t i = 0; i < binding->operand_count; i++) {
        const int64_t rank = rank_of(binding->operands[i], steps);
        if (rank < 0) return -1;
        if (rank > most) most = rank;
    }
    return most;
}

/* Negative results of sums of ranks and lengths: unknown. */
static int64_t rank_of_result(const IrBinding *binding, uint32_t steps) {
    const IrVariable *a = ir_operand(binding, 0), *b = ir_operand(binding, 1);
    const OperatorId id = binding->operator_info->id;
    int64_t length;
    if (is_elementwise[id] || id == OPERATOR_MATMUL || id == OPERATOR_MATMUL_INTEGER)
        return largest_rank(binding, steps);
    switch ((int)id) {
    case OPERATOR_RESHAPE:
        return length_of(b, steps);
    case OPERATOR_CONSTANT_OF_SHAPE:
        return length_of(a, steps);
    case OPERATOR_EXPAND:
        length = length_of(b, steps);
        return length >= 0 && rank_of(a, steps) > length ? rank_of(a, steps) : length;
    case OPERATOR_GATHER:
        return later(rank_of(a, steps), rank_of(b, steps)) - 1;
    case OPERATOR_UNSQUEEZE:
        return later(rank_of(a, steps), length_of(b, steps));
    case OPERATOR_SQUEEZE:
        length = length_of(b, steps);
        return length < 0 ? -1 : rank_of(a, steps) - length;
    case OPERATOR_REDUCE_SUM:
    case OPERATOR_REDUCE_MAX:
    case OPERATOR_REDUCE_MIN:
    case OPERATOR_REDUCE_MEAN:
    case OPERATOR_REDUCE_PROD:
        if (attributes_int(binding->attributes, "keepdims") != 0) return rank_of(a, steps);
        length = length_of(b, steps);
        return length < 0 ? -1 : rank_of(a, steps) - length;
    case OPERATOR_SHAPE:
    case OPERATOR_RANGE:
        return 1;
    case OPERATOR_CAST_LIKE:
    case OPERATOR_IDENTITY:
    case OPERATOR_TRANSPOSE:
    case OPERATOR_CONCAT:
    case OPERATOR_SPLIT:
    case OPERATOR_SLICE:
    case OPERATOR_PAD:
    case OPERATOR_SOFTMAX:
    case OPERATOR_CUM_SUM:
    case OPERATOR_LAYER_NORMALIZATION:
    case OPERATOR_RMS_NORMALIZATION:
    case OPERATOR_ROTARY_EMBEDDING:
    case OPERATOR_DEQUANTIZE_LINEAR:
    case OPERATOR_CONV:
        return rank_of(a, steps);
    default:
        return -1;
    }
}

static int64_t rank_of(const IrVariable *variable, uint32_t steps) {
    if (!variable || steps == 0) return -1;
    const Tensor *tensor = ir_variable_tensor(variable);
    if (tensor) return tensor->shape.rank;
    if (variable->type.kind == IR_TYPE_TENSOR && variable->type.rank_known)
        return variable->type.rank;
    const IrBinding *binding = variable->binding;
    if (!binding || binding->kind != IR_OPERATOR) return -1;
    return rank_of_result(binding, steps - 1);
}

int64_t composer_rank(const IrVariable *variable) { return rank_of(variable, STEPS_MAX); }

int64_t composer_dim(const IrVariable *variable, int64_t index) {
    for (uint32_t i = 0; variable && i < STEPS_MAX; i++) {
        const Tensor *tensor = ir_variable_tensor(variable);
        if (tensor) return index < tensor->shape.rank ? tensor->shape.dims[index] : -1;
        const IrType *type = &variable->type;
        if (type->kind == IR_TYPE_TENSOR && type->rank_known)
            return index < type->rank ? type->dims[index] : -1;
        const IrBinding *binding = variable->binding;
        if (!binding || binding->kind != IR_OPERATOR) return -1;
        const OperatorId id = binding->operator_info->id;
        if (id != OPERATOR_CAST && id != OPERATOR_CAST_LIKE && id != OPERATOR_IDENTITY) return -1;
        variable = ir_operand(binding, 0);
    }
    return -1;
}

int composer_is_text(const IrVariable *variable) {
    for (uint32_t i = 0; variable && i < STEPS_MAX; i++) {
        const Tensor *tensor = ir_variable_tensor(variable);
        if (tensor) return tensor->dtype == DTYPE_STRING;
        if (variable->type.kind == IR_TYPE_TENSOR && variable->type.dtype != DTYPE_NONE)
            return variable->type.dtype == DTYPE_STRING;
        const IrBinding *binding = variable->binding;
        if (!binding || binding->kind != IR_OPERATOR) return -1;
        const OperatorId id = binding->operator_info->id;
        if (id == OPERATOR_CAST) return attributes_dtype(binding->attributes, "to") == DTYPE_STRING;
        if (id == OPERATOR_STRING_NORMALIZER || id == OPERATOR_STRING_CONCAT) return 1;
        if (id == OPERATOR_ARG_MAX || id == OPERATOR_ARG_MIN || id == OPERATOR_SHAPE) return 0;
        variable = ir_operand(binding, id == OPERATOR_WHERE ? 1 : 0);
    }
    return -1;
}

int64_t composer_bytes(const IrVariable *variable) {
    for (uint32_t i = 0; variable && i < STEPS_MAX; i++) {
        const Tensor *tensor = ir_variable_tensor(variable);
        if (tensor) return (int64_t)dtype_bits(tensor->dtype) / 8;
        if (variable->type.kind == IR_TYPE_TENSOR && variable->type.dtype != DTYPE_NONE)
            return (int64_t)dtype_bits(variable->type.dtype) / 8;
        const IrBinding *binding = variable->binding;
        if (!binding || binding->kind != IR_OPERATOR) return -1;
        const OperatorId id = binding->operator_info->id;
        if (id == OPERATOR_CAST || id == OPERATOR_BIT_CAST)
            return (int64_t)dtype_bits(attributes_dtype(binding->attributes, "to")) / 8;
        if (id != OPERATOR_IDENTITY && id != OPERATOR_RESHAPE && id != OPERATOR_TRANSPOSE &&
            id != OPERATOR_SLICE && id != OPERATOR_CONCAT)
            return -1;
        variable = ir_operand(binding, 0);
    }
    return -1;
}
