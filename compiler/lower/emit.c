/* Functions, blocks and branches of a module. */
#include "compiler/lower/emit.h"

#include "base/allocator.h"
#include "compiler/ir/ir_print.h"
#include "compiler/ir/ir_walk.h"
#include "compiler/lower/emit_binding.h"
#include "compiler/lower/emit_moves.h"
#include "compiler/lower/emit_ports.h"
#include "vm/code/liveness.h"

static Error *emit_block(Emitter *emitter, const IrBlock *block, bool *out_ended);

/* Emits a branch, and moves of its results to the registers of the If's results. */
static Error *emit_branch(
    Emitter *emitter, const IrBinding *binding, const IrBlock *block, bool *out_ended) {
    TRY(emit_block(emitter, block, out_ended));
    if (*out_ended) return NULL;
    for (uint32_t i = 0; i < block->result_count; i++) {
        if (emitter->uses[binding->results[i]->id] == 0) continue;
        uint32_t target = emitter->registers.of[binding->results[i]->id];
        uint64_t source;
        TRY(emit_use_operand(emitter, block->results[i], &source));
        if (source != operand_make(OPERAND_REGISTER, target))
            TRY(emit_move(emitter, source, target));
    }
    return NULL;
}

/* Patches jump operand `index` of the instruction at `pc` to jump to the next instruction. */
static Error *patch_jump(Emitter *emitter, uint32_t pc, uint32_t index) {
    int64_t offset = (int64_t)executable_builder_pc(emitter->builder) - pc;
    return executable_builder_patch_operand(
        emitter->builder, pc, index, operand_make(OPERAND_IMMEDIATE, offset));
}

static Error *emit_if(Emitter *emitter, const IrBinding *binding, bool *out_ended) {
    enum { JUMP_EQUAL = 2, JUMP_ELSE = 3 };
    uint32_t test_pc = executable_builder_pc(emitter->builder);
    TRY(emit_add_use(emitter, binding->operands[0]));
    TRY(emit_add_immediate(emitter, 0));
    TRY(emit_add_immediate(emitter, 1)); /* taken when equal to 0; patched to the else-branch */
    TRY(emit_add_immediate(emitter, 1));
    TRY(emit_instruction(emitter, OPCODE_IF, 0, REGISTER_NONE));
    bool then_ended, else_ended;
    TRY(emit_branch(emitter, binding, binding->blocks[0], &then_ended));
    uint32_t goto_pc = executable_builder_pc(emitter->builder);
    if (!then_ended) {
        TRY(emit_add_immediate(emitter, 1));
        TRY(emit_instruction(emitter, OPCODE_GOTO, 0, REGISTER_NONE));
    }
    TRY(patch_jump(emitter, test_pc, JUMP_EQUAL));
    TRY(emit_branch(emitter, binding, binding->blocks[1], &else_ended));
    if (!then_ended) TRY(patch_jump(emitter, goto_pc, 0));
    *out_ended = then_ended && else_ended;
    return NULL;
}

static Error *emit_return(Emitter *emitter, const IrBlock *block) {
    if (block->result_count == 1) {
        TRY(emit_add_use(emitter, block->results[0]));
        return emit_instruction(emitter, OPCODE_RET, 0, REGISTER_NONE);
    }
    uint32_t tuple = emitter->registers.scratch;
    TRY(emit_add_immediate(emitter, 0));
    TRY(emit_add_uses(emitter, block->results, block->result_count));
    TRY(emit_instruction(emitter, OPCODE_ALLOC_ADT, 0, tuple));
    TRY(emit_add_operand(emitter, operand_make(OPERAND_REGISTER, tuple)));
    return emit_instruction(emitter, OPCODE_RET, 0, REGISTER_NONE);
}

/* True for a function's body and for the branches of an If in tail position. */
static bool block_is_tail(const IrBlock *block) {
    return !block->parent || (block->parent->kind == IR_IF && block->parent->flag);
}

/* Depth is bounded by IR_NESTING_MAX. */
static Error *emit_block(Emitter *emitter, const IrBlock *block, bool *out_ended) {
    *out_ended = false;
    for (const IrBinding *binding = block->first; binding && !*out_ended; binding = binding->next) {
        Error *error = binding->kind == IR_IF ? emit_if(emitter, binding, out_ended)
                                              : emit_binding(emitter, binding, out_ended);
        if (error && binding->name) error = error_wrap(error, "node %s", binding->name);
        TRY(error);
    }
    if (*out_ended || !block_is_tail(block)) return NULL;
    *out_ended = true;
    return emit_return(emitter, block);
}

static Error *emit_function(Emitter *emitter, const IrFunction *function) {
    emitter->function = function;
    TRY(registers_assign(function, &emitter->registers));
    TRY(executable_builder_begin_code(
        emitter->builder, emitter->functions[function->index], emitter->registers.count));
    bool ended;
    return emit_block(emitter, function->body, &ended);
}

/* Function names are for people. A function that is not exported gets its number appended. */
static Error *declare_function(Emitter *emitter, const IrFunction *function) {
    TextBuilder OWN_TEXT(name) = {0};
    text_append(&name, function->name);
    if (!function->exported) text_appendf(&name, ".%u", function->index);
    TRY(text_builder_check(&name));
    uint32_t index;
    TRY(executable_builder_add_function(emitter->builder, text_builder_get(&name),
        FUNCTION_BYTECODE, function->exported ? FUNCTION_EXPORTED : 0,
        function->body->parameter_count, &index));
    emitter->functions[function->index] = index;
    if (function->exported) TRY(emit_ports(emitter, function, index));
    return NULL;
}

/* Declares the packed functions that the module calls, each once, behind the module's own
 * functions. */
static Error *declare_packed(Emitter *emitter) {
    const IrModule *module = emitter->module;
    bool called[IR_PACKED_COUNT] = {false};
    for (size_t f = 0; f < module->function_count; f++) {
        IrBinding *binding = ir_walk_first(module->functions[f]->body);
        for (; binding; binding = ir_walk_next(binding))
            if (binding->kind == IR_CALL_PACKED) called[binding->integer] = true;
    }
    for (uint32_t i = 0; i < IR_PACKED_COUNT; i++) {
        if (!called[i]) continue;
        const IrPackedInfo *info = ir_packed_info((IrPackedCall)i);
        TRY(executable_builder_add_function(
            emitter->builder, info->name, FUNCTION_PACKED, 0, info->arity, &emitter->packed[i]));
    }
    return NULL;
}

static Error *emit_module(Emitter *emitter, Executable **out) {
    const IrModule *module = emitter->module;
    void *table;
    TRY(ir_side_table(module, sizeof(uint32_t), &table));
    emitter->uses = table;
    ir_count_uses(module, emitter->uses);
    TRY(registers_init(module, &emitter->registers));
    TRY(memory_alloc(module->function_count + 1, sizeof(uint32_t), &table));
    emitter->functions = table;
    for (size_t f = 0; f < module->function_count; f++)
        TRY(declare_function(emitter, module->functions[f]));
    TRY(declare_packed(emitter));
    for (size_t f = 0; f < module->function_count; f++)
        TRY_WRAP(emit_function(emitter, module->functions[f]), "function %s",
            module->functions[f]->name);
    return executable_builder_finish(emitter->builder, out);
}

static Error *mark_last_uses(Executable *executable) {
    for (uint32_t i = 0; i < executable->function_count; i++) {
        const Function *function = &executable->functions[i];
        if (function->kind != FUNCTION_BYTECODE) continue;
        /* the executable is still ours alone */
        uint64_t *words = (uint64_t *)(uintptr_t)executable->code + function->first_word;
        TRY(liveness_mark_last_uses(executable, i, words));
    }
    return NULL;
}

static Error *emit_all(Emitter *emitter, Executable **out) {
    OWN(ExecutableBuilder, builder) = NULL;
    TRY(executable_builder_create(&builder));
    OWN(ConstantLayout, layout) = NULL;
    TRY(constant_layout_create(builder, &layout));
    emitter->builder = builder;
    emitter->layout = layout;
    OWN(Executable, executable) = NULL;
    TRY(emit_module(emitter, &executable));
    TRY(mark_last_uses(executable));
    *out = TAKE(executable);
    return NULL;
}

Error *emit_executable(const IrModule *module, Executable **out) {
    void *block;
    TRY(memory_alloc(1, sizeof(Emitter), &block));
    Emitter *emitter = block;
    emitter->module = module;
    Error *error = emit_all(emitter, out);
    memory_free(emitter->uses);
    registers_deinit(&emitter->registers);
    memory_free(emitter->functions);
    memory_free(emitter);
    return error;
}
