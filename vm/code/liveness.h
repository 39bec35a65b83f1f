#pragma once
/* The registers that are alive before each instruction, derived from the code and never read from a
 * file. Called by the verifier, by snapshots and restores, by the compiler's emitter and by the
 * assembler. Threads: any. */
#include "vm/code/executable.h"

/* A set of registers, one bit each. */
typedef struct RegisterSet {
    const uint64_t *words; /* borrowed: lives as long as the executable */
    uint32_t register_count;
} RegisterSet;

static inline bool register_set_has(RegisterSet set, uint32_t index) {
    return set.words[index / 64] >> (index % 64) & 1;
}

/* Registers alive before instruction pc. The analysis of a function runs once and is kept with the
 * executable (bounded: kept at basic block ends, recomputed inside a block into the caller's
 * buffer). Threads: any. out_words: room for (register_count + 63) / 64 words. */
MUST_CHECK Error *liveness_before(
    const Executable *executable, uint32_t function, uint32_t pc, uint64_t *out_words);
/* Registers alive after instruction pc, minus its destination: those that a caller waiting there
 * still needs. */
MUST_CHECK Error *liveness_of_caller(
    const Executable *executable, uint32_t function, uint32_t pc, uint64_t *out_words);
/* Marks the last uses in a function's words: sets OPERAND_LAST_USE on register operands that are
 * dead after the instruction (once per register and instruction: the last occurrence). Called by
 * the compiler and the assembler. */
MUST_CHECK Error *liveness_mark_last_uses(
    const Executable *executable, uint32_t function, uint64_t *inout_words);
