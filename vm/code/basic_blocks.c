#include "vm/code/basic_blocks.h"

#include "base/allocator.h"
#include "vm/instruction/instruction.h"

void basic_blocks_deinit(BasicBlocks *blocks) {
    memory_free(blocks->starts);
    memory_free(blocks->successors);
    memory_free(blocks->predecessor_offsets);
    memory_free(blocks->predecessors);
    *blocks = (BasicBlocks){0};
}

uint32_t basic_blocks_find(const BasicBlocks *blocks, uint32_t pc) {
    uint32_t low = 0, high = blocks->count;
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (blocks->starts[middle] <= pc)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* The pcs that the instruction may jump to. No opcode has more than two jumps. */
static uint32_t jump_targets(const Instruction *instruction, uint32_t pc, uint32_t out_targets[2]) {
    uint32_t count = 0;
    if (!(opcode_infos[instruction->opcode].flags & OPCODE_FLAG_JUMP)) return 0;
    for (uint32_t i = 0; i < instruction->operand_count && count < 2; i++) {
        if (opcode_operand_letter(instruction->head, i, 0) == 'j')
            out_targets[count++] = (uint32_t)(pc + operand_value(instruction->operands[i]));
    }
    return count;
}

static bool falls_through(const Instruction *instruction) {
    return !(opcode_infos[instruction->opcode].flags & OPCODE_FLAG_END);
}

static Instruction read_at(const Executable *executable, const Function *function, uint32_t pc) {
    return instruction_read(function_instruction(executable, function, pc));
}

uint32_t basic_block_instructions_max(uint32_t instruction_count) {
    const uint32_t part = instruction_count / BASIC_BLOCK_CUTS_MAX;
    return part > BASIC_BLOCK_INSTRUCTIONS_MIN ? part : BASIC_BLOCK_INSTRUCTIONS_MIN;
}

static void mark_starts(
    const Executable *executable, const Function *function, uint8_t *inout_starts) {
    inout_starts[0] = 1;
    for (uint32_t pc = 0; pc < function->instruction_count; pc++) {
        Instruction instruction = read_at(executable, function, pc);
        uint32_t targets[2], count = jump_targets(&instruction, pc, targets);
        for (uint32_t i = 0; i < count; i++) inout_starts[targets[i]] = 1;
        if (!falls_through(&instruction)) inout_starts[pc + 1] = 1;
    }
    const uint32_t length_max = basic_block_instructions_max(function->instruction_count);
    for (uint32_t pc = 0, length = 0; pc < function->instruction_count; pc++) {
        length = inout_starts[pc] ? 1 : length + 1;
        if (length <= length_max) continue;
        inout_starts[pc] = 1;
        length = 1;
    }
}

static Error *number_blocks(
    const Executable *executable, const Function *function, BasicBlocks *blocks) {
    void *memory;
    TRY(memory_alloc((size_t)function->instruction_count + 1, 1, &memory));
    uint8_t *is_start = memory;
    mark_starts(executable, function, is_start);
    for (uint32_t pc = 0; pc < function->instruction_count; pc++) blocks->count += is_start[pc];
    Error *error = memory_alloc((size_t)blocks->count + 1, sizeof(uint32_t), &memory);
    if (!error) {
        blocks->starts = memory;
        uint32_t block = 0;
        for (uint32_t pc = 0; pc < function->instruction_count; pc++)
            if (is_start[pc]) blocks->starts[block++] = pc;
        blocks->starts[block] = function->instruction_count;
    }
    memory_free(is_start);
    return error;
}

static void connect(const Executable *executable, const Function *function, BasicBlocks *blocks) {
    for (uint32_t block = 0; block < blocks->count; block++) {
        uint32_t last = blocks->starts[block + 1] - 1;
        Instruction instruction = read_at(executable, function, last);
        uint32_t targets[2], count = jump_targets(&instruction, last, targets);
        uint32_t *successors = blocks->successors[block];
        successors[0] = successors[1] = BASIC_BLOCK_NONE;
        for (uint32_t i = 0; i < count; i++) successors[i] = basic_blocks_find(blocks, targets[i]);
        if (falls_through(&instruction)) successors[count ? 1 : 0] = block + 1;
        if (successors[1] == successors[0]) successors[1] = BASIC_BLOCK_NONE;
        for (uint32_t i = 0; i < 2; i++)
            if (successors[i] != BASIC_BLOCK_NONE) blocks->predecessor_offsets[successors[i] + 1]++;
    }
    for (uint32_t block = 0; block < blocks->count; block++)
        blocks->predecessor_offsets[block + 1] += blocks->predecessor_offsets[block];
}

static Error *list_predecessors(BasicBlocks *blocks) {
    void *memory;
    TRY(memory_alloc(blocks->predecessor_offsets[blocks->count], sizeof(uint32_t), &memory));
    blocks->predecessors = memory;
    TRY(memory_alloc((size_t)blocks->count, sizeof(uint32_t), &memory));
    uint32_t *filled = memory;
    for (uint32_t block = 0; block < blocks->count; block++) {
        for (uint32_t i = 0; i < 2; i++) {
            uint32_t next = blocks->successors[block][i];
            if (next == BASIC_BLOCK_NONE) continue;
            blocks->predecessors[blocks->predecessor_offsets[next] + filled[next]++] = block;
        }
    }
    memory_free(filled);
    return NULL;
}

static Error *build(const Executable *executable, const Function *function, BasicBlocks *blocks) {
    void *memory;
    TRY(number_blocks(executable, function, blocks));
    TRY(memory_alloc(blocks->count, sizeof blocks->successors[0], &memory));
    blocks->successors = memory;
    TRY(memory_alloc((size_t)blocks->count + 1, sizeof(uint32_t), &memory));
    blocks->predecessor_offsets = memory;
    connect(executable, function, blocks);
    return list_predecessors(blocks);
}

Error *basic_blocks_create(const Executable *executable, uint32_t function, BasicBlocks *out) {
    BasicBlocks blocks = {0};
    Error *error = build(executable, &executable->functions[function], &blocks);
    if (error)
        basic_blocks_deinit(&blocks);
    else
        *out = blocks;
    return error;
}
