#include "compiler/ir/ir_build.h"

#include "base/allocator.h"
#include "compiler/ir/ir_internal.h"
#include "kernels/operator/plan.h"

static void binding_link(IrCursor at, IrBinding *binding) {
    IrBlock *block = at.block;
    binding->block = block;
    binding->next = at.before;
    binding->previous = at.before ? at.before->previous : block->last;
    if (binding->previous)
        binding->previous->next = binding;
    else
        block->first = binding;
    if (binding->next)
        binding->next->previous = binding;
    else
        block->last = binding;
}

Error *ir_binding_create(IrCursor at, IrKind kind, uint32_t operand_count,
    IrVariable *const *operands, uint32_t result_count, IrBinding **out) {
    IrModule *module = at.block->function->module;
    if (operand_count > IR_OPERANDS_MAX || result_count > IR_OPERANDS_MAX)
        FAIL(EXHAUSTED, "%u operands and %u results: at most %d of each", operand_count,
            result_count, IR_OPERANDS_MAX);
    void *block, *operand_array, *result_array;
    TRY(arena_alloc(&module->arena, 1, sizeof(IrBinding), &block));
    TRY(arena_copy(&module->arena, operands, operand_count, sizeof *operands, &operand_array));
    TRY(arena_alloc(&module->arena, result_count, sizeof(IrVariable *), &result_array));
    IrBinding *binding = block;
    binding->kind = kind;
    binding->operand_count = operand_count;
    binding->operands = operand_array;
    binding->result_count = result_count;
    binding->results = result_array;
    for (uint32_t i = 0; i < result_count; i++) {
        TRY(ir_variable_create(module, NULL, NULL, &binding->results[i]));
        binding->results[i]->binding = binding;
        binding->results[i]->block = at.block;
        binding->results[i]->index = i;
    }
    binding_link(at, binding);
    *out = binding;
    return NULL;
}

static Error *attributes_keep(
    IrModule *module, Attributes *attributes, const OperatorInfo *info, const Attributes **out) {
    OWN(Attributes, kept) = NULL;
    if (attributes)
        kept = attributes_retain(attributes);
    else
        TRY(attributes_create(&kept));
    TRY(attributes_check(kept, info));
    void *array = module->attributes;
    TRY(memory_grow(
        &array, module->attribute_count, &module->attribute_capacity, sizeof *module->attributes));
    module->attributes = array;
    *out = kept;
    module->attributes[module->attribute_count++] = TAKE(kept);
    return NULL;
}

Error *ir_build_operator(IrCursor at, const char *operator_name, Attributes *attributes,
    uint32_t input_count, IrVariable *const *inputs, uint32_t output_count,
    IrVariable ***out_results) {
    const OperatorInfo *info = operator_find(operator_name);
    if (!info) FAIL(UNSUPPORTED, "there is no operator %s", operator_name);
    while (input_count > 0 && !inputs[input_count - 1]) input_count--;
    if (input_count < info->inputs_min || input_count > info->inputs_max)
        FAIL(INVALID, "%s: %u inputs given, it takes %u to %u", operator_name, input_count,
            info->inputs_min, info->inputs_max);
    if (output_count < info->outputs_min || output_count > info->outputs_max)
        FAIL(INVALID, "%s: %u outputs wanted, it has %u to %u", operator_name, output_count,
            info->outputs_min, info->outputs_max);
    if (input_count > PLAN_INPUTS_MAX || output_count > PLAN_OUTPUTS_MAX)
        FAIL(UNSUPPORTED, "%s: %u inputs and %u outputs: at most %d and %d", operator_name,
            input_count, output_count, PLAN_INPUTS_MAX, PLAN_OUTPUTS_MAX);
    for (uint32_t i = 0; i < info->inputs_min; i++) {
        if (!inputs[i]) FAIL(INVALID, "%s: input %u must be given", operator_name, i);
    }
    const Attributes *kept;
    TRY(attributes_keep(at.block->function->module, attributes, info, &kept));
    IrBinding *binding;
    TRY(ir_binding_create(at, IR_OPERATOR, input_count, inputs, output_count, &binding));
    binding->operator_info = info;
    binding->attributes = kept;
    for (uint32_t i = 0; i < output_count; i++)
        binding->results[i]->type = ir_type_tensor(DTYPE_NONE);
    *out_results = binding->results;
    return NULL;
}

Error *ir_build_simple(IrCursor at, const char *operator_name, Attributes *attributes,
    IrVariable *a, IrVariable *b, IrVariable *c, IrVariable **out) {
    IrVariable *inputs[3] = {a, b, c};
    IrVariable **results;
    TRY(ir_build_operator(at, operator_name, attributes, 3, inputs, 1, &results));
    *out = results[0];
    return NULL;
}

Error *ir_build_transpose(
    IrCursor at, IrVariable *tensor, uint32_t rank, const int64_t *perm, IrVariable **out) {
    OWN(Attributes, attributes) = NULL;
    TRY(attributes_create(&attributes));
    TRY(attributes_set_ints(attributes, "perm", perm, rank));
    return ir_build_simple(at, "Transpose", attributes, tensor, NULL, NULL, out);
}

Error *ir_build_swap_last(IrCursor at, IrVariable *tensor, uint32_t rank, IrVariable **out) {
    int64_t perm[SHAPE_RANK_MAX];
    if (rank < 2) FAIL(INVALID, "a matrix of %u dimensions", rank);
    for (uint32_t i = 0; i < rank; i++) perm[i] = i;
    perm[rank - 2] = rank - 1;
    perm[rank - 1] = rank - 2;
    return ir_build_transpose(at, tensor, rank, perm, out);
}

Error *ir_build_cast(IrCursor at, IrVariable *tensor, DType dtype, IrVariable **out) {
    OWN(Attributes, attributes) = NULL;
    TRY(attributes_create(&attributes));
    TRY(attributes_set_dtype(attributes, "to", dtype));
    return ir_build_simple(at, "Cast", attributes, tensor, NULL, NULL, out);
}

Error *ir_build_call(IrCursor at, IrFunction *function, uint32_t argument_count,
    IrVariable *const *arguments, IrVariable ***out_results) {
    IrBinding *binding;
    TRY(ir_binding_create(
        at, IR_CALL, argument_count, arguments, function->result_count, &binding));
    binding->function = function;
    for (uint32_t i = 0; i < binding->result_count; i++)
        binding->results[i]->type = function->result_types[i];
    *out_results = binding->results;
    return NULL;
}

/* Makes a binding with one result of the type. */
static Error *build_one(IrCursor at, IrKind kind, uint32_t operand_count,
    IrVariable *const *operands, IrTypeKind type, IrBinding **out) {
    TRY(ir_binding_create(at, kind, operand_count, operands, 1, out));
    (*out)->results[0]->type = ir_type_scalar(type);
    return NULL;
}

Error *ir_build_closure(IrCursor at, IrFunction *function, IrVariable **out) {
    IrBinding *binding;
    TRY(build_one(at, IR_CLOSURE, 0, NULL, IR_TYPE_CLOSURE, &binding));
    binding->function = function;
    *out = binding->results[0];
    return NULL;
}

Error *ir_build_call_closure(IrCursor at, IrVariable *closure, uint32_t argument_count,
    IrVariable *const *arguments, uint32_t result_count, IrVariable ***out_results) {
    IrModule *module = at.block->function->module;
    if (argument_count >= IR_OPERANDS_MAX)
        FAIL(EXHAUSTED, "a call with more than %d arguments", IR_OPERANDS_MAX - 1);
    void *array;
    TRY(arena_alloc(&module->arena, argument_count + 1, sizeof(IrVariable *), &array));
    IrVariable **operands = array;
    operands[0] = closure;
    for (uint32_t i = 0; i < argument_count; i++) operands[i + 1] = arguments[i];
    IrBinding *binding;
    TRY(ir_binding_create(
        at, IR_CALL_CLOSURE, argument_count + 1, operands, result_count, &binding));
    *out_results = binding->results;
    return NULL;
}

static Error *blocks_create(IrBinding *binding, uint32_t count) {
    IrFunction *function = binding->block->function;
    void *array;
    TRY(arena_alloc(&function->module->arena, count, sizeof(IrBlock *), &array));
    binding->blocks = array;
    binding->block_count = count;
    for (uint32_t i = 0; i < count; i++) {
        TRY(ir_block_create(function, binding, binding->block->depth + 1, &binding->blocks[i]));
        binding->blocks[i]->index = i;
    }
    return NULL;
}

Error *ir_build_if(IrCursor at, IrVariable *condition, uint32_t result_count, IrBlock **out_then,
    IrBlock **out_else, IrVariable ***out_results) {
    IrBinding *binding;
    TRY(ir_binding_create(at, IR_IF, 1, &condition, result_count, &binding));
    TRY(blocks_create(binding, 2));
    *out_then = binding->blocks[0];
    *out_else = binding->blocks[1];
    *out_results = binding->results;
    return NULL;
}

Error *ir_build_match(IrCursor at, IrVariable *value, uint32_t case_count,
    IrConstructor *const *constructors, uint32_t result_count, IrBlock ***out_blocks,
    IrVariable ***out_results) {
    IrModule *module = at.block->function->module;
    if (case_count == 0 || case_count > IR_OPERANDS_MAX)
        FAIL(INVALID, "a match with %u cases", case_count);
    IrBinding *binding;
    TRY(ir_binding_create(at, IR_MATCH, 1, &value, result_count, &binding));
    TRY(blocks_create(binding, case_count));
    void *copy;
    TRY(arena_copy(&module->arena, constructors, case_count, sizeof *constructors, &copy));
    binding->constructors = copy;
    IrType unknown = {0};
    for (uint32_t i = 0; i < case_count; i++) {
        uint32_t fields = constructors[i] ? constructors[i]->field_count : 0;
        IrVariable *field;
        for (uint32_t j = 0; j < fields; j++)
            TRY(ir_block_add_parameter(binding->blocks[i], NULL, &unknown, &field));
    }
    *out_blocks = binding->blocks;
    *out_results = binding->results;
    return NULL;
}

Error *ir_build_construct(IrCursor at, IrConstructor *constructor, uint32_t field_count,
    IrVariable *const *fields, IrVariable **out) {
    if (constructor && constructor->field_count != field_count)
        FAIL(INVALID, "%s has %u fields, not %u", constructor->name, constructor->field_count,
            field_count);
    IrBinding *binding;
    TRY(build_one(at, IR_CONSTRUCT, field_count, fields, IR_TYPE_DATA, &binding));
    binding->constructor = constructor;
    *out = binding->results[0];
    return NULL;
}

Error *ir_build_get_field(IrCursor at, IrVariable *object, int64_t field, IrVariable **out) {
    IrBinding *binding;
    TRY(build_one(at, IR_GET_FIELD, 1, &object, IR_TYPE_UNKNOWN, &binding));
    binding->integer = field;
    *out = binding->results[0];
    return NULL;
}

Error *ir_build_get_tag(IrCursor at, IrVariable *object, IrVariable **out) {
    IrBinding *binding;
    TRY(build_one(at, IR_GET_TAG, 1, &object, IR_TYPE_INT, &binding));
    *out = binding->results[0];
    return NULL;
}

Error *ir_build_list(IrCursor at, uint32_t count, IrVariable *const *elements, IrVariable **out) {
    IrBinding *binding;
    TRY(build_one(at, IR_LIST_NEW, count, elements, IR_TYPE_LIST, &binding));
    *out = binding->results[0];
    return NULL;
}

Error *ir_build_list_append(IrCursor at, IrVariable *list, IrVariable *element, IrVariable **out) {
    IrBinding *binding;
    IrVariable *operands[2] = {list, element};
    TRY(build_one(at, IR_LIST_APPEND, 2, operands, IR_TYPE_LIST, &binding));
    *out = binding->results[0];
    return NULL;
}

Error *ir_build_list_concat(IrCursor at, IrVariable *list, IrVariable *length, int64_t axis,
    bool new_axis, IrVariable **out) {
    IrBinding *binding;
    IrVariable *operands[2] = {list, length};
    TRY(build_one(at, IR_LIST_CONCAT, length ? 2 : 1, operands, IR_TYPE_TENSOR, &binding));
    binding->integer = axis;
    binding->flag = new_axis;
    *out = binding->results[0];
    return NULL;
}

Error *ir_build_list_concat_declared(IrCursor at, IrVariable *list, IrVariable *length,
    int64_t axis, bool new_axis, const IrType *declared, IrVariable **out) {
    void *copy = NULL;
    if (declared)
        TRY(arena_copy(&at.block->function->module->arena, declared, 1, sizeof *declared, &copy));
    TRY(ir_build_list_concat(at, list, length, axis, new_axis, out));
    (*out)->binding->declared = copy;
    return NULL;
}

Error *ir_build_optional(IrCursor at, IrVariable *value, IrVariable **out) {
    IrBinding *binding;
    TRY(build_one(at, IR_OPTIONAL, value ? 1 : 0, &value, IR_TYPE_OPTIONAL, &binding));
    *out = binding->results[0];
    return NULL;
}

Error *ir_build_call_packed(
    IrCursor at, IrPackedCall call, IrVariable *const *arguments, IrVariable **out) {
    static const IrTypeKind kinds[] = {[IR_PACKED_RESULT_INT] = IR_TYPE_INT,
        [IR_PACKED_RESULT_BOOL] = IR_TYPE_BOOL,
        [IR_PACKED_RESULT_LIST] = IR_TYPE_LIST,
        [IR_PACKED_RESULT_ELEMENT] = IR_TYPE_UNKNOWN};
    const IrPackedInfo *info = ir_packed_info(call);
    IrBinding *binding;
    TRY(build_one(at, IR_CALL_PACKED, info->arity, arguments, kinds[info->result], &binding));
    binding->integer = call;
    *out = binding->results[0];
    return NULL;
}

Error *ir_build_int_op(
    IrCursor at, IntOpKind kind, IrVariable *a, IrVariable *b, IrVariable **out) {
    IrBinding *binding;
    IrVariable *operands[2] = {a, b};
    bool compares = kind == INT_OP_EQ || kind == INT_OP_LT || kind == INT_OP_LE;
    TRY(build_one(at, IR_INT_OP, 2, operands, compares ? IR_TYPE_BOOL : IR_TYPE_INT, &binding));
    binding->integer = kind;
    *out = binding->results[0];
    return NULL;
}

Error *ir_build_read_scalar(IrCursor at, IrVariable *tensor, IrTypeKind kind, IrVariable **out) {
    IrBinding *binding;
    TRY(build_one(at, IR_READ_SCALAR, 1, &tensor, kind, &binding));
    *out = binding->results[0];
    return NULL;
}

Error *ir_build_make_tensor(IrCursor at, IrVariable *scalar, DType dtype, IrVariable **out) {
    IrBinding *binding;
    TRY(build_one(at, IR_MAKE_TENSOR, 1, &scalar, IR_TYPE_TENSOR, &binding));
    binding->dtype = dtype;
    binding->results[0]->type = ir_type_shaped(dtype, 0, NULL);
    *out = binding->results[0];
    return NULL;
}

Error *ir_build_shape_of(IrCursor at, IrVariable *tensor, IrVariable **out) {
    IrBinding *binding;
    TRY(build_one(at, IR_SHAPE_OF, 1, &tensor, IR_TYPE_TENSOR, &binding));
    int64_t dim = tensor->type.rank_known ? (int64_t)tensor->type.rank : IR_DIM_UNKNOWN;
    binding->results[0]->type = ir_type_shaped(DTYPE_INT64, 1, &dim);
    *out = binding->results[0];
    return NULL;
}

Error *ir_build_device_copy(IrCursor at, IrVariable *tensor, uint8_t slot, IrVariable **out) {
    IrBinding *binding;
    TRY(build_one(at, IR_DEVICE_COPY, 1, &tensor, IR_TYPE_TENSOR, &binding));
    binding->results[0]->type = tensor->type;
    binding->integer = slot;
    *out = binding->results[0];
    return NULL;
}

Error *ir_build_fatal(
    IrCursor at, const char *text, uint32_t result_count, IrVariable ***out_results) {
    IrBinding *binding;
    TRY(ir_binding_create(at, IR_FATAL, 0, NULL, result_count, &binding));
    TRY(ir_module_text(at.block->function->module, text, &binding->text));
    *out_results = binding->results;
    return NULL;
}
