/* A call whose results are exactly the function's replaces its frame; an If whose results are the
 * function's returns from each branch. */
#include "compiler/passes/pass.h"

static bool results_are(const IrBinding *binding, const IrBlock *block) {
    if (binding->result_count != block->result_count) return false;
    for (uint32_t i = 0; i < block->result_count; i++) {
        if (binding->results[i] != block->results[i]) return false;
    }
    return true;
}

/* Depth is bounded by IR_NESTING_MAX. */
static void mark_block(IrBlock *block) {
    IrBinding *last = block->last;
    if (!last || !results_are(last, block)) return;
    if (last->kind == IR_CALL || last->kind == IR_CALL_CLOSURE) last->flag = true;
    if (last->kind != IR_IF) return;
    last->flag = true;
    mark_block(last->blocks[0]);
    mark_block(last->blocks[1]);
}

Error *tail_calls_pass(PassContext *context) {
    for (size_t f = 0; f < context->module->function_count; f++)
        mark_block(context->module->functions[f]->body);
    return NULL;
}
