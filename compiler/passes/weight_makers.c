#include "compiler/passes/weight_makers.h"

#include "base/allocator.h"
#include "compiler/ir/ir_walk.h"

enum { CODES_MIN = 4096 }; /* bytes of integers that are codes, and no shape or list of indices */

/* The operators that read weights, and the operands from first to last that are. */
typedef struct WeightReader {
    OperatorId id;
    uint32_t first, last;
} WeightReader;

static const WeightReader readers[] = {
    {OPERATOR_CONV, 1, UINT32_MAX},
    {OPERATOR_CONV_TRANSPOSE, 1, UINT32_MAX},
    {OPERATOR_MATMUL, 0, UINT32_MAX},
    {OPERATOR_GEMM, 0, UINT32_MAX},
    {OPERATOR_LSTM, 1, UINT32_MAX},
    {OPERATOR_GRU, 1, UINT32_MAX},
    {OPERATOR_RNN, 1, UINT32_MAX},
    {OPERATOR_BATCH_NORMALIZATION, 1, UINT32_MAX},
    {OPERATOR_LAYER_NORMALIZATION, 1, UINT32_MAX},
    {OPERATOR_INSTANCE_NORMALIZATION, 1, UINT32_MAX},
    {OPERATOR_GROUP_NORMALIZATION, 1, UINT32_MAX},
    {OPERATOR_GATHER, 0, 0},
};

static bool is_weight(const IrBinding *binding, uint32_t operand) {
    const OperatorId id = binding->operator_info->id;
    for (size_t i = 0; i < sizeof readers / sizeof *readers; i++)
        if (readers[i].id == id) return operand >= readers[i].first && operand <= readers[i].last;
    return false;
}

/* Whether what makes the binding's results makes weights, too. Dequantizations are not followed:
 * where the codes of a weight become floats is decided elsewhere. */
static bool passes_on(const bool *marks, const IrBinding *binding) {
    if (binding->operator_info->id == OPERATOR_DEQUANTIZE_LINEAR) return false;
    for (uint32_t i = 0; i < binding->result_count; i++)
        if (marks[binding->results[i]->id]) return true;
    return false;
}

static void mark_operands(bool *marks, const IrBinding *binding) {
    if (binding->kind != IR_OPERATOR) return;
    const bool all = passes_on(marks, binding);
    for (uint32_t i = 0; i < binding->operand_count; i++) {
        const IrVariable *operand = ir_resolve(binding->operands[i]);
        if (operand && (all || is_weight(binding, i))) marks[operand->id] = true;
    }
}

Error *weight_makers_mark(const IrModule *module, bool **out_marks) {
    void *marks;
    TRY(ir_side_table(module, sizeof(bool), &marks));
    for (size_t f = 0; f < module->function_count; f++) { /* readers stand behind makers */
        const IrBinding *binding = ir_walk_last(module->functions[f]->body);
        for (; binding; binding = ir_walk_previous(binding)) mark_operands(marks, binding);
    }
    *out_marks = marks;
    return NULL;
}

bool weight_makers_has(const bool *marks, const IrBinding *binding) {
    if (binding->operator_info->id == OPERATOR_DEQUANTIZE_LINEAR || binding->result_count != 1)
        return false;
    const IrVariable *result = binding->results[0];
    if (!marks[result->id] || !dtype_is_float(result->type.dtype)) return false;
    for (uint32_t i = 0; i < binding->operand_count; i++) {
        const IrVariable *operand = ir_resolve(binding->operands[i]);
        const Tensor *tensor = operand ? ir_variable_tensor(operand) : NULL;
        if (tensor && !dtype_is_float(tensor->dtype) && tensor_bytes(tensor) > CODES_MIN)
            return false;
    }
    return true;
}
