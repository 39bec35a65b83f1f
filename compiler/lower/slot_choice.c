#include "compiler/lower/slot_choice.h"

#include "base/allocator.h"
#include "compiler/ir/ir_walk.h"
#include "compiler/lower/slot_strings.h"

enum {
    SMALL_COUNT_MAX = 1024, /* elements of integers or bools that may be on the host */
    SMALL_FLOAT_COUNT_MAX = 64,
    NEEDS_HOST = 1,
    NEEDS_DEVICE = 2,
};

bool slot_choice_applies(const IrType *type) {
    return type->kind == IR_TYPE_TENSOR || ir_type_is_container(type) ||
           type->kind == IR_TYPE_UNKNOWN;
}

/* Where a value goes that is handed over through a field, a list or a closure. */
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

static bool is_small(const IrType *type) {
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

/* Parameters and results of calls and branches: floats belong to the device there, or a whole loop
 * over a few floats would be on the host. */
static bool may_be_handed_on_host(const IrType *type) {
    return may_be_on_host(type) && !dtype_is_float(type->dtype);
}

/* Where a tensor that is handed over starts. */
static uint8_t handed(const SlotChoice *choice, const IrVariable *variable) {
    return choice->strings[variable->id] || may_be_handed_on_host(&variable->type) ? 0 : 1;
}

/* Operators whose results may be large though their inputs are small. */
static bool makes_large(const IrBinding *binding) {
    static const OperatorId makers[] = {OPERATOR_RANGE, OPERATOR_CONSTANT_OF_SHAPE, OPERATOR_EXPAND,
        OPERATOR_TILE, OPERATOR_PAD, OPERATOR_ONE_HOT, OPERATOR_NON_ZERO};
    if (binding->kind != IR_OPERATOR) return false;
    for (size_t i = 0; i < sizeof makers / sizeof makers[0]; i++)
        if (binding->operator_info->id == makers[i]) return true;
    return false;
}

/* Strings are on the host, and so is what makes them or something of them. */
static bool has_strings(const SlotChoice *choice, const IrBinding *binding) {
    for (uint32_t i = 0; i < binding->operand_count; i++)
        if (binding->operands[i] && choice->strings[binding->operands[i]->id]) return true;
    for (uint32_t i = 0; i < binding->result_count; i++)
        if (choice->strings[binding->results[i]->id]) return true;
    return false;
}

static uint8_t slot_of(const SlotChoice *choice, const IrVariable *variable) {
    return variable->constant ? 0 : choice->of[variable->id];
}

static bool results_are(const IrBinding *binding, const IrBlock *block) {
    if (!binding || binding->result_count != block->result_count) return false;
    for (uint32_t i = 0; i < block->result_count; i++)
        if (binding->results[i] != block->results[i]) return false;
    return true;
}

/* What is put into a list goes to where its tensors are, what is taken out as it is comes from
 * there. */
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

static void add_need(const SlotChoice *choice, const IrVariable *variable, uint8_t slot) {
    if (variable && !variable->constant && slot != SLOT_HOST_ANY)
        choice->needs[variable->id] |= slot == 0 ? NEEDS_HOST : NEEDS_DEVICE;
}

static void block_needs(const SlotChoice *choice, const IrBlock *block) {
    for (uint32_t i = 0; i < block->result_count; i++)
        add_need(choice, block->results[i], slot_choice_of_result(choice, block, i));
}

/* Who uses what where, as things stand. */
static void find_needs(const SlotChoice *choice) {
    const IrModule *module = choice->module;
    for (uint32_t i = 0; i < module->variable_count; i++) choice->needs[i] = 0;
    for (size_t f = 0; f < module->function_count; f++) {
        const IrBlock *body = module->functions[f]->body;
        block_needs(choice, body);
        for (IrBinding *binding = ir_walk_first(body); binding; binding = ir_walk_next(binding)) {
            for (uint32_t i = 0; i < binding->operand_count; i++)
                if (binding->operands[i])
                    add_need(
                        choice, binding->operands[i], slot_choice_of_operand(choice, binding, i));
            for (uint32_t i = 0; i < binding->block_count; i++)
                block_needs(choice, binding->blocks[i]);
        }
    }
    for (uint32_t i = 0; i < choice->first_result[module->function_count]; i++)
        choice->result_needs[i] = 0;
    for (size_t f = 0; f < module->function_count; f++) {
        IrBinding *binding = ir_walk_first(module->functions[f]->body);
        for (; binding; binding = ir_walk_next(binding)) {
            if (binding->kind != IR_CALL) continue;
            uint32_t first = choice->first_result[binding->function->index];
            for (uint32_t i = 0; i < binding->result_count; i++)
                choice->result_needs[first + i] |= choice->needs[binding->results[i]->id];
        }
    }
}

/* The only way from the host to the device: what is pinned stays. */
static void to_device(uint8_t *slot, uint8_t pinned, bool *inout_changed) {
    if (*slot == 1 || pinned) return;
    *slot = 1;
    *inout_changed = true;
}

static void variable_to_device(
    SlotChoice *choice, const IrVariable *variable, bool *inout_changed) {
    to_device(&choice->of[variable->id], choice->pinned[variable->id], inout_changed);
}

static void result_to_device(SlotChoice *choice, uint32_t index, bool *inout_changed) {
    to_device(&choice->results[index], choice->result_pinned[index], inout_changed);
}

/* Two that should be the same, or a copy comes between them. */
static void unify_variables(
    SlotChoice *choice, const IrVariable *a, const IrVariable *b, bool *inout_changed) {
    if (choice->of[a->id] == 1) variable_to_device(choice, b, inout_changed);
    if (choice->of[b->id] == 1) variable_to_device(choice, a, inout_changed);
}

/* The same with a function's result. */
static void unify_with_result(
    SlotChoice *choice, const IrVariable *variable, uint32_t index, bool *inout_changed) {
    if (choice->of[variable->id] == 1) result_to_device(choice, index, inout_changed);
    if (choice->results[index] == 1) variable_to_device(choice, variable, inout_changed);
}

static bool only_host(uint8_t needs) { return needs == NEEDS_HOST; }

static bool operator_may_stay(const SlotChoice *choice, const IrBinding *binding) {
    bool from_host = false, inputs_small = true, inputs_on_host = true;
    for (uint32_t i = 0; i < binding->operand_count; i++) {
        const IrVariable *input = binding->operands[i];
        if (!input || input->constant) continue;
        if (choice->of[input->id] == 0) {
            from_host = true;
            continue;
        }
        inputs_on_host = false;
        bool reads_value = operator_reads_value(binding->operator_info, i);
        if (!reads_value && !is_small(&input->type)) inputs_small = false;
    }
    uint8_t needs = 0;
    bool integers = true;
    for (uint32_t i = 0; i < binding->result_count; i++) {
        const IrVariable *result = binding->results[i];
        if (!choice->eligible[result->id]) return false;
        if (makes_large(binding) && !is_small(&result->type)) return false;
        if (dtype_is_float(result->type.dtype)) integers = false;
        needs |= choice->needs[result->id];
    }
    if (inputs_on_host && from_host && integers) return true;
    return only_host(needs) && inputs_small;
}

/* A kernel has all of its results in one slot: one on the device takes the others with it. */
static void settle_operator(SlotChoice *choice, const IrBinding *binding, bool *inout_changed) {
    bool on_host = true;
    for (uint32_t i = 0; i < binding->result_count; i++)
        if (choice->of[binding->results[i]->id] == 1) on_host = false;
    if (on_host && operator_may_stay(choice, binding)) return;
    for (uint32_t i = 0; i < binding->result_count; i++)
        variable_to_device(choice, binding->results[i], inout_changed);
}

static void settle_if(SlotChoice *choice, const IrBinding *binding, bool *inout_changed) {
    for (uint32_t i = 0; i < binding->result_count; i++) {
        bool made_on_host = true;
        for (uint32_t b = 0; b < binding->block_count; b++)
            if (slot_of(choice, binding->blocks[b]->results[i]) == 1) made_on_host = false;
        if (!made_on_host && !only_host(choice->needs[binding->results[i]->id]))
            variable_to_device(choice, binding->results[i], inout_changed);
    }
    for (uint32_t b = 0; b < binding->block_count; b++) {
        const IrBlock *block = binding->blocks[b];
        /* no copy may come between a tail call and the end */
        for (uint32_t i = 0; results_are(block->last, block) && i < block->result_count; i++)
            unify_variables(choice, block->results[i], binding->results[i], inout_changed);
    }
}

static void settle_call(SlotChoice *choice, const IrBinding *binding, bool *inout_changed) {
    const IrFunction *callee = binding->function;
    for (uint32_t i = 0; i < binding->result_count; i++)
        unify_with_result(
            choice, binding->results[i], choice->first_result[callee->index] + i, inout_changed);
    for (uint32_t i = 0; i < binding->operand_count; i++) {
        const IrVariable *parameter = callee->body->parameters[i];
        if (slot_of(choice, binding->operands[i]) == 1 && !only_host(choice->needs[parameter->id]))
            variable_to_device(choice, parameter, inout_changed);
    }
}

static void settle_function(SlotChoice *choice, const IrFunction *function, bool *inout_changed) {
    const IrBlock *body = function->body;
    uint32_t first = choice->first_result[function->index];
    const uint8_t *needs = choice->result_needs + first;
    bool tail = results_are(body->last, body);
    for (uint32_t i = 0; i < body->result_count; i++) {
        const IrVariable *result = body->results[i];
        if (tail) unify_with_result(choice, result, first + i, inout_changed);
        if (function->exported ? slot_of(choice, result) == 1 || result->constant
                               : slot_of(choice, result) == 1 && !only_host(needs[i]))
            result_to_device(choice, first + i, inout_changed);
    }
    for (uint32_t i = 0; function->exported && i < body->parameter_count; i++)
        if (!only_host(choice->needs[body->parameters[i]->id]))
            variable_to_device(choice, body->parameters[i], inout_changed);
}

static void settle_all(SlotChoice *choice, bool *inout_changed) {
    const IrModule *module = choice->module;
    for (size_t f = 0; f < module->function_count; f++) {
        settle_function(choice, module->functions[f], inout_changed);
        IrBinding *binding = ir_walk_first(module->functions[f]->body);
        for (; binding; binding = ir_walk_next(binding)) {
            if (binding->kind == IR_OPERATOR) settle_operator(choice, binding, inout_changed);
            if (binding->kind == IR_IF) settle_if(choice, binding, inout_changed);
            if (binding->kind == IR_CALL) settle_call(choice, binding, inout_changed);
        }
    }
}

/* What can be said of a result from its binding alone. */
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
                by_convention(choice, result) == 0 ||
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
    for (bool changed = true; changed;) {
        changed = false;
        find_needs(choice);
        settle_all(choice, &changed);
    }
    return NULL;
}

Error *slot_choice_create(const IrModule *module, SlotChoice *out) {
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
    memory_free(choice->eligible);
    memory_free(choice->pinned);
    memory_free(choice->first_result);
    memory_free(choice->results);
    memory_free(choice->result_pinned);
    memory_free(choice->result_needs);
    memory_free(choice->is_closure);
}
