#pragma once
/* The liveness of one function as liveness.c keeps it, shared with verifier_flow.c and
 * verifier_slots.c. Threads: any; a set of words belongs to its caller. */
#include "vm/code/basic_blocks.h"
#include "vm/instruction/instruction.h"
#include "vm/code/liveness.h"

typedef struct FunctionLiveness {
    BasicBlocks blocks;
    uint32_t *live_out_offsets; /* blocks.count + 1: into live_out */
    uint32_t *live_out;         /* registers alive at each block's end, ascending */
    uint32_t *live_in_entry;    /* registers alive at the function's start, ascending */
    uint32_t live_in_entry_count;
} FunctionLiveness;

/* The function's liveness, borrowed; computed on the first call and kept with the executable. */
MUST_CHECK Error *liveness_of_function(
    const Executable *executable, uint32_t function, const FunctionLiveness **out);

static inline void live_add(uint64_t *words, uint32_t index) {
    words[index / 64] |= UINT64_C(1) << (index % 64);
}
static inline void live_remove(uint64_t *words, uint32_t index) {
    words[index / 64] &= ~(UINT64_C(1) << (index % 64));
}
static inline bool live_has(const uint64_t *words, uint32_t index) {
    return words[index / 64] >> (index % 64) & 1;
}

/* Removes the registers that the instruction writes: turns the set alive after it into the same set
 * without its results. */
static inline void live_remove_written(const Instruction *instruction, uint64_t *words) {
    if (instruction_has_destination(instruction))
        live_remove(words, head_destination(instruction->head));
    for (uint32_t i = instruction_first_written(instruction); i < instruction->operand_count; i++)
        live_remove(words, (uint32_t)operand_value(instruction->operands[i]));
}

/* Turns the set alive after the instruction into the set alive before it. */
static inline void live_step_back(const Instruction *instruction, uint64_t *words) {
    live_remove_written(instruction, words);
    uint32_t read_count = instruction_first_written(instruction);
    for (uint32_t i = 0; i < read_count; i++)
        if (operand_kind(instruction->operands[i]) == OPERAND_REGISTER)
            live_add(words, (uint32_t)operand_value(instruction->operands[i]));
}

/* Load: adds the registers alive at a block's end to an empty set. Clear: empties the set again
 * after the block was walked backwards. Faster than clearing all words if there are many registers
 * and blocks. */
static inline void live_load_block_end(
    const FunctionLiveness *liveness, uint32_t block, uint64_t *words) {
    uint32_t end = liveness->live_out_offsets[block + 1];
    for (uint32_t i = liveness->live_out_offsets[block]; i < end; i++)
        live_add(words, liveness->live_out[i]);
}
static inline void live_clear_block(const FunctionLiveness *liveness, const Executable *executable,
    uint32_t function, uint32_t block, uint64_t *words) {
    uint32_t end = liveness->live_out_offsets[block + 1];
    for (uint32_t i = liveness->live_out_offsets[block]; i < end; i++)
        live_remove(words, liveness->live_out[i]);
    const Function *in = &executable->functions[function];
    for (uint32_t pc = liveness->blocks.starts[block]; pc < liveness->blocks.starts[block + 1];
         pc++) {
        Instruction instruction = instruction_read(function_instruction(executable, in, pc));
        for (uint32_t i = 0; i < instruction.operand_count; i++)
            if (operand_kind(instruction.operands[i]) == OPERAND_REGISTER)
                live_remove(words, (uint32_t)operand_value(instruction.operands[i]));
    }
}
