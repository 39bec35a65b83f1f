#include "base/allocator.h"
#include "vm/code/liveness_internal.h"
#include "vm/code/verifier.h"

/* Refuses a register that is alive at the start and no parameter, since some path would read it
 * before it is written. Names the first instruction that reads it. */
static Error *fail_undefined(
    const Executable *executable, const Function *function, uint32_t index) {
    uint32_t reader = 0;
    for (uint32_t pc = function->instruction_count; pc-- > 0;) {
        Instruction instruction = instruction_read(function_instruction(executable, function, pc));
        uint32_t read_count = instruction_first_written(&instruction);
        for (uint32_t i = 0; i < read_count; i++)
            if (operand_kind(instruction.operands[i]) == OPERAND_REGISTER &&
                operand_value(instruction.operands[i]) == index)
                reader = pc;
    }
    FAIL(CORRUPT, "function %s: register r%u may be read before it is written (instruction %u, %s)",
        function->name, index, reader,
        opcode_infos[head_opcode(*function_instruction(executable, function, reader))].mnemonic);
}

/* Checks that a last use is one: the register is dead after the instruction and no later operand of
 * the instruction reads it. */
static Error *check_last_uses(
    const Function *function, const Instruction *instruction, uint32_t pc, uint64_t *inout_live) {
    live_remove_written(instruction, inout_live);
    for (uint32_t i = instruction_first_written(instruction); i-- > 0;) {
        uint64_t operand = instruction->operands[i];
        if (operand_kind(operand) != OPERAND_REGISTER) continue;
        uint32_t index = (uint32_t)operand_value(operand);
        if (operand_is_last_use(operand) && live_has(inout_live, index))
            FAIL(CORRUPT, "function %s, instruction %u (%s): r%u is read behind its last use",
                function->name, pc, opcode_infos[instruction->opcode].mnemonic, index);
        live_add(inout_live, index);
    }
    return NULL;
}

static Error *check_blocks(const Executable *executable, uint32_t index,
    const FunctionLiveness *liveness, uint64_t *live) {
    const Function *function = &executable->functions[index];
    const BasicBlocks *blocks = &liveness->blocks;
    for (uint32_t block = 0; block < blocks->count; block++) {
        live_load_block_end(liveness, block, live);
        for (uint32_t pc = blocks->starts[block + 1]; pc-- > blocks->starts[block];) {
            Instruction instruction =
                instruction_read(function_instruction(executable, function, pc));
            TRY(check_last_uses(function, &instruction, pc, live));
        }
        live_clear_block(liveness, executable, index, block, live);
    }
    return NULL;
}

Error *verifier_check_flow(const Executable *executable, uint32_t index) {
    const Function *function = &executable->functions[index];
    const FunctionLiveness *liveness;
    TRY(liveness_of_function(executable, index, &liveness));
    for (uint32_t i = 0; i < liveness->live_in_entry_count; i++) {
        uint32_t live = liveness->live_in_entry[i];
        if (live >= function->parameter_count && !(function->flags & FUNCTION_NULLS))
            return fail_undefined(executable, function, live);
    }
    void *live;
    TRY(memory_alloc((function->register_count + 63) / 64, sizeof(uint64_t), &live));
    Error *error = check_blocks(executable, index, liveness, live);
    memory_free(live);
    return error;
}
