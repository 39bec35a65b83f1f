#include "compiler/lower/slot_demand.h"

#include "base/allocator.h"
#include "compiler/ir/ir_walk.h"

/* The operands that calls pass to a function, as lists of calls by function. */
typedef struct Calls {
    const IrBinding **calls;
    uint32_t *next;  /* by call: the next call of the same function, plus 1 */
    uint32_t *first; /* by function: its first call, plus 1 */
} Calls;

typedef struct Search {
    SlotChoice *choice;
    const IrVariable **stack; /* demanded, its own sources not looked at yet; each variable once */
    size_t stack_count;
    Calls calls;
} Search;

static void demand(Search *self, const IrVariable *variable) {
    bool *demanded = self->choice->demanded;
    if (!variable || variable->constant || demanded[variable->id]) return;
    demanded[variable->id] = true;
    self->stack[self->stack_count++] = variable;
}

static void demand_operands(Search *self, const IrBinding *binding) {
    for (uint32_t i = 0; i < binding->operand_count; i++) demand(self, binding->operands[i]);
}

static bool is_pinned(const SlotChoice *choice, const IrBinding *binding) {
    for (uint32_t i = 0; i < binding->result_count; i++)
        if (choice->pinned[binding->results[i]->id]) return true;
    return false;
}

/* What a binding needs by its kind, whoever needs its results. */
static void begin_at(Search *self, const IrBinding *binding) {
    if (binding->kind == IR_IF || binding->kind == IR_MATCH)
        demand(self, binding->operands[0]);
    else if (binding->kind == IR_READ_SCALAR)
        demand_operands(self, binding);
    if (binding->kind != IR_OPERATOR) return;
    if (is_pinned(self->choice, binding)) {
        demand_operands(self, binding);
        return;
    }
    for (uint32_t i = 0; i < binding->operand_count; i++)
        if (operator_reads_value(binding->operator_info, i)) demand(self, binding->operands[i]);
}

static bool may_run_on_host(const SlotChoice *choice, const IrBinding *binding) {
    for (uint32_t i = 0; i < binding->result_count; i++)
        if (!choice->eligible[binding->results[i]->id]) return false;
    return true;
}

static void demand_sources(Search *self, const IrVariable *variable) {
    const IrBinding *binding = variable->binding;
    if (!binding && !variable->block->parent) {
        const Calls *calls = &self->calls;
        uint32_t call = calls->first[variable->block->function->index];
        for (; call; call = calls->next[call - 1])
            demand(self, calls->calls[call - 1]->operands[variable->index]);
    }
    if (!binding) return;
    if (binding->kind == IR_OPERATOR && may_run_on_host(self->choice, binding))
        demand_operands(self, binding);
    if (binding->kind == IR_CALL) demand(self, binding->function->body->results[variable->index]);
    for (uint32_t i = 0; i < binding->block_count; i++)
        demand(self, binding->blocks[i]->results[variable->index]);
}

static Error *search(Search *self, size_t call_count) {
    const IrModule *module = self->choice->module;
    void *memory;
    TRY(memory_alloc(module->variable_count + 1, sizeof(IrVariable *), &memory));
    self->stack = memory;
    TRY(memory_alloc(call_count + 1, sizeof(IrBinding *), &memory));
    self->calls.calls = memory;
    TRY(memory_alloc(call_count + 1, sizeof(uint32_t), &memory));
    self->calls.next = memory;
    TRY(memory_alloc(module->function_count + 1, sizeof(uint32_t), &memory));
    self->calls.first = memory;
    uint32_t call = 0;
    for (size_t f = 0; f < module->function_count; f++) {
        const IrBinding *binding = ir_walk_first(module->functions[f]->body);
        for (; binding; binding = ir_walk_next(binding)) {
            begin_at(self, binding);
            if (binding->kind != IR_CALL) continue;
            uint32_t *first = &self->calls.first[binding->function->index];
            self->calls.calls[call] = binding;
            self->calls.next[call] = *first;
            *first = ++call;
        }
    }
    while (self->stack_count > 0) demand_sources(self, self->stack[--self->stack_count]);
    return NULL;
}

static size_t count_calls(const IrModule *module) {
    size_t count = 0;
    for (size_t f = 0; f < module->function_count; f++) {
        const IrBinding *binding = ir_walk_first(module->functions[f]->body);
        for (; binding; binding = ir_walk_next(binding)) count += binding->kind == IR_CALL;
    }
    return count;
}

Error *slot_demand_find(SlotChoice *choice) {
    Search self = {.choice = choice};
    Error *error = search(&self, count_calls(choice->module));
    memory_free((void *)self.stack);
    memory_free((void *)self.calls.calls);
    memory_free(self.calls.next);
    memory_free(self.calls.first);
    return error;
}
