#include "compiler/ir/ir_walk.h"

#include <string.h>

#include "base/allocator.h"

/* Returns the first binding in the blocks from number `from` on. */
static IrBinding *blocks_first(const IrBinding *binding, uint32_t from) {
    for (uint32_t i = from; i < binding->block_count; i++) {
        if (binding->blocks[i]->first) return binding->blocks[i]->first;
    }
    return NULL;
}

IrBinding *ir_walk_over(const IrBinding *binding) {
    while (binding) {
        if (binding->next) return binding->next;
        const IrBlock *block = binding->block;
        binding = block->parent;
        IrBinding *next = binding ? blocks_first(binding, block->index + 1) : NULL;
        if (next) return next;
    }
    return NULL;
}

IrBinding *ir_walk_next(const IrBinding *binding) {
    IrBinding *inside = blocks_first(binding, 0);
    return inside ? inside : ir_walk_over(binding);
}

/* Returns the last binding of the blocks before number `to` that is in none of their own blocks. */
static IrBinding *blocks_last(const IrBinding *binding, uint32_t to) {
    for (uint32_t i = to; i > 0; i--)
        if (binding->blocks[i - 1]->last) return binding->blocks[i - 1]->last;
    return NULL;
}

/* Returns the last binding inside of a binding, or the binding itself. */
static IrBinding *last_inside(IrBinding *binding) {
    for (IrBinding *inside = binding; inside; inside = blocks_last(inside, inside->block_count))
        binding = inside;
    return binding;
}

IrBinding *ir_walk_last(const IrBlock *block) {
    return block->last ? last_inside(block->last) : NULL;
}

IrBinding *ir_walk_previous(const IrBinding *binding) {
    if (binding->previous) return last_inside(binding->previous);
    IrBinding *parent = binding->block->parent;
    IrBinding *beside = parent ? blocks_last(parent, binding->block->index) : NULL;
    return beside ? last_inside(beside) : parent;
}

void ir_remove(IrBinding *binding) {
    IrBlock *block = binding->block;
    if (binding->previous)
        binding->previous->next = binding->next;
    else
        block->first = binding->next;
    if (binding->next)
        binding->next->previous = binding->previous;
    else
        block->last = binding->previous;
    binding->previous = binding->next = NULL;
}

IrVariable *ir_resolve(IrVariable *variable) {
    if (!variable || !variable->replacement) return variable;
    IrVariable *end = variable;
    while (end->replacement) end = end->replacement;
    while (variable->replacement) {
        IrVariable *next = variable->replacement;
        variable->replacement = end;
        variable = next;
        if (variable == end) break;
    }
    return end;
}

static void block_replace(IrBlock *block) {
    for (uint32_t i = 0; i < block->result_count; i++)
        block->results[i] = ir_resolve(block->results[i]);
}

void ir_replace_in(IrFunction *function) {
    IrBlock *body = function->body;
    block_replace(body);
    for (IrBinding *binding = ir_walk_first(body); binding; binding = ir_walk_next(binding)) {
        for (uint32_t i = 0; i < binding->operand_count; i++)
            binding->operands[i] = ir_resolve(binding->operands[i]);
        for (uint32_t i = 0; i < binding->block_count; i++) block_replace(binding->blocks[i]);
    }
}

void ir_replace_all(IrModule *module) {
    for (size_t f = 0; f < module->function_count; f++) ir_replace_in(module->functions[f]);
}

static void block_count_uses(const IrBlock *block, uint32_t *counts) {
    for (uint32_t i = 0; i < block->result_count; i++) counts[block->results[i]->id]++;
}

void ir_count_uses(const IrModule *module, uint32_t *out_counts) {
    memset(out_counts, 0, module->variable_count * sizeof *out_counts);
    for (size_t f = 0; f < module->function_count; f++) {
        const IrBlock *body = module->functions[f]->body;
        block_count_uses(body, out_counts);
        for (IrBinding *binding = ir_walk_first(body); binding; binding = ir_walk_next(binding)) {
            for (uint32_t i = 0; i < binding->operand_count; i++)
                if (binding->operands[i]) out_counts[binding->operands[i]->id]++;
            for (uint32_t i = 0; i < binding->block_count; i++)
                block_count_uses(binding->blocks[i], out_counts);
        }
    }
}

Error *ir_side_table(const IrModule *module, size_t element_size, void **out) {
    return memory_alloc(module->variable_count ? module->variable_count : 1, element_size, out);
}

/* Moves all bindings of `from`, with their results, to `to`. */
void ir_move_bindings(IrBlock *from, IrBlock *to, IrBinding *before) {
    if (!from->first) return;
    for (IrBinding *binding = from->first; binding; binding = binding->next) {
        binding->block = to;
        for (uint32_t i = 0; i < binding->result_count; i++) binding->results[i]->block = to;
    }
    IrBinding *previous = before ? before->previous : to->last;
    from->first->previous = previous;
    from->last->next = before;
    if (previous)
        previous->next = from->first;
    else
        to->first = from->first;
    if (before)
        before->previous = from->last;
    else
        to->last = from->last;
    from->first = from->last = NULL;
}

Error *ir_update_depths(IrModule *module) {
    /* a local function stands behind the function that contains it */
    for (size_t f = 0; f < module->function_count; f++) {
        IrFunction *function = module->functions[f];
        function->body->depth = function->outer ? function->outer->depth + 1 : 0;
        IrBinding *binding = ir_walk_first(function->body);
        for (; binding; binding = ir_walk_next(binding)) {
            uint32_t depth = binding->block->depth + 1;
            if (binding->block_count > 0 && depth > IR_NESTING_MAX)
                FAIL(EXHAUSTED, "function %s: blocks nested more than %d deep", function->name,
                    IR_NESTING_MAX);
            for (uint32_t i = 0; i < binding->block_count; i++) binding->blocks[i]->depth = depth;
        }
    }
    return NULL;
}

bool ir_is_pure(const IrBinding *binding, const bool *pure_functions) {
    switch (binding->kind) {
    case IR_OPERATOR:
        return binding->operator_info->purity == PURITY_PURE;
    case IR_CALL:
        return pure_functions[binding->function->index];
    case IR_CALL_CLOSURE:
    case IR_YIELD:
    case IR_FATAL:
        return false;
    case IR_CLOSURE:
    case IR_IF:
    case IR_MATCH:
    case IR_CONSTRUCT:
    case IR_GET_FIELD:
    case IR_GET_TAG:
    case IR_LIST_NEW:
    case IR_LIST_APPEND:
    case IR_LIST_CONCAT:
    case IR_OPTIONAL:
    case IR_CALL_PACKED:
    case IR_INT_OP:
    case IR_READ_SCALAR:
    case IR_MAKE_TENSOR:
    case IR_SHAPE_OF:
    case IR_DEVICE_COPY:
    case IR_KIND_COUNT:
        break;
    }
    return true;
}

static bool body_is_pure(const IrBlock *body, const bool *pure_functions) {
    for (IrBinding *binding = ir_walk_first(body); binding; binding = ir_walk_next(binding))
        if (!ir_is_pure(binding, pure_functions)) return false;
    return true;
}

void ir_find_pure_functions(const IrModule *module, bool *out_pure) {
    for (size_t f = 0; f < module->function_count; f++) out_pure[f] = true;
    for (bool changed = true; changed;) {
        changed = false;
        for (size_t f = 0; f < module->function_count; f++) {
            if (!out_pure[f] || body_is_pure(module->functions[f]->body, out_pure)) continue;
            out_pure[f] = false;
            changed = true;
        }
    }
}
