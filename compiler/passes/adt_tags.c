/* Gives each constructor its tag, the place in its data type. Matches become a chain of tests. */
#include <string.h>

#include "compiler/ir/ir_build.h"
#include "compiler/ir/ir_walk.h"
#include "compiler/passes/pass.h"

static void set_tags(IrModule *module) {
    for (size_t i = 0; i < module->constructor_count; i++) {
        int64_t tag = 0;
        const char *data_type = module->constructors[i]->data_type;
        for (size_t j = 0; j < i; j++)
            if (strcmp(module->constructors[j]->data_type, data_type) == 0) tag++;
        module->constructors[i]->tag = tag;
    }
}

/* Reads the case's fields, then moves the case's bindings behind these reads. */
static Error *case_move(IrBinding *match, uint32_t index, IrBlock *to) {
    IrBlock *from = match->blocks[index];
    for (uint32_t i = 0; i < from->parameter_count; i++) {
        IrVariable *field;
        TRY(ir_build_get_field(ir_at_end(to), match->operands[0], i, &field));
        field->type = from->parameters[i]->type;
        from->parameters[i]->replacement = field;
    }
    ir_move_bindings(from, to, NULL);
    return ir_block_set_results(to, from->result_count, from->results);
}

/* Tests the case's tag at the end of a block. *out_else: the block for the next case. */
static Error *case_test(
    IrBinding *match, uint32_t index, IrVariable *tag, IrBlock *at, IrBlock **out_else) {
    IrModule *module = at->function->module;
    IrVariable *wanted, *test;
    TRY(ir_constant_int(module, match->constructors[index]->tag, &wanted));
    IrCursor cursor = at == match->block ? ir_before(match) : ir_at_end(at);
    TRY(ir_build_int_op(cursor, INT_OP_EQ, tag, wanted, &test));
    IrBlock *then_block;
    IrVariable **results;
    TRY(ir_build_if(cursor, test, match->result_count, &then_block, out_else, &results));
    TRY(case_move(match, index, then_block));
    if (at != match->block) return ir_block_set_results(at, match->result_count, results);
    for (uint32_t i = 0; i < match->result_count; i++) {
        results[i]->type = match->results[i]->type;
        match->results[i]->replacement = results[i];
    }
    return NULL;
}

static Error *lower_match(IrBinding *match) {
    IrBlock *at = match->block;
    IrVariable *tag;
    TRY(ir_build_get_tag(ir_before(match), match->operands[0], &tag));
    uint32_t index = 0;
    for (; index < match->block_count && match->constructors[index]; index++)
        TRY(case_test(match, index, tag, at, &at));
    if (at == match->block) { /* the first case matches anything */
        IrBlock *from = match->blocks[0];
        for (uint32_t i = 0; i < match->result_count; i++)
            match->results[i]->replacement = from->results[i];
        ir_move_bindings(from, match->block, match);
    } else if (index < match->block_count) {
        TRY(case_move(match, index, at));
    } else {
        IrVariable **results;
        TRY(ir_build_fatal(
            ir_at_end(at), "match: no case fits the value", match->result_count, &results));
        TRY(ir_block_set_results(at, match->result_count, results));
    }
    ir_remove(match);
    return NULL;
}

Error *adt_tags_pass(PassContext *context) {
    IrModule *module = context->module;
    set_tags(module);
    bool found = false;
    for (size_t f = 0; f < module->function_count; f++) {
        IrBinding *binding = ir_walk_first(module->functions[f]->body);
        while (binding) {
            if (binding->kind != IR_MATCH) {
                binding = ir_walk_next(binding);
                continue;
            }
            found = true;
            IrBinding *before = binding->previous;
            IrBlock *block = binding->block;
            TRY(lower_match(binding));
            /* the walk continues with the replacement, since the cases may contain matches */
            binding = before ? ir_walk_over(before) : ir_walk_first(block);
        }
    }
    if (!found) return NULL;
    ir_replace_all(module);
    return ir_update_depths(module);
}
