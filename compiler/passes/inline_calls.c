/* Inlining: a function with a single call is moved there; a small function is copied to each call.
 * Recursive functions (loops) and closures are not inlined. */
#include "base/allocator.h"
#include "compiler/ir/ir_clone.h"
#include "compiler/ir/ir_walk.h"
#include "compiler/passes/pass.h"

enum {
    FUNCTIONS_MAX = 4096, /* beyond, finding recursion by search would be slow */
    SMALL_SIZE_MAX = 64,  /* bindings of a function that is worth a copy at each call */
    GROWTH_MAX = 20000,   /* bindings that copies may add to the module */
};

typedef struct Inlining {
    IrModule *module;
    uint32_t *calls;    /* by function */
    uint32_t *sizes;    /* by function: number of bindings */
    bool *stays;        /* by function */
    bool *copied;       /* by function */
    bool *seen;         /* by function, during a search */
    IrFunction **stack; /* of the search */
    uint32_t growth;
} Inlining;

/* True when a function may call itself, directly or through others. */
static bool is_recursive(Inlining *inlining, const IrFunction *function) {
    IrModule *module = inlining->module;
    for (size_t f = 0; f < module->function_count; f++) inlining->seen[f] = false;
    size_t count = 0;
    inlining->stack[count++] = module->functions[function->index];
    while (count > 0) {
        IrBinding *binding = ir_walk_first(inlining->stack[--count]->body);
        for (; binding; binding = ir_walk_next(binding)) {
            if (binding->kind != IR_CALL && binding->kind != IR_CLOSURE) continue;
            if (binding->function == function) return true;
            if (inlining->seen[binding->function->index]) continue;
            inlining->seen[binding->function->index] = true;
            inlining->stack[count++] = binding->function;
        }
    }
    return false;
}

static void count_all(Inlining *inlining) {
    const IrModule *module = inlining->module;
    for (size_t f = 0; f < module->function_count; f++) {
        IrBinding *binding = ir_walk_first(module->functions[f]->body);
        for (; binding; binding = ir_walk_next(binding)) {
            inlining->sizes[f]++;
            if (binding->kind == IR_CALL) inlining->calls[binding->function->index]++;
            if (binding->kind == IR_CLOSURE) inlining->stays[binding->function->index] = true;
        }
    }
    for (size_t f = 0; f < module->function_count; f++) {
        const IrFunction *function = module->functions[f];
        bool wanted = inlining->calls[f] == 1 || inlining->sizes[f] <= SMALL_SIZE_MAX;
        if (function->exported || !wanted || is_recursive(inlining, function))
            inlining->stays[f] = true;
    }
}

/* The deepest block inside, below the function's body. */
static uint32_t depth_inside(const IrFunction *function) {
    uint32_t deepest = 0;
    IrBinding *binding = ir_walk_first(function->body);
    for (; binding; binding = ir_walk_next(binding)) {
        uint32_t depth = binding->block->depth - function->body->depth;
        if (depth > deepest) deepest = depth;
    }
    return deepest;
}

/* Puts the body in the place of the call. */
static Error *inline_call(Inlining *inlining, IrBinding *call, bool *out_done) {
    IrFunction *callee = call->function;
    *out_done = false;
    if (inlining->stays[callee->index]) return NULL;
    if (call->block->depth + depth_inside(callee) + 1 > IR_NESTING_MAX) return NULL;
    /* the only call costs nothing, unless the function has been copied */
    bool first = inlining->calls[callee->index] == 1 && !inlining->copied[callee->index];
    uint32_t growth = first ? 0 : inlining->sizes[callee->index];
    if (inlining->growth + growth > GROWTH_MAX) return NULL;
    inlining->growth += growth;
    inlining->copied[callee->index] = true;
    TRY(ir_clone_body(callee, ir_before(call), call->operands, call->results));
    ir_remove(call);
    *out_done = true;
    return NULL;
}

/* Inlined bodies are visited, too. The walk ends, since their calls go to later functions, and
 * recursive calls stay. */
static Error *inline_function(Inlining *inlining, IrFunction *function) {
    IrBinding *binding = ir_walk_first(function->body);
    while (binding) {
        if (binding->kind != IR_CALL) {
            binding = ir_walk_next(binding);
            continue;
        }
        IrBinding *previous = binding->previous, *behind = ir_walk_next(binding);
        IrBlock *block = binding->block;
        bool done;
        TRY(inline_call(inlining, binding, &done));
        binding = behind;
        if (!done) continue;
        IrBinding *first = previous ? previous->next : block->first;
        if (first) binding = first;
    }
    return NULL;
}

static Error *run(Inlining *inlining) {
    IrModule *module = inlining->module;
    size_t count = module->function_count + 1;
    void *table;
    TRY(memory_alloc(count, sizeof(uint32_t), &table));
    inlining->calls = table;
    TRY(memory_alloc(count, sizeof(uint32_t), &table));
    inlining->sizes = table;
    TRY(memory_alloc(count, sizeof(bool), &table));
    inlining->stays = table;
    TRY(memory_alloc(count, sizeof(bool), &table));
    inlining->copied = table;
    TRY(memory_alloc(count, sizeof(bool), &table));
    inlining->seen = table;
    TRY(memory_alloc(count, sizeof(IrFunction *), &table));
    inlining->stack = table;
    count_all(inlining);
    for (size_t f = 0; f < module->function_count; f++)
        if (inlining->stays[f]) TRY(inline_function(inlining, module->functions[f]));
    ir_replace_all(module);
    return ir_update_depths(module);
}

Error *inline_calls_pass(PassContext *context) {
    if (context->module->function_count > FUNCTIONS_MAX) return NULL;
    Inlining inlining = {.module = context->module};
    Error *error = run(&inlining);
    memory_free(inlining.calls);
    memory_free(inlining.sizes);
    memory_free(inlining.stays);
    memory_free(inlining.copied);
    memory_free(inlining.seen);
    memory_free(inlining.stack);
    return error;
}
