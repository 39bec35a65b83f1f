#pragma once
/* An executable that is being emitted, and the instruction that is being built: operands are added
 * one by one, then the instruction is ended. Used by the files emit*.c. Threads: one at a time per
 * emitter. */
#include "compiler/ir/ir.h"
#include "compiler/lower/constant_layout.h"
#include "compiler/lower/registers.h"
#include "vm/code/executable_builder.h"

typedef struct Emitter {
    const IrModule *module;
    ExecutableBuilder *builder;
    ConstantLayout *layout;
    Registers registers;
    uint32_t *uses;                   /* by variable id */
    uint32_t *functions;              /* operand value by IrFunction index */
    uint32_t packed[IR_PACKED_COUNT]; /* operand value of the packed functions that are called */
    const IrFunction *function;       /* the function that is being emitted */
    uint64_t operands[INSTRUCTION_OPERANDS_MAX];
    uint32_t operand_count;
} Emitter;

/* Appends to emitter->operands. */
MUST_CHECK Error *emit_add_operand(Emitter *emitter, uint64_t operand);
MUST_CHECK Error *emit_add_immediate(Emitter *emitter, int64_t value);
/* Appends a register, immediate or constant. */
MUST_CHECK Error *emit_add_use(Emitter *emitter, const IrVariable *variable);
MUST_CHECK Error *emit_add_uses(Emitter *emitter, IrVariable *const *variables, uint32_t count);
/* Ends the instruction with the operands that were added. */
MUST_CHECK Error *emit_instruction(
    Emitter *emitter, Opcode opcode, uint32_t flags, uint32_t destination);
MUST_CHECK Error *emit_move(Emitter *emitter, uint64_t from, uint32_t to);
/* The operand that stands for a value; NULL: an absent one. */
MUST_CHECK Error *emit_use_operand(
    Emitter *emitter, const IrVariable *variable, uint64_t *out_operand);
