#include "compiler/passes/fusion.h"

#include <math.h>
#include <string.h>

#include "base/allocator.h"
#include "compiler/ir/ir_walk.h"
#include "kernels/tensor/dtype_scalar.h"

IrVariable *fusion_operand(const IrBinding *binding, uint32_t index) {
    return ir_resolve(ir_operand(binding, index));
}

IrBinding *fusion_maker(const IrBinding *consumer, const IrVariable *variable, OperatorId id) {
    IrBinding *maker = variable ? variable->binding : NULL;
    if (!maker || maker->kind != IR_OPERATOR || maker->operator_info->id != id) return NULL;
    return maker->block == consumer->block && variable->index == 0 ? maker : NULL;
}

uint32_t fusion_uses(const Fusion *fusion, const IrVariable *variable) {
    return variable->id < fusion->use_capacity ? fusion->uses[variable->id] : 0;
}

IrBinding *fusion_sole_maker(
    const Fusion *fusion, const IrBinding *consumer, const IrVariable *variable, OperatorId id) {
    IrBinding *maker = fusion_maker(consumer, variable, id);
    return maker && fusion_uses(fusion, variable) == 1 ? maker : NULL;
}

static const Tensor *single_element(const IrVariable *variable) {
    const Tensor *tensor = variable ? ir_variable_tensor(variable) : NULL;
    return tensor && shape_count_unchecked(&tensor->shape) == 1 ? tensor : NULL;
}

bool fusion_takes(DType dtype) { return DTYPES_FLOAT32_AND_HALF >> dtype & 1; }

bool fusion_scalar(const IrVariable *variable, double *out) {
    const Tensor *tensor = single_element(variable);
    return tensor && dtype_is_float(tensor->dtype) &&
           dtype_scalar_read(tensor->dtype, tensor_data(tensor), out);
}

bool fusion_scalar_is(const IrVariable *variable, double wanted) {
    enum { CLOSE = 10000 };
    double value;
    return fusion_scalar(variable, &value) && fabs(value - wanted) * CLOSE <= fabs(wanted);
}

bool fusion_integer(const IrVariable *variable, int64_t *out) {
    const Tensor *tensor = single_element(variable);
    if (!tensor || tensor->dtype != DTYPE_INT64) return false;
    *out = *(const int64_t *)tensor_data(tensor);
    return true;
}

bool fusion_same_shape(const IrType *a, const IrType *b) {
    if (a->kind != IR_TYPE_TENSOR || b->kind != IR_TYPE_TENSOR || a->dtype != b->dtype)
        return false;
    if (!a->rank_known || !b->rank_known || a->rank != b->rank) return false;
    for (uint32_t i = 0; i < a->rank; i++)
        if (a->dims[i] != b->dims[i] || a->dims[i] == IR_DIM_UNKNOWN) return false;
    return true;
}

bool fusion_same_rank(const IrType *a, const IrType *b) {
    return a->rank_known && b->rank_known && a->rank == b->rank;
}

bool fusion_broadcasts(const IrType *small, const IrType *large) {
    if (small->kind != IR_TYPE_TENSOR || large->kind != IR_TYPE_TENSOR) return false;
    if (!small->rank_known || !large->rank_known || small->rank > large->rank) return false;
    for (uint32_t i = 0; i < small->rank; i++) {
        int64_t dim = small->dims[small->rank - 1 - i], into = large->dims[large->rank - 1 - i];
        if (dim != 1 && (dim != into || dim == IR_DIM_UNKNOWN)) return false;
    }
    return true;
}

bool fusion_split(const Fusion *fusion, const IrBinding *binary, OperatorId id,
    IrBinding **out_made, IrVariable **out_other) {
    for (uint32_t i = 0; i < 2; i++) {
        IrBinding *maker = fusion_sole_maker(fusion, binary, fusion_operand(binary, i), id);
        if (!maker) continue;
        *out_made = maker;
        *out_other = fusion_operand(binary, 1 - i);
        return true;
    }
    return false;
}

static Error *set_uses(Fusion *fusion, const IrVariable *variable, uint32_t uses) {
    if (variable->id >= fusion->use_capacity) {
        size_t capacity = (size_t)variable->id * 2 + 16;
        void *array = fusion->uses;
        TRY(memory_resize(&array, capacity, sizeof(uint32_t)));
        fusion->uses = array;
        memset(fusion->uses + fusion->use_capacity, 0,
            (capacity - fusion->use_capacity) * sizeof(uint32_t));
        fusion->use_capacity = capacity;
    }
    fusion->uses[variable->id] = uses;
    return NULL;
}

/* Removes a binding, then the pure operators whose results have no use any more. Works on an
 * explicit list, since a chain of operands may be long. */
static void remove_unused(Fusion *fusion, IrBinding *binding) {
    IrBinding *list = binding; /* linked through `next` after removal from their blocks */
    ir_remove(binding);
    while (list) {
        IrBinding *gone = list;
        list = gone->next;
        for (uint32_t i = 0; i < gone->operand_count; i++) {
            const IrVariable *operand = fusion_operand(gone, i);
            if (!operand || operand->id >= fusion->use_capacity) continue;
            if (fusion->uses[operand->id] > 0) fusion->uses[operand->id]--;
            IrBinding *maker = operand->binding;
            if (operand->constant || !maker || maker->kind != IR_OPERATOR ||
                maker->operator_info->purity != PURITY_PURE)
                continue;
            bool used = false;
            for (uint32_t r = 0; r < maker->result_count; r++)
                used = used || fusion_uses(fusion, maker->results[r]) > 0;
            bool linked = maker->block->first == maker || maker->previous;
            if (used || !linked) continue;
            ir_remove(maker);
            maker->next = list;
            list = maker;
        }
    }
}

Error *fusion_stand_for(Fusion *fusion, IrVariable *result, IrVariable *variable) {
    uint32_t uses = fusion_uses(fusion, variable) + fusion_uses(fusion, result);
    TRY(set_uses(fusion, variable, uses));
    result->replacement = variable;
    return NULL;
}

Error *fusion_replace_by(Fusion *fusion, IrBinding *binding, IrVariable *variable) {
    TRY(fusion_stand_for(fusion, binding->results[0], variable));
    remove_unused(fusion, binding);
    return NULL;
}

Error *fusion_insert_results(Fusion *fusion, IrBinding *before, const char *operator_name,
    Attributes *attributes, uint32_t input_count, IrVariable *const *inputs, uint32_t result_count,
    const IrType *types, IrVariable ***out_results) {
    IrVariable **results;
    TRY(ir_build_operator(
        ir_before(before), operator_name, attributes, input_count, inputs, result_count, &results));
    for (uint32_t i = 0; i < result_count; i++) results[i]->type = types[i];
    results[0]->binding->name = before->name;
    for (uint32_t i = 0; i < input_count; i++) {
        /* the present input, since another value may have replaced it */
        const IrVariable *input = fusion_operand(results[0]->binding, i);
        if (input) TRY(set_uses(fusion, input, fusion_uses(fusion, input) + 1));
    }
    *out_results = results;
    return NULL;
}

Error *fusion_insert(Fusion *fusion, IrBinding *before, const char *operator_name,
    Attributes *attributes, uint32_t input_count, IrVariable *const *inputs, const IrType *type,
    IrVariable **out) {
    IrVariable **results;
    TRY(fusion_insert_results(
        fusion, before, operator_name, attributes, input_count, inputs, 1, type, &results));
    *out = results[0];
    return NULL;
}

Error *fusion_replace(Fusion *fusion, IrBinding *binding, const char *operator_name,
    Attributes *attributes, uint32_t input_count, IrVariable *const *inputs) {
    IrVariable *result;
    TRY(fusion_insert(fusion, binding, operator_name, attributes, input_count, inputs,
        &binding->results[0]->type, &result));
    result->name = binding->results[0]->name;
    return fusion_replace_by(fusion, binding, result);
}

static Error *run_rule(Fusion *fusion, IrBinding *binding, FusionRule *rule) {
    if (binding->kind != IR_OPERATOR || binding->result_count == 0) return NULL;
    Error *error = rule(fusion, binding);
    if (error && binding->name) error = error_wrap(error, "node %s", binding->name);
    return error;
}

static Error *run_forwards(Fusion *fusion, IrBlock *body, FusionRule *rule) {
    IrBinding *binding = ir_walk_first(body);
    while (binding) {
        IrBinding *next = ir_walk_next(binding);
        TRY(run_rule(fusion, binding, rule));
        binding = next;
    }
    return NULL;
}

/* Depth is bounded by IR_NESTING_MAX. */
static Error *run_backwards(Fusion *fusion, IrBlock *block, FusionRule *rule) {
    IrBinding *binding = block->last;
    while (binding) {
        for (uint32_t i = 0; i < binding->block_count; i++)
            TRY(run_backwards(fusion, binding->blocks[i], rule));
        TRY(run_rule(fusion, binding, rule));
        /* continues before the replacement */
        IrVariable *result = binding->result_count ? binding->results[0] : NULL;
        if (result && result->replacement) binding = ir_resolve(result)->binding;
        if (!binding || binding->block != block) return NULL;
        binding = binding->previous;
    }
    return NULL;
}

static Error *run(PassContext *context, FusionRule *rule,
    Error *(*run_body)(Fusion *fusion, IrBlock *body, FusionRule *rule)) {
    Fusion fusion = {.context = context, .module = context->module};
    void *uses;
    TRY(ir_side_table(context->module, sizeof(uint32_t), &uses));
    fusion.uses = uses;
    fusion.use_capacity = context->module->variable_count;
    ir_count_uses(context->module, fusion.uses);
    Error *error = NULL;
    for (size_t f = 0; !error && f < context->module->function_count; f++)
        error = run_body(&fusion, context->module->functions[f]->body, rule);
    memory_free(fusion.uses);
    if (!error) ir_replace_all(context->module);
    return error;
}

Error *fusion_run(PassContext *context, FusionRule *rule) {
    return run(context, rule, run_forwards);
}

Error *fusion_run_backwards(PassContext *context, FusionRule *rule) {
    return run(context, rule, run_backwards);
}
