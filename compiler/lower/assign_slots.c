/* Puts every value into its slot and inserts copies between the slots. A copy is made once, before
 * its first use, for all later uses in the same block. */
#include "base/allocator.h"
#include "compiler/ir/ir_build.h"
#include "compiler/ir/ir_walk.h"
#include "compiler/lower/slot_check.h"
#include "compiler/lower/slot_settle.h"
#include "compiler/passes/pass.h"

typedef struct Assignment {
    const SlotChoice *choice;
    IrModule *module;
    IrVariable **copies; /* by variable id: the newest copy in the other slot */
    /* by variable id: the constant's version in slot 1, if slot 0 has users, too */
    IrVariable **constants;
} Assignment;

static bool is_around(const IrBlock *outer, const IrBlock *block) {
    while (block && block != outer) block = block->parent ? block->parent->block : NULL;
    return block != NULL;
}

static Error *constant_in(
    Assignment *assignment, IrVariable *constant, uint8_t slot, IrVariable **out) {
    *out = constant;
    Tensor *tensor = ir_variable_tensor(constant);
    if (!tensor || constant->slot == slot) return NULL;
    if (constant->slot == IR_SLOT_NONE) {
        constant->slot = slot;
        return NULL;
    }
    IrVariable **other = &assignment->constants[constant->id];
    if (!*other) {
        TRY(ir_constant_tensor(assignment->module, tensor, other));
        (*other)->slot = slot;
    }
    *out = *other;
    return NULL;
}

/* Returns the variable in the wanted slot: itself or a copy. */
static Error *use_in(
    Assignment *assignment, IrCursor at, IrVariable *variable, uint8_t slot, IrVariable **out) {
    if (!variable || variable->constant) {
        *out = variable;
        if (slot == SLOT_HOST_ANY) slot = 0;
        return variable ? constant_in(assignment, variable, slot, out) : NULL;
    }
    *out = variable;
    if (slot == SLOT_HOST_ANY || variable->slot == slot) return NULL;
    if (variable->type.kind != IR_TYPE_TENSOR && variable->type.kind != IR_TYPE_UNKNOWN)
        return NULL; /* scalars have no slot */
    IrVariable **copy = &assignment->copies[variable->id];
    if (!*copy || !is_around((*copy)->block, at.block)) {
        TRY(ir_build_device_copy(at, variable, slot, copy));
        (*copy)->slot = slot;
    }
    *out = *copy;
    return NULL;
}

static Error *block_results(Assignment *assignment, IrBlock *block) {
    for (uint32_t i = 0; i < block->result_count; i++) {
        uint8_t slot = slot_choice_of_result(assignment->choice, block, i);
        TRY(use_in(assignment, ir_at_end(block), block->results[i], slot, &block->results[i]));
    }
    return NULL;
}

/* Depth is bounded by IR_NESTING_MAX. */
static Error *assign_block(Assignment *assignment, IrBlock *block) {
    for (IrBinding *binding = block->first; binding; binding = binding->next) {
        for (uint32_t i = 0; i < binding->operand_count; i++) {
            if (!binding->operands[i]) continue;
            uint8_t slot = slot_choice_of_operand(assignment->choice, binding, i);
            TRY(use_in(
                assignment, ir_before(binding), binding->operands[i], slot, &binding->operands[i]));
        }
        if (binding->kind == IR_OPERATOR)
            binding->flag = binding->result_count > 0 && binding->results[0]->slot == 0;
        for (uint32_t i = 0; i < binding->block_count; i++)
            TRY(assign_block(assignment, binding->blocks[i]));
    }
    return block_results(assignment, block);
}

static void set_slot(const SlotChoice *choice, IrVariable *variable) {
    if (slot_choice_applies(&variable->type)) variable->slot = choice->of[variable->id];
}

static void set_slots(const SlotChoice *choice, const IrBlock *body) {
    for (uint32_t i = 0; i < body->parameter_count; i++) set_slot(choice, body->parameters[i]);
    for (IrBinding *binding = ir_walk_first(body); binding; binding = ir_walk_next(binding))
        for (uint32_t i = 0; i < binding->result_count; i++) set_slot(choice, binding->results[i]);
}

static Error *assign(Assignment *assignment) {
    IrModule *module = assignment->module;
    void *table;
    TRY(ir_side_table(module, sizeof(IrVariable *), &table));
    assignment->copies = table;
    TRY(ir_side_table(module, sizeof(IrVariable *), &table));
    assignment->constants = table;
    for (size_t f = 0; f < module->function_count; f++)
        set_slots(assignment->choice, module->functions[f]->body);
    for (size_t f = 0; f < module->function_count; f++)
        TRY(assign_block(assignment, module->functions[f]->body));
    return NULL;
}

Error *assign_slots_pass(PassContext *context) {
    SlotChoice choice;
    TRY(slot_settle(context->module, &choice));
    Assignment assignment = {.choice = &choice, .module = context->module};
    Error *error = assign(&assignment);
    memory_free(assignment.copies);
    memory_free(assignment.constants);
    slot_choice_deinit(&choice);
    TRY(error);
    return slot_check(context->module);
}
