#pragma once
/* Cuts a function's code into basic blocks: runs of instructions that are entered only at their
 * start. Long blocks are cut too, so that a scan of a block covers a bounded number of
 * instructions. A cut costs as much as registers are alive there, so a function of many
 * instructions gets longer blocks, not more cuts. More cuts would make the cost quadratic in the
 * number of values that live at the same time. Called by liveness.c. Pure: no state. */
#include "vm/code/executable.h"

enum { BASIC_BLOCK_INSTRUCTIONS_MIN = 64, BASIC_BLOCK_CUTS_MAX = 128 };
#define BASIC_BLOCK_NONE UINT32_MAX

typedef struct BasicBlocks {
    uint32_t count;
    uint32_t *starts;          /* count + 1: pc of each block's first instruction, then the end */
    uint32_t (*successors)[2]; /* BASIC_BLOCK_NONE for missing ones */
    uint32_t *predecessor_offsets; /* count + 1: into predecessors */
    uint32_t *predecessors;
} BasicBlocks;

/* Upper bound on a block's instructions in a function of instruction_count. */
uint32_t basic_block_instructions_max(uint32_t instruction_count);
/* Requires code whose operands and jumps are in range. */
MUST_CHECK Error *basic_blocks_create(
    const Executable *executable, uint32_t function, BasicBlocks *out);
void basic_blocks_deinit(BasicBlocks *blocks);
uint32_t basic_blocks_find(const BasicBlocks *blocks, uint32_t pc);
