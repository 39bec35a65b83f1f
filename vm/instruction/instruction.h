#pragma once
/* One instruction of verified words, decoded: the operands that it reads and writes. Used by the
 * verifier, the liveness analysis, the assembler and the residency's decoder. Pure: no state. */
#include "vm/instruction/opcode.h"

typedef struct Instruction {
    const uint64_t *operands;
    uint64_t head;
    uint32_t operand_count;
    uint32_t flags;
    uint32_t output_count; /* value of the 'c' operand; the last operands are outputs */
    Opcode opcode;
} Instruction;

static inline Instruction instruction_read(const uint64_t *words) {
    Instruction instruction = {
        .operands = words + 1,
        .head = words[0],
        .operand_count = head_operand_count(words[0]),
        .flags = head_flags(words[0]),
        .opcode = (Opcode)head_opcode(words[0]),
    };
    if (instruction.opcode == OPCODE_INVOKE_PACKED)
        instruction.output_count = (uint32_t)operand_value(words[2]);
    return instruction;
}

/* Whether the register in the head is written. */
static inline bool instruction_has_destination(const Instruction *instruction) {
    uint32_t flags = opcode_infos[instruction->opcode].flags;
    if (flags & OPCODE_FLAG_WRITES) return true;
    return (flags & OPCODE_FLAG_MAYBE) && !(instruction->flags & INSTRUCTION_NO_DST);
}

/* Operands from this index on are registers that the instruction writes (ALLOC form). */
static inline uint32_t instruction_first_written(const Instruction *instruction) {
    if (instruction->flags & INSTRUCTION_ALLOC)
        return instruction->operand_count - instruction->output_count;
    return instruction->operand_count;
}
