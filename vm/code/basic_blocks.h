#pragma once
/* A function's code cut into basic blocks: runs of instructions entered only at their start. Long
 * ones are cut too, so that whatever scans a block scans a bounded number of instructions. A cut
 * costs what the registers alive there are many, so a function of many instructions has longer
 * blocks, not more cuts: else values that all live together would cost their square. */
#include "vm/code/executable.h"

enum { BASIC_BLOCK_INSTRUCTIONS_MIN = 64, BASIC_BLOCK_CUTS_MAX = 128 };
#define BASIC_BLOCK_NONE UINT32_MAX

typedef struct BasicBlocks {
    uint32_t count;
    uint32_t *starts;          /* count + 1: pc of each block's first instruction, then the end */
    uint32_t (*successors)[2]; /* BASIC_BLOCK_NONE where there are fewer */
    uint32_t *predecessor_offsets; /* count + 1: into predecessors */
    uint32_t *predecessors;
} BasicBlocks;

/* How long a block of a function may be. */
uint32_t basic_block_instructions_max(uint32_t instruction_count);
/* Of code whose operands and jumps are in range. */
MUST_CHECK Error *basic_blocks_create(
    const Executable *executable, uint32_t function, BasicBlocks *out);
void basic_blocks_deinit(BasicBlocks *blocks);
uint32_t basic_blocks_find(const BasicBlocks *blocks, uint32_t pc);
