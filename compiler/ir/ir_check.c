/* Checks that a module is well-formed: the rules that every pass relies on and must keep. */
#include "base/allocator.h"
#include "compiler/ir/ir.h"
#include "compiler/ir/ir_walk.h"

typedef struct Check {
    const IrModule *module;
    const IrFunction *function;
    bool lifted;
    uint32_t *made; /* by id: 1 while the variable is visible */
} Check;

static bool is_outer(const IrFunction *function, const IrFunction *outer) {
    for (uint32_t i = 0; i <= IR_NESTING_MAX && function->outer; i++) {
        function = function->outer->function;
        if (function == outer) return true;
    }
    return false;
}

static Error *check_use(const Check *check, const IrVariable *variable, const char *what) {
    if (!variable) FAIL(INTERNAL, "%s is missing", what);
    if (variable->constant) return NULL;
    if (variable->id >= check->module->variable_count) FAIL(INTERNAL, "%s has no id", what);
    if (check->made[variable->id]) return NULL;
    const IrFunction *owner = ir_variable_function(variable);
    if (owner == check->function)
        FAIL(INTERNAL, "%s, variable %u, is not visible here", what, variable->id);
    if (check->lifted || !is_outer(check->function, owner))
        FAIL(INTERNAL, "%s, variable %u, belongs to function %s", what, variable->id, owner->name);
    return NULL;
}

static void set_made(
    const Check *check, IrVariable *const *variables, uint32_t count, uint32_t to) {
    for (uint32_t i = 0; i < count; i++) check->made[variables[i]->id] = to;
}

static Error *check_results(const Check *check, const IrBlock *block, uint32_t count) {
    if (block->result_count != count)
        FAIL(INTERNAL, "a block has %u results instead of %u", block->result_count, count);
    for (uint32_t i = 0; i < count; i++) TRY(check_use(check, block->results[i], "a result"));
    return NULL;
}

/* Results of a block's bindings are out of scope behind the block. */
static void leave_block(const Check *check, const IrBlock *block) {
    for (IrBinding *binding = block->first; binding; binding = binding->next)
        set_made(check, binding->results, binding->result_count, 0);
    set_made(check, block->parameters, block->parameter_count, 0);
}

static Error *check_callee(const IrBinding *binding) {
    const IrFunction *callee = binding->function;
    if (!callee) FAIL(INTERNAL, "a call of nothing");
    if (binding->kind == IR_CLOSURE) return NULL;
    if (binding->operand_count != callee->body->parameter_count)
        FAIL(INTERNAL, "a call of %s with %u arguments instead of %u", callee->name,
            binding->operand_count, callee->body->parameter_count);
    if (binding->result_count != callee->body->result_count)
        FAIL(INTERNAL, "a call of %s with %u results instead of %u", callee->name,
            binding->result_count, callee->body->result_count);
    return NULL;
}

static Error *check_packed_call(const IrBinding *binding) {
    if (binding->integer < 0 || binding->integer >= IR_PACKED_COUNT)
        FAIL(INTERNAL, "a call of packed function %d", (int)binding->integer);
    const IrPackedInfo *info = ir_packed_info((IrPackedCall)binding->integer);
    if (binding->operand_count != info->arity)
        FAIL(INTERNAL, "a call of %s with %u operands instead of %u", info->name,
            binding->operand_count, info->arity);
    return NULL;
}

static Error *check_binding(const Check *check, const IrBinding *binding) {
    static const struct {
        uint8_t operands_min, operands_max, blocks, results;
    } counts[IR_KIND_COUNT] = {
        [IR_OPERATOR] = {0, 255, 0, 255},
        [IR_CALL] = {0, 255, 0, 255},
        [IR_CALL_CLOSURE] = {1, 255, 0, 255},
        [IR_CLOSURE] = {0, 255, 0, 1},
        [IR_IF] = {1, 1, 2, 255},
        [IR_MATCH] = {1, 1, 255, 255},
        [IR_CONSTRUCT] = {0, 255, 0, 1},
        [IR_GET_FIELD] = {1, 2, 0, 1},
        [IR_GET_TAG] = {1, 1, 0, 1},
        [IR_LIST_NEW] = {0, 255, 0, 1},
        [IR_LIST_APPEND] = {2, 2, 0, 1},
        [IR_LIST_CONCAT] = {1, 2, 0, 1},
        [IR_OPTIONAL] = {0, 1, 0, 1},
        [IR_CALL_PACKED] = {1, 3, 0, 1},
        [IR_INT_OP] = {2, 2, 0, 1},
        [IR_READ_SCALAR] = {1, 1, 0, 1},
        [IR_MAKE_TENSOR] = {1, 1, 0, 1},
        [IR_SHAPE_OF] = {1, 1, 0, 1},
        [IR_DEVICE_COPY] = {1, 1, 0, 1},
        [IR_YIELD] = {1, 1, 0, 0},
        [IR_FATAL] = {0, 0, 0, 255},
    };
    uint32_t kind = (uint32_t)binding->kind;
    if (binding->operand_count < counts[kind].operands_min ||
        (counts[kind].operands_max != 255 && binding->operand_count > counts[kind].operands_max))
        FAIL(INTERNAL, "a binding of kind %u with %u operands", kind, binding->operand_count);
    if (counts[kind].blocks != 255 && binding->block_count != counts[kind].blocks)
        FAIL(INTERNAL, "a binding of kind %u with %u blocks", kind, binding->block_count);
    if (counts[kind].results != 255 && binding->result_count != counts[kind].results)
        FAIL(INTERNAL, "a binding of kind %u with %u results", kind, binding->result_count);
    for (uint32_t i = 0; i < binding->operand_count; i++) {
        if (binding->kind == IR_OPERATOR && !binding->operands[i]) continue;
        TRY_WRAP(check_use(check, binding->operands[i], "an operand"), "binding of kind %u", kind);
    }
    if (binding->kind == IR_CALL_PACKED) TRY(check_packed_call(binding));
    if (binding->kind == IR_CALL || binding->kind == IR_CLOSURE) TRY(check_callee(binding));
    return NULL;
}

/* Depth is bounded by IR_NESTING_MAX, which ir_block_create enforces. */
static Error *check_block(const Check *check, const IrBlock *block) {
    if (block->function != check->function) FAIL(INTERNAL, "a block of another function");
    set_made(check, block->parameters, block->parameter_count, 1);
    for (IrBinding *binding = block->first; binding; binding = binding->next) {
        if (binding->block != block) FAIL(INTERNAL, "a binding of another block");
        TRY(check_binding(check, binding));
        for (uint32_t i = 0; i < binding->block_count; i++) {
            if (binding->blocks[i]->parent != binding || binding->blocks[i]->index != i)
                FAIL(INTERNAL, "a block of another binding");
            TRY(check_block(check, binding->blocks[i]));
            TRY(check_results(check, binding->blocks[i], binding->result_count));
            leave_block(check, binding->blocks[i]);
        }
        for (uint32_t i = 0; i < binding->result_count; i++) {
            if (binding->results[i]->block != block || binding->results[i]->binding != binding)
                FAIL(INTERNAL, "a result of another binding");
        }
        set_made(check, binding->results, binding->result_count, 1);
    }
    return NULL;
}

static Error *check_functions(Check *check) {
    for (size_t f = 0; f < check->module->function_count; f++) {
        const IrFunction *function = check->module->functions[f];
        check->function = function;
        TRY_WRAP(check_block(check, function->body), "function %s", function->name);
        TRY_WRAP(check_results(check, function->body, function->result_count), "function %s",
            function->name);
        leave_block(check, function->body);
    }
    return NULL;
}

Error *ir_check(const IrModule *module, bool lifted) {
    void *made;
    TRY(ir_side_table(module, sizeof(uint32_t), &made));
    Check check = {.module = module, .lifted = lifted, .made = made};
    Error *error = check_functions(&check);
    memory_free(made);
    return error;
}
