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

/* Returns the last binding of a block in the order of the program: one inside of its last one. */
static const IrBinding *last_in(const IrBlock *block) {
    const IrBinding *last = NULL;
    while (block) {
        if (block->last) last = block->last;
        const uint32_t inner = block->last ? block->last->block_count : 0;
        block = NULL;
        for (uint32_t i = inner; i > 0 && !block; i--)
            if (last->blocks[i - 1]->last) block = last->blocks[i - 1];
    }
    return last;
}

/* Returns the last binding in the blocks before number `from`; NULL if they are empty. */
static const IrBinding *last_before(const IrBinding *parent, uint32_t from) {
    const IrBinding *last = NULL;
    for (uint32_t i = from; i > 0 && !last; i--) last = last_in(parent->blocks[i - 1]);
    return last;
}

/* The opposite of ir_walk_next(): NULL at the start of the function. */
static const IrBinding *before(const IrBinding *binding) {
    const IrBinding *previous = binding->previous, *parent = binding->block->parent;
    const IrBinding *inside = NULL;
    if (previous)
        inside = last_before(previous, previous->block_count);
    else if (parent)
        inside = last_before(parent, binding->block->index);
    if (inside) return inside;
    return previous ? previous : parent;
}

Error *weight_makers_mark(const IrModule *module, bool **out_marks) {
    void *marks;
    TRY(ir_side_table(module, sizeof(bool), &marks));
    for (size_t f = 0; f < module->function_count; f++) { /* readers stand behind makers */
        const IrBinding *binding = last_in(module->functions[f]->body);
        for (; binding; binding = before(binding)) mark_operands(marks, binding);
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
