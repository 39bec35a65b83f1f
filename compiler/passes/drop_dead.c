/* Removes dead code: bindings without users and effects, unused results of branches and operators,
 * parameters that no body reads, and functions without calls. */
#include "base/allocator.h"
#include "compiler/ir/ir_walk.h"
#include "compiler/passes/pass.h"

typedef struct DeadCode {
    IrModule *module;
    uint32_t *uses; /* by variable id */
    bool *pure;     /* by function */
    bool changed;
} DeadCode;

static void use_end(DeadCode *dead, const IrVariable *variable) {
    if (variable) dead->uses[variable->id]--;
}

/* Removes the uses by a binding and by all bindings in its blocks. */
static void forget(DeadCode *dead, const IrBinding *root) {
    const IrBinding *end = ir_walk_over(root);
    for (const IrBinding *binding = root; binding != end; binding = ir_walk_next(binding)) {
        for (uint32_t i = 0; i < binding->operand_count; i++) use_end(dead, binding->operands[i]);
        for (uint32_t b = 0; b < binding->block_count; b++)
            for (uint32_t i = 0; i < binding->blocks[b]->result_count; i++)
                use_end(dead, binding->blocks[b]->results[i]);
    }
}

static bool is_dead(const DeadCode *dead, const IrBinding *root) {
    for (uint32_t i = 0; i < root->result_count; i++)
        if (dead->uses[root->results[i]->id] > 0) return false;
    const IrBinding *end = ir_walk_over(root);
    for (const IrBinding *binding = root; binding != end; binding = ir_walk_next(binding))
        if (!ir_is_pure(binding, dead->pure)) return false;
    return true;
}

/* Drops results of an If that have no use. */
static void trim_branches(DeadCode *dead, IrBinding *binding) {
    uint32_t kept = 0;
    for (uint32_t i = 0; i < binding->result_count; i++) {
        bool used = dead->uses[binding->results[i]->id] > 0;
        for (uint32_t b = 0; b < binding->block_count; b++) {
            IrBlock *block = binding->blocks[b];
            if (used)
                block->results[kept] = block->results[i];
            else
                use_end(dead, block->results[i]);
        }
        if (!used) continue;
        binding->results[i]->index = kept;
        binding->results[kept++] = binding->results[i];
    }
    if (kept == binding->result_count) return;
    dead->changed = true;
    binding->result_count = kept;
    for (uint32_t b = 0; b < binding->block_count; b++) binding->blocks[b]->result_count = kept;
}

static void trim_operator(DeadCode *dead, IrBinding *binding) {
    while (binding->result_count > binding->operator_info->outputs_min &&
           dead->uses[binding->results[binding->result_count - 1]->id] == 0)
        binding->result_count--;
}

/* Depth is bounded by IR_NESTING_MAX. */
static void clean_block(DeadCode *dead, IrBlock *block) {
    IrBinding *binding = block->last;
    while (binding) {
        IrBinding *previous = binding->previous;
        if (is_dead(dead, binding)) {
            forget(dead, binding);
            ir_remove(binding);
            dead->changed = true;
        } else {
            if (binding->kind == IR_IF) trim_branches(dead, binding);
            /* Split keeps all outputs, since their number decides the parts */
            if (binding->kind == IR_OPERATOR && binding->operator_info->id != OPERATOR_SPLIT)
                trim_operator(dead, binding);
            for (uint32_t i = 0; i < binding->block_count; i++)
                clean_block(dead, binding->blocks[i]);
        }
        binding = previous;
    }
}

/* Marks the functions that can be called from outside, directly or through others. */
static void reach(const IrModule *module, bool *reached, IrFunction **worklist) {
    size_t count = 0;
    for (size_t f = 0; f < module->function_count; f++) {
        reached[f] = module->functions[f]->exported;
        if (reached[f]) worklist[count++] = module->functions[f];
    }
    while (count > 0) {
        IrBinding *binding = ir_walk_first(worklist[--count]->body);
        for (; binding; binding = ir_walk_next(binding)) {
            if (binding->kind != IR_CALL && binding->kind != IR_CLOSURE) continue;
            if (reached[binding->function->index]) continue;
            reached[binding->function->index] = true;
            worklist[count++] = binding->function;
        }
    }
}

static Error *drop_functions(IrModule *module) {
    void *reached, *worklist = NULL;
    TRY(memory_alloc(module->function_count + 1, sizeof(bool), &reached));
    Error *error = memory_alloc(module->function_count + 1, sizeof(IrFunction *), &worklist);
    if (!error) reach(module, reached, worklist);
    size_t kept = 0;
    for (size_t f = 0; !error && f < module->function_count; f++) {
        if (!((bool *)reached)[f]) continue;
        module->functions[f]->index = (uint32_t)kept;
        module->functions[kept++] = module->functions[f];
    }
    if (!error) module->function_count = kept;
    memory_free(reached);
    memory_free(worklist);
    return error;
}

/* Finds parameters that the body only passes to itself. */
static void find_unread(const IrModule *module, uint32_t *uses, bool *unread) {
    for (size_t f = 0; f < module->function_count; f++) {
        const IrFunction *function = module->functions[f];
        IrBinding *binding = ir_walk_first(function->body);
        for (; binding; binding = ir_walk_next(binding)) {
            if (binding->kind != IR_CALL || binding->function != function) continue;
            for (uint32_t i = 0; i < binding->operand_count; i++)
                if (binding->operands[i] == function->body->parameters[i])
                    uses[binding->operands[i]->id]--;
        }
        for (uint32_t i = 0; !function->exported && i < function->body->parameter_count; i++) {
            uint32_t id = function->body->parameters[i]->id;
            unread[id] = uses[id] == 0;
        }
    }
    for (size_t f = 0; f < module->function_count; f++) {
        IrBinding *binding = ir_walk_first(module->functions[f]->body);
        for (; binding; binding = ir_walk_next(binding)) {
            if (binding->kind != IR_CLOSURE) continue;
            const IrBlock *body = binding->function->body;
            for (uint32_t i = 0; i < body->parameter_count; i++)
                unread[body->parameters[i]->id] = false; /* unseen callers pass it */
        }
    }
}

static void drop_parameters(DeadCode *dead, const bool *unread) {
    const IrModule *module = dead->module;
    for (size_t f = 0; f < module->function_count; f++) {
        IrBinding *binding = ir_walk_first(module->functions[f]->body);
        for (; binding; binding = ir_walk_next(binding)) {
            if (binding->kind != IR_CALL) continue;
            const IrBlock *body = binding->function->body;
            uint32_t kept = 0;
            for (uint32_t i = 0; i < binding->operand_count; i++)
                if (!unread[body->parameters[i]->id])
                    binding->operands[kept++] = binding->operands[i];
            binding->operand_count = kept;
        }
    }
    for (size_t f = 0; f < module->function_count; f++) {
        IrBlock *body = module->functions[f]->body;
        uint32_t kept = 0;
        for (uint32_t i = 0; i < body->parameter_count; i++) {
            if (unread[body->parameters[i]->id]) continue;
            body->parameters[i]->index = kept;
            body->parameters[kept++] = body->parameters[i];
        }
        if (kept != body->parameter_count) dead->changed = true;
        body->parameter_count = kept;
    }
}

static Error *clean_parameters(DeadCode *dead) {
    void *unread;
    TRY(ir_side_table(dead->module, sizeof(bool), &unread));
    ir_count_uses(dead->module, dead->uses);
    find_unread(dead->module, dead->uses, unread);
    drop_parameters(dead, unread);
    memory_free(unread);
    return NULL;
}

static Error *clean(DeadCode *dead) {
    IrModule *module = dead->module;
    do {
        dead->changed = false;
        TRY(drop_functions(module));
        ir_count_uses(module, dead->uses);
        ir_find_pure_functions(module, dead->pure);
        for (size_t f = 0; f < module->function_count; f++)
            clean_block(dead, module->functions[f]->body);
        TRY(clean_parameters(dead));
    } while (dead->changed);
    return NULL;
}

Error *drop_dead_pass(PassContext *context) {
    DeadCode dead = {.module = context->module};
    void *table;
    TRY(ir_side_table(context->module, sizeof(uint32_t), &table));
    dead.uses = table;
    Error *error = memory_alloc(context->module->function_count + 1, sizeof(bool), &table);
    if (!error) {
        dead.pure = table;
        error = clean(&dead);
    }
    memory_free(dead.uses);
    memory_free(dead.pure);
    return error;
}
