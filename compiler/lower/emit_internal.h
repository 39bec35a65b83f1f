#pragma once
/* What the emitter's files share. */
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
    uint32_t packed[IR_PACKED_COUNT]; /* operand value of those that are called */
    const IrFunction *function;       /* being emitted */
    uint64_t operands[INSTRUCTION_OPERANDS_MAX];
    uint32_t operand_count;
} Emitter;

/* Appends to emitter->operands. */
MUST_CHECK Error *emit_add_operand(Emitter *emitter, uint64_t operand);
MUST_CHECK Error *emit_add_immediate(Emitter *emitter, int64_t value);
/* A register, immediate or constant. */
MUST_CHECK Error *emit_add_use(Emitter *emitter, const IrVariable *variable);
MUST_CHECK Error *emit_add_uses(Emitter *emitter, IrVariable *const *variables, uint32_t count);
/* Ends the instruction whose operands were added. */
MUST_CHECK Error *emit_instruction(
    Emitter *emitter, Opcode opcode, uint32_t flags, uint32_t destination);
MUST_CHECK Error *emit_move(Emitter *emitter, uint64_t from, uint32_t to);
MUST_CHECK Error *emit_use_operand(
    Emitter *emitter, const IrVariable *variable, uint64_t *out_operand);
/* emit_moves.c: all at once, as if every source was read before any register is written. Sources
 * equal to their target are left out. Uses the scratch register for cycles. */
MUST_CHECK Error *emit_parallel_moves(
    Emitter *emitter, const uint64_t *sources, const uint32_t *targets, uint32_t count);
/* emit_binding.c: everything but IF. *out_ended: nothing runs on behind it. */
MUST_CHECK Error *emit_binding(Emitter *emitter, const IrBinding *binding, bool *out_ended);
/* emit_ports.c */
MUST_CHECK Error *emit_ports(Emitter *emitter, const IrFunction *function, uint32_t index);
