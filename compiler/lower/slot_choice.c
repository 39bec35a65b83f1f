#include "compiler/lower/slot_choice.h"

#include "base/allocator.h"
#include "compiler/ir/ir_walk.h"
#include "compiler/lower/slot_strings.h"

enum {
    SMALL_COUNT_MAX = 1024, /* elements of integers or bools that may be on the host */
    SMALL_FLOAT_COUNT_MAX = 64,
};

bool slot_choice_applies(const IrType *type) {
    return type->kind == IR_TYPE_TENSOR || ir_type_is_container(type) ||
           type->kind == IR_TYPE_UNKNOWN;
}

/* The slot of a value that goes through a field, a list or a closure. */
static uint8_t by_convention(const SlotChoice *choice, const IrVariable *variable) {
    return choice->strings[variable->id] ? 0 : 1;
}

static int64_t static_count(const IrType *type) {
    Shape shape = {.rank = type->rank};
    if (!ir_type_is_static(type)) return -1;
    for (uint32_t i = 0; i < type->rank; i++) shape.dims[i] = type->dims[i];
    int64_t count;
    Error *error = shape_count(&shape, &count);
    if (!error) return count;
    error_free(error); /* too large to count is not small */
    return INT64_MAX;
}

bool slot_choice_is_small(const IrType *type) {
    int64_t count = static_count(type);
    return count >= 0 && count <= SMALL_COUNT_MAX;
}

static bool may_be_on_host(const IrType *type) {
    if (type->kind != IR_TYPE_TENSOR) return false;
    int64_t count = static_count(type);
    if (type->dtype == DTYPE_STRING) return true;
    if (type->dtype == DTYPE_BOOL || dtype_is_integer(type->dtype))
        return count >= 0 ? count <= SMALL_COUNT_MAX : !type->rank_known || type->rank <= 1;
    return dtype_is_float(type->dtype) && count >= 0 && count <= SMALL_FLOAT_COUNT_MAX;
}

/* Whether a parameter or result of calls and branches may be on the host. Floats may not: otherwise
 * a whole loop over a few floats would run on the host. */
static bool may_be_handed_on_host(const IrType *type) {
    return may_be_on_host(type) && !dtype_is_float(type->dtype);
}

/* The first choice for a tensor that goes through calls or branches. */
static uint8_t handed(const SlotChoice *choice, const IrVariable *variable) {
    return choice->strings[variable->id] || may_be_handed_on_host(&variable->type) ? 0 : 1;
}

/* True for operators that read or make strings: they run on the host. */
static bool has_strings(const SlotChoice *choice, const IrBinding *binding) {
    for (uint32_t i = 0; i < binding->operand_count; i++)
        if (binding->operands[i] && choice->strings[binding->operands[i]->id]) return true;
    for (uint32_t i = 0; i < binding->result_count; i++)
        if (choice->strings[binding->results[i]->id]) return true;
    return false;
}

/* A tensor that goes into a list, or comes out of it, is in the slot of the list's tensors. */
static uint8_t packed_call_operand(
    const SlotChoice *choice, const IrBinding *binding, uint32_t index) {
    const IrType *type = &binding->operands[index]->type;
    if (type->kind != IR_TYPE_TENSOR || binding->integer == IR_PACKED_OPTIONAL_HAS_ELEMENT)
        return SLOT_HOST_ANY;
    return by_convention(choice, binding->results[0]);
}

uint8_t slot_choice_of_operand(const SlotChoice *choice, const IrBinding *binding, uint32_t index) {
    const IrVariable *operand = binding->operands[index];
    switch (binding->kind) {
    case IR_OPERATOR:
        if (operator_reads_value(binding->operator_info, index)) return 0;
        return binding->result_count ? choice->of[binding->results[0]->id] : 1;
    case IR_CALL:
        return choice->of[binding->function->body->parameters[index]->id];
    case IR_CALL_CLOSURE:
        return index == 0 ? SLOT_HOST_ANY : by_convention(choice, operand);
    case IR_CLOSURE:
    case IR_CONSTRUCT:
        return by_convention(choice, operand);
    case IR_LIST_NEW:
        return by_convention(choice, binding->results[0]);
    case IR_LIST_APPEND:
        return index == 0 ? SLOT_HOST_ANY : by_convention(choice, binding->results[0]);
    case IR_OPTIONAL:
        return by_convention(choice, binding->results[0]);
    case IR_CALL_PACKED:
        return packed_call_operand(choice, binding, index);
    case IR_IF:
    case IR_MATCH:
    case IR_READ_SCALAR:
        return 0;
    case IR_GET_FIELD:
    case IR_GET_TAG:
    case IR_LIST_CONCAT:
    case IR_INT_OP:
    case IR_MAKE_TENSOR:
    case IR_SHAPE_OF:
    case IR_DEVICE_COPY:
    case IR_YIELD:
    case IR_FATAL:
    case IR_KIND_COUNT:
        break;
    }
    return SLOT_HOST_ANY;
}

uint8_t slot_choice_of_result(const SlotChoice *choice, const IrBlock *block, uint32_t index) {
    if (block->parent) return choice->of[block->parent->results[index]->id];
    return choice->results[choice->first_result[block->function->index] + index];
}

/* Instructions whose result can only be in one slot. */
static bool has_one_slot(const IrBinding *binding) {
    return binding->kind == IR_SHAPE_OF || binding->kind == IR_MAKE_TENSOR ||
           binding->kind == IR_DEVICE_COPY;
}

/* The first choice for a result, from its binding alone. */
static uint8_t start_of(
    const SlotChoice *choice, const IrBinding *binding, const IrVariable *variable) {
    switch (binding->kind) {
    case IR_SHAPE_OF:
    case IR_MAKE_TENSOR:
        return 0;
    case IR_DEVICE_COPY:
        return (uint8_t)binding->integer;
    case IR_OPERATOR:
        return has_strings(choice, binding) || may_be_on_host(&variable->type) ? 0 : 1;
    case IR_CALL:
    case IR_IF:
        if (ir_type_is_container(&variable->type)) return by_convention(choice, variable);
        return handed(choice, variable);
    case IR_LIST_CONCAT:
        return by_convention(choice, binding->operands[0]);
    case IR_CALL_CLOSURE:
    case IR_CLOSURE:
    case IR_MATCH:
    case IR_CONSTRUCT:
    case IR_GET_FIELD:
    case IR_GET_TAG:
    case IR_LIST_NEW:
    case IR_LIST_APPEND:
    case IR_OPTIONAL:
    case IR_CALL_PACKED:
    case IR_INT_OP:
    case IR_READ_SCALAR:
    case IR_YIELD:
    case IR_FATAL:
    case IR_KIND_COUNT:
        break;
    }
    return by_convention(choice, variable);
}

static void start_function(SlotChoice *choice, const IrFunction *function) {
    const IrBlock *body = function->body;
    bool closure = choice->is_closure[function->index];
    for (uint32_t i = 0; i < body->parameter_count; i++) {
        const IrVariable *parameter = body->parameters[i];
        bool may = !closure && parameter->type.kind == IR_TYPE_TENSOR;
        choice->of[parameter->id] =
            may ? handed(choice, parameter) : by_convention(choice, parameter);
        choice->pinned[parameter->id] = by_convention(choice, parameter) == 0;
    }
    for (uint32_t i = 0; i < body->result_count; i++) {
        const IrVariable *result = body->results[i];
        bool may = !closure && result->type.kind == IR_TYPE_TENSOR;
        uint32_t at = choice->first_result[function->index] + i;
        choice->results[at] = may ? handed(choice, result) : by_convention(choice, result);
        choice->result_pinned[at] = by_convention(choice, result) == 0;
    }
    for (IrBinding *binding = ir_walk_first(body); binding; binding = ir_walk_next(binding)) {
        for (uint32_t i = 0; i < binding->result_count; i++) {
            const IrVariable *result = binding->results[i];
            choice->of[result->id] = start_of(choice, binding, result);
            choice->eligible[result->id] = may_be_on_host(&result->type);
            choice->pinned[result->id] =
                by_convention(choice, result) == 0 || has_one_slot(binding) ||
                (binding->kind == IR_OPERATOR && has_strings(choice, binding));
        }
    }
}

static void find_closures(SlotChoice *choice) {
    const IrModule *module = choice->module;
    for (size_t f = 0; f < module->function_count; f++) {
        IrBinding *binding = ir_walk_first(module->functions[f]->body);
        for (; binding; binding = ir_walk_next(binding))
            if (binding->kind == IR_CLOSURE) choice->is_closure[binding->function->index] = true;
    }
}

static Error *choose(SlotChoice *choice) {
    const IrModule *module = choice->module;
    void *table;
    TRY(ir_side_table(module, 1, &table));
    choice->of = table;
    TRY(ir_side_table(module, sizeof(bool), &table));
    choice->strings = table;
    slot_strings_find(module, choice->strings);
    TRY(ir_side_table(module, 1, &table));
    choice->needs = table;
    TRY(ir_side_table(module, sizeof(bool), &table));
    choice->demanded = table;
    TRY(ir_side_table(module, sizeof(bool), &table));
    choice->computed = table;
    TRY(ir_side_table(module, 1, &table));
    choice->eligible = table;
    TRY(ir_side_table(module, 1, &table));
    choice->pinned = table;
    TRY(memory_alloc(module->function_count + 1, sizeof(uint32_t), &table));
    choice->first_result = table;
    TRY(memory_alloc(module->function_count + 1, sizeof(bool), &table));
    choice->is_closure = table;
    uint32_t count = 0;
    for (size_t f = 0; f < module->function_count; f++) {
        choice->first_result[f] = count;
        count += module->functions[f]->body->result_count;
    }
    choice->first_result[module->function_count] = count;
    TRY(memory_alloc((size_t)count + 1, 1, &table));
    choice->results = table;
    TRY(memory_alloc((size_t)count + 1, 1, &table));
    choice->result_pinned = table;
    TRY(memory_alloc((size_t)count + 1, 1, &table));
    choice->result_needs = table;
    find_closures(choice);
    for (size_t f = 0; f < module->function_count; f++)
        start_function(choice, module->functions[f]);
    return NULL;
}

Error *slot_choice_begin(const IrModule *module, SlotChoice *out) {
    SlotChoice choice = {.module = module};
    Error *error = choose(&choice);
    if (error)
        slot_choice_deinit(&choice);
    else
        *out = choice;
    return error;
}

void slot_choice_deinit(SlotChoice *choice) {
    memory_free(choice->of);
    memory_free(choice->strings);
    memory_free(choice->needs);
    memory_free(choice->demanded);
    memory_free(choice->computed);
    memory_free(choice->eligible);
    memory_free(choice->pinned);
    memory_free(choice->first_result);
    memory_free(choice->results);
    memory_free(choice->result_pinned);
    memory_free(choice->result_needs);
    memory_free(choice->is_closure);
}
