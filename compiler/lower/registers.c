#include "compiler/lower/registers.h"

#include <string.h>

#include "base/allocator.h"
#include "compiler/ir/ir_walk.h"
#include "vm/code/executable.h"

enum { POSITION_NEVER = UINT32_MAX, POSITION_ENDED = 0 };

typedef struct Allocation {
    uint32_t *of; /* by id */
    /* by id: position, or POSITION_NEVER if another variable frees the register */
    uint32_t *last_use;
    uint32_t *prefer; /* by id: 1 + register that it should be made in */
    uint32_t *owner;  /* by register: 1 + id of the variable in it last */
    size_t owner_capacity;
    uint64_t *free_bits;
    size_t word_count;
    size_t lowest_word; /* no free register below */
    uint32_t count;
    uint32_t position;
} Allocation;

static Error *register_add(Allocation *allocation) {
    if (allocation->count >= FUNCTION_REGISTERS_MAX - 1)
        FAIL(EXHAUSTED, "more than %d registers", FUNCTION_REGISTERS_MAX);
    if (allocation->count / 64 >= allocation->word_count) {
        size_t words = allocation->word_count ? allocation->word_count * 2 : 4;
        void *bits = allocation->free_bits;
        TRY(memory_resize(&bits, words, sizeof(uint64_t)));
        allocation->free_bits = bits;
        memset(allocation->free_bits + allocation->word_count, 0,
            (words - allocation->word_count) * sizeof(uint64_t));
        allocation->word_count = words;
    }
    void *owner = allocation->owner;
    TRY(memory_grow(&owner, allocation->count, &allocation->owner_capacity, sizeof(uint32_t)));
    allocation->owner = owner;
    allocation->owner[allocation->count++] = 0;
    return NULL;
}

static bool register_is_free(const Allocation *allocation, uint32_t index) {
    return allocation->free_bits[index / 64] >> (index % 64) & 1;
}

static void register_free(Allocation *allocation, uint32_t index) {
    allocation->free_bits[index / 64] |= UINT64_C(1) << (index % 64);
    if (index / 64 < allocation->lowest_word) allocation->lowest_word = index / 64;
}

static void register_take(Allocation *allocation, uint32_t index, const IrVariable *variable) {
    allocation->owner[index] = variable->id + 1;
    allocation->free_bits[index / 64] &= ~(UINT64_C(1) << (index % 64));
}

/* Takes the preferred register if it is free, otherwise the lowest free one. */
static Error *variable_place(Allocation *allocation, const IrVariable *variable) {
    uint32_t *of = &allocation->of[variable->id];
    if (*of != REGISTERS_NONE) return NULL;
    uint32_t preferred = allocation->prefer[variable->id];
    if (preferred && register_is_free(allocation, preferred - 1)) {
        *of = preferred - 1;
        register_take(allocation, *of, variable);
        return NULL;
    }
    for (; allocation->lowest_word < allocation->word_count; allocation->lowest_word++) {
        uint64_t bits = allocation->free_bits[allocation->lowest_word];
        if (!bits) continue;
        *of = (uint32_t)(allocation->lowest_word * 64 + (size_t)__builtin_ctzll(bits));
        register_take(allocation, *of, variable);
        return NULL;
    }
    TRY(register_add(allocation));
    *of = allocation->count - 1;
    register_take(allocation, *of, variable);
    return NULL;
}

static void variable_use(Allocation *allocation, const IrVariable *variable) {
    if (variable && !variable->constant) allocation->last_use[variable->id] = allocation->position;
}

/* First walk: positions of last uses. Depth is bounded by IR_NESTING_MAX. */
static void block_number(Allocation *allocation, const IrBlock *block) {
    for (const IrBinding *binding = block->first; binding; binding = binding->next) {
        allocation->position++;
        for (uint32_t i = 0; i < binding->operand_count; i++)
            variable_use(allocation, binding->operands[i]);
        bool loops =
            binding->kind == IR_CALL && binding->flag && binding->function == block->function;
        for (uint32_t i = 0; loops && i < binding->operand_count; i++) {
            if (!binding->operands[i]->constant)
                allocation->prefer[binding->operands[i]->id] = i + 1;
        }
        for (uint32_t i = 0; i < binding->block_count; i++)
            block_number(allocation, binding->blocks[i]);
    }
    allocation->position++;
    for (uint32_t i = 0; i < block->result_count; i++) variable_use(allocation, block->results[i]);
}

static void variable_end(Allocation *allocation, const IrVariable *variable) {
    if (!variable || variable->constant) return;
    /* a tail call's result has no register */
    if (allocation->of[variable->id] == REGISTERS_NONE) return;
    if (allocation->last_use[variable->id] != allocation->position) return;
    allocation->last_use[variable->id] = POSITION_NEVER;
    /* a result of a branch in tail position is returned where it is made, and has no register */
    if (allocation->of[variable->id] != REGISTERS_NONE)
        register_free(allocation, allocation->of[variable->id]);
}

/* Gives a branch's results the registers of the If's results, so that no move is needed. */
static void branch_place_results(
    Allocation *allocation, const IrBinding *binding, const IrBlock *block) {
    for (uint32_t i = 0; i < block->result_count; i++) {
        const IrVariable *made = block->results[i];
        if (made->constant || made->block != block || !made->binding) continue;
        if (allocation->of[made->id] != REGISTERS_NONE) continue;
        allocation->of[made->id] = allocation->of[binding->results[i]->id];
        allocation->last_use[made->id] = POSITION_NEVER;
    }
}

static Error *block_place(Allocation *allocation, const IrBlock *block);

/* A copy of the registers' state, kept over a branch. */
typedef struct SavedRegisters {
    uint64_t *free_bits;
    uint32_t *owner;
    size_t word_count;
    uint32_t count;
} SavedRegisters;

static Error *registers_save(const Allocation *allocation, SavedRegisters *out) {
    void *bits, *owner;
    TRY(memory_alloc(allocation->word_count + 1, sizeof(uint64_t), &bits));
    Error *error = memory_alloc((size_t)allocation->count + 1, sizeof(uint32_t), &owner);
    if (error) {
        memory_free(bits);
        return error;
    }
    if (allocation->count > 0) {
        memcpy(bits, allocation->free_bits, allocation->word_count * sizeof(uint64_t));
        memcpy(owner, allocation->owner, allocation->count * sizeof(uint32_t));
    }
    *out = (SavedRegisters){bits, owner, allocation->word_count, allocation->count};
    return NULL;
}

/* Frees the registers that the branch has added. */
static void registers_restore(Allocation *allocation, SavedRegisters *saved) {
    if (allocation->count > 0)
        memset(allocation->free_bits, 0, allocation->word_count * sizeof(uint64_t));
    if (saved->count > 0) {
        memcpy(allocation->free_bits, saved->free_bits, saved->word_count * sizeof(uint64_t));
        memcpy(allocation->owner, saved->owner, saved->count * sizeof(uint32_t));
    }
    for (uint32_t i = saved->count; i < allocation->count; i++) register_free(allocation, i);
    allocation->lowest_word = 0;
    memory_free(saved->free_bits);
    memory_free(saved->owner);
}

/* In a branch in tail position, all values are dead that this branch does not use, even if the
 * other one uses them. */
static Error *tail_branch_place(Allocation *allocation, const IrBlock *block) {
    SavedRegisters saved;
    TRY(registers_save(allocation, &saved));
    uint32_t position = allocation->position;
    block_number(allocation, block);
    uint32_t end = allocation->position;
    allocation->position = position;
    for (uint32_t i = 0; i < allocation->count; i++) {
        if (register_is_free(allocation, i)) continue;
        uint32_t last_use = allocation->last_use[allocation->owner[i] - 1];
        if (last_use <= position || last_use > end) register_free(allocation, i);
    }
    Error *error = block_place(allocation, block);
    registers_restore(allocation, &saved);
    return error;
}

/* Second walk. */
static Error *block_place(Allocation *allocation, const IrBlock *block) {
    for (const IrBinding *binding = block->first; binding; binding = binding->next) {
        allocation->position++;
        for (uint32_t i = 0; i < binding->operand_count; i++)
            variable_end(allocation, binding->operands[i]);
        bool tail = binding->flag && (binding->kind == IR_IF || binding->kind == IR_CALL ||
                                         binding->kind == IR_CALL_CLOSURE);
        for (uint32_t i = 0; !tail && i < binding->result_count; i++)
            TRY(variable_place(allocation, binding->results[i]));
        uint32_t position = allocation->position;
        for (uint32_t i = 0; i < binding->block_count; i++) {
            if (tail) {
                TRY(tail_branch_place(allocation, binding->blocks[i]));
                continue;
            }
            branch_place_results(allocation, binding, binding->blocks[i]);
            TRY(block_place(allocation, binding->blocks[i]));
        }
        for (uint32_t i = 0; !tail && i < binding->result_count; i++) {
            uint32_t id = binding->results[i]->id;
            if (allocation->last_use[id] > position) continue;
            allocation->last_use[id] = POSITION_ENDED;
            register_free(allocation, allocation->of[id]); /* the result has no use */
        }
    }
    allocation->position++;
    for (uint32_t i = 0; i < block->result_count; i++) variable_end(allocation, block->results[i]);
    return NULL;
}

static Error *allocate(const IrFunction *function, Allocation *allocation) {
    const IrBlock *body = function->body;
    block_number(allocation, body);
    allocation->position = 0;
    for (uint32_t i = 0; i < body->parameter_count; i++) {
        TRY(register_add(allocation));
        allocation->of[body->parameters[i]->id] = i;
        register_take(allocation, i, body->parameters[i]);
    }
    for (uint32_t i = 0; i < body->parameter_count; i++) {
        if (allocation->last_use[body->parameters[i]->id] == 0) register_free(allocation, i);
    }
    return block_place(allocation, body);
}

Error *registers_init(const IrModule *module, Registers *out) {
    *out = (Registers){0};
    uint32_t **tables[] = {&out->of, &out->last_use, &out->prefer};
    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++) {
        void *table;
        TRY(ir_side_table(module, sizeof(uint32_t), &table));
        *tables[i] = table;
    }
    memset(out->of, 0xff, module->variable_count * sizeof(uint32_t));
    return NULL;
}

void registers_deinit(Registers *registers) {
    memory_free(registers->of);
    memory_free(registers->last_use);
    memory_free(registers->prefer);
    *registers = (Registers){0};
}

Error *registers_assign(const IrFunction *function, Registers *inout_registers) {
    Allocation allocation = {.of = inout_registers->of,
        .last_use = inout_registers->last_use,
        .prefer = inout_registers->prefer};
    Error *error = allocate(function, &allocation);
    memory_free(allocation.free_bits);
    memory_free(allocation.owner);
    if (error) return error_wrap(error, "function %s", function->name);
    inout_registers->scratch = allocation.count;
    inout_registers->count = allocation.count + 1;
    return NULL;
}
