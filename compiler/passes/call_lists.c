#include "compiler/passes/call_lists.h"

#include "base/allocator.h"
#include "compiler/ir/ir_walk.h"

static Error *allocate(const IrModule *module, CallLists *lists) {
    void *memory;
    TRY(memory_alloc(module->function_count + 1, sizeof(size_t), &memory));
    lists->first = memory;
    TRY(memory_alloc(module->function_count + 1, sizeof(bool), &memory));
    lists->is_closure = memory;
    return NULL;
}

/* place true: stores each call at lists->first and advances it; false: only counts calls there. */
static size_t visit(const IrModule *module, CallLists *lists, bool place) {
    size_t count = 0;
    for (size_t f = 0; f < module->function_count; f++) {
        IrBinding *binding = ir_walk_first(module->functions[f]->body);
        for (; binding; binding = ir_walk_next(binding)) {
            if (!binding->function) continue;
            const uint32_t called = binding->function->index;
            if (binding->kind != IR_CALL && called != f) lists->is_closure[called] = true;
            if (binding->kind != IR_CALL) continue;
            if (place) lists->calls[lists->first[called]] = binding;
            lists->first[called]++;
            count++;
        }
    }
    return count;
}

static Error *fill(const IrModule *module, CallLists *lists) {
    TRY(allocate(module, lists));
    const size_t count = visit(module, lists, false);
    void *memory;
    TRY(memory_alloc(count + 1, sizeof(IrBinding *), &memory));
    lists->calls = memory;
    size_t at = 0;
    for (size_t f = 0; f < module->function_count; f++) {
        const size_t calls = lists->first[f];
        lists->first[f] = at;
        at += calls;
    }
    (void)visit(module, lists, true);
    for (size_t f = module->function_count; f > 0; f--) lists->first[f] = lists->first[f - 1];
    lists->first[0] = 0;
    return NULL;
}

Error *call_lists_init(const IrModule *module, CallLists *out) {
    CallLists OWN_CALLS(lists) = {0};
    TRY(fill(module, &lists));
    *out = lists;
    lists = (CallLists){0};
    return NULL;
}

void call_lists_deinit(CallLists *lists) {
    memory_free(lists->calls);
    memory_free(lists->first);
    memory_free(lists->is_closure);
    *lists = (CallLists){0};
}

IrBinding *const *call_lists_get(
    const CallLists *lists, const IrFunction *function, size_t *out_count) {
    const size_t first = lists->first[function->index];
    *out_count = lists->first[function->index + 1] - first;
    return lists->calls + first;
}

bool call_lists_calls_itself(const CallLists *lists, const IrFunction *function) {
    size_t count;
    IrBinding *const *calls = call_lists_get(lists, function, &count);
    for (size_t i = 0; i < count; i++)
        if (calls[i]->block->function == function) return true;
    return false;
}
