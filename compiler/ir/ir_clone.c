#include "compiler/ir/ir_clone.h"

#include "base/allocator.h"
#include "compiler/ir/ir_internal.h"
#include "compiler/ir/ir_walk.h"

typedef struct Clone {
    IrVariable **map; /* by id of the original: its clone */
    uint32_t variable_count;
} Clone;

static IrVariable *mapped(const Clone *clone, IrVariable *variable) {
    variable = ir_resolve(variable);
    if (!variable || variable->constant || variable->id >= clone->variable_count) return variable;
    return clone->map[variable->id] ? ir_resolve(clone->map[variable->id]) : variable;
}

static Error *clone_block(const Clone *clone, const IrBlock *from, IrCursor at);

static Error *clone_blocks(const Clone *clone, const IrBinding *from, IrBinding *to) {
    IrModule *module = to->block->function->module;
    void *array;
    TRY(arena_alloc(&module->arena, from->block_count, sizeof(IrBlock *), &array));
    to->blocks = array;
    to->block_count = from->block_count;
    for (uint32_t b = 0; b < from->block_count; b++) {
        const IrBlock *original = from->blocks[b];
        TRY(ir_block_create(to->block->function, to, to->block->depth + 1, &to->blocks[b]));
        IrBlock *copy = to->blocks[b];
        copy->index = b;
        for (uint32_t i = 0; i < original->parameter_count; i++) {
            const IrVariable *parameter = original->parameters[i];
            TRY(ir_block_add_parameter(
                copy, parameter->name, &parameter->type, &clone->map[parameter->id]));
        }
        TRY(clone_block(clone, original, ir_at_end(copy)));
        TRY(ir_block_set_results(copy, original->result_count, original->results));
        for (uint32_t i = 0; i < copy->result_count; i++)
            copy->results[i] = mapped(clone, copy->results[i]);
    }
    return NULL;
}

static Error *clone_binding(const Clone *clone, const IrBinding *from, IrCursor at) {
    IrBinding *to;
    TRY(ir_binding_create(
        at, from->kind, from->operand_count, from->operands, from->result_count, &to));
    for (uint32_t i = 0; i < to->operand_count; i++)
        to->operands[i] = mapped(clone, to->operands[i]);
    to->flag = from->flag;
    to->dtype = from->dtype;
    to->integer = from->integer;
    to->operator_info = from->operator_info;
    to->attributes = from->attributes;
    to->function = from->function;
    to->constructor = from->constructor;
    to->constructors = from->constructors;
    to->text = from->text;
    to->declared = from->declared;
    to->name = from->name;
    for (uint32_t i = 0; i < to->result_count; i++) {
        to->results[i]->name = from->results[i]->name;
        to->results[i]->type = from->results[i]->type;
        to->results[i]->slot = from->results[i]->slot;
    }
    TRY(clone_blocks(clone, from, to));
    for (uint32_t i = 0; i < to->result_count; i++)
        clone->map[from->results[i]->id] = to->results[i];
    return NULL;
}

/* Depth is bounded by IR_NESTING_MAX. */
static Error *clone_block(const Clone *clone, const IrBlock *from, IrCursor at) {
    for (const IrBinding *binding = from->first; binding; binding = binding->next)
        TRY(clone_binding(clone, binding, at));
    return NULL;
}

/* The result of a generic function has the type that its call was given. */
static void replace(IrVariable *result, IrVariable *by) {
    result->replacement = by;
    if (by->type.kind == IR_TYPE_UNKNOWN && !by->constant) by->type = result->type;
}

Error *ir_clone_body(const IrFunction *function, IrCursor at, IrVariable *const *arguments,
    IrVariable *const *results) {
    Clone clone = {.variable_count = function->module->variable_count};
    void *map;
    TRY(ir_side_table(function->module, sizeof(IrVariable *), &map));
    clone.map = map;
    for (uint32_t i = 0; i < function->body->parameter_count; i++)
        clone.map[function->body->parameters[i]->id] = arguments[i];
    Error *error = clone_block(&clone, function->body, at);
    for (uint32_t i = 0; !error && i < function->body->result_count; i++)
        replace(results[i], mapped(&clone, function->body->results[i]));
    memory_free(map);
    return error;
}
