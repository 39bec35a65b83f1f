/* Lambda lifting: the outer values that a local function uses become additional parameters, which
 * every call passes on and every closure binds. */
#include <string.h>

#include "base/allocator.h"
#include "compiler/ir/ir_walk.h"
#include "compiler/passes/pass.h"

/* Variables of other functions in the order of discovery, with an open hash table over them. */
typedef struct Captures {
    IrVariable **items;
    size_t count, capacity;
    uint32_t *table; /* 1 + index in items */
    size_t table_size;
    uint32_t first_parameter; /* the function's parameter that stands for items[0] */
} Captures;

static size_t captures_slot(const Captures *captures, const IrVariable *variable) {
    size_t at = (variable->id * UINT32_C(0x9e3779b1)) & (captures->table_size - 1);
    while (captures->table[at] && captures->items[captures->table[at] - 1] != variable)
        at = (at + 1) & (captures->table_size - 1);
    return at;
}

static Error *captures_grow(Captures *captures) {
    if (captures->count * 2 < captures->table_size) return NULL;
    size_t size = captures->table_size ? captures->table_size * 2 : 16;
    void *table;
    TRY(memory_alloc(size, sizeof(uint32_t), &table));
    memory_free(captures->table);
    captures->table = table;
    captures->table_size = size;
    for (size_t i = 0; i < captures->count; i++)
        captures->table[captures_slot(captures, captures->items[i])] = (uint32_t)i + 1;
    return NULL;
}

static Error *captures_add(Captures *captures, IrVariable *variable, bool *inout_changed) {
    TRY(captures_grow(captures));
    size_t at = captures_slot(captures, variable);
    if (captures->table[at]) return NULL;
    void *items = captures->items;
    TRY(memory_grow(&items, captures->count, &captures->capacity, sizeof(IrVariable *)));
    captures->items = items;
    captures->items[captures->count++] = variable;
    captures->table[at] = (uint32_t)captures->count;
    *inout_changed = true;
    return NULL;
}

static Error *add_use(
    Captures *captures, const IrFunction *function, IrVariable *variable, bool *inout_changed) {
    if (!variable || variable->constant || ir_variable_function(variable) == function) return NULL;
    return captures_add(captures, variable, inout_changed);
}

/* Finds the variables of other functions that the function itself uses. */
static Error *find_own(Captures *captures, IrFunction *function) {
    bool changed;
    IrBlock *body = function->body;
    for (uint32_t i = 0; i < body->result_count; i++)
        TRY(add_use(captures, function, body->results[i], &changed));
    for (IrBinding *binding = ir_walk_first(body); binding; binding = ir_walk_next(binding)) {
        for (uint32_t i = 0; i < binding->operand_count; i++)
            TRY(add_use(captures, function, binding->operands[i], &changed));
        for (uint32_t b = 0; b < binding->block_count; b++) {
            IrBlock *block = binding->blocks[b];
            for (uint32_t i = 0; i < block->result_count; i++)
                TRY(add_use(captures, function, block->results[i], &changed));
        }
    }
    return NULL;
}

/* Adds the variables that called functions capture and that are not the function's own. */
static Error *find_passed_on(Captures *all, IrFunction *function, bool *inout_changed) {
    IrBinding *binding = ir_walk_first(function->body);
    for (; binding; binding = ir_walk_next(binding)) {
        if (binding->kind != IR_CALL && binding->kind != IR_CLOSURE) continue;
        const Captures *callee = &all[binding->function->index];
        if (callee == &all[function->index]) continue;
        for (size_t i = 0; i < callee->count; i++)
            TRY(add_use(&all[function->index], function, callee->items[i], inout_changed));
    }
    return NULL;
}

static Error *add_parameters(Captures *captures, IrFunction *function) {
    captures->first_parameter = function->body->parameter_count;
    if (captures->count > 0 && function->exported)
        FAIL(INTERNAL, "function %s is exported but uses variables of another", function->name);
    for (size_t i = 0; i < captures->count; i++) {
        IrVariable *parameter;
        const IrVariable *captured = captures->items[i];
        TRY(ir_function_add_parameter(function, captured->name, &captured->type, &parameter));
    }
    return NULL;
}

/* The parameter that stands for a captured variable inside the function. */
static IrVariable *local(
    const Captures *captures, const IrFunction *function, IrVariable *variable) {
    if (!variable || variable->constant || ir_variable_function(variable) == function)
        return variable;
    size_t at = captures_slot(captures, variable);
    return function->body->parameters[captures->first_parameter + captures->table[at] - 1];
}

static void block_rename(const Captures *captures, IrFunction *function, IrBlock *block) {
    for (uint32_t i = 0; i < block->result_count; i++)
        block->results[i] = local(captures, function, block->results[i]);
}

/* Appends the callee's captured variables to a call's operands. */
static Error *pass_on(const Captures *captures, const Captures *callee, IrBinding *binding) {
    IrFunction *function = binding->block->function;
    size_t count = binding->operand_count + callee->count;
    if (count > IR_OPERANDS_MAX)
        FAIL(EXHAUSTED, "function %s needs more than %d values from outside",
            binding->function->name, IR_OPERANDS_MAX);
    void *array;
    TRY(arena_alloc(&function->module->arena, count, sizeof(IrVariable *), &array));
    IrVariable **operands = array;
    if (binding->operand_count > 0)
        memcpy(operands, binding->operands, binding->operand_count * sizeof *operands);
    for (size_t i = 0; i < callee->count; i++)
        operands[binding->operand_count + i] = local(captures, function, callee->items[i]);
    binding->operands = operands;
    binding->operand_count = (uint32_t)count;
    return NULL;
}

static Error *rename_all(const Captures *all, IrFunction *function) {
    const Captures *captures = &all[function->index];
    block_rename(captures, function, function->body);
    IrBinding *binding = ir_walk_first(function->body);
    for (; binding; binding = ir_walk_next(binding)) {
        for (uint32_t i = 0; i < binding->operand_count; i++)
            binding->operands[i] = local(captures, function, binding->operands[i]);
        for (uint32_t i = 0; i < binding->block_count; i++)
            block_rename(captures, function, binding->blocks[i]);
        bool calls = binding->kind == IR_CALL || binding->kind == IR_CLOSURE;
        if (calls && all[binding->function->index].count > 0)
            TRY(pass_on(captures, &all[binding->function->index], binding));
    }
    function->outer = NULL;
    return NULL;
}

static Error *lift(IrModule *module, Captures *all) {
    for (size_t f = 0; f < module->function_count; f++)
        TRY(find_own(&all[f], module->functions[f]));
    for (bool changed = true; changed;) {
        changed = false;
        /* inner functions stand behind outer ones, so going backwards needs fewer rounds */
        for (size_t f = module->function_count; f-- > 0;)
            TRY(find_passed_on(all, module->functions[f], &changed));
    }
    for (size_t f = 0; f < module->function_count; f++)
        TRY(add_parameters(&all[f], module->functions[f]));
    for (size_t f = 0; f < module->function_count; f++) TRY(rename_all(all, module->functions[f]));
    return ir_update_depths(module);
}

Error *lift_lambdas_pass(PassContext *context) {
    IrModule *module = context->module;
    void *block;
    TRY(memory_alloc(module->function_count + 1, sizeof(Captures), &block));
    Captures *all = block;
    Error *error = lift(module, all);
    for (size_t f = 0; f < module->function_count; f++) {
        memory_free(all[f].items);
        memory_free(all[f].table);
    }
    memory_free(all);
    return error;
}
