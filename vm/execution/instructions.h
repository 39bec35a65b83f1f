#pragma once
/* The handlers of the opcodes that the loop does not do itself. */
#include "vm/execution/execution_internal.h"

/* By their rows: calls in instructions_call.c, objects in instructions_object.c, tensors in
 * instructions_tensor.c, ListConcat in instructions_concat.c, InvokePacked in invoke_packed.c. */
#define OPCODE_IN_LOOP(number, name, mnemonic, destination, operands, flags, slot, effect)
#define OPCODE(number, name, mnemonic, destination, operands, flags, slot, handler, effect)        \
    InstructionHandler instruction_##handler;
#include "vm/instruction/opcodes.def"
#undef OPCODE

/* What If compares: bool, int64, or a one-element integer or bool tensor in slot 0. */
MUST_CHECK Error *instruction_test_value(const Value *value, int64_t *out);
/* A shape object or an int64 tensor in slot 0. */
MUST_CHECK Error *instruction_shape_operand(const Value *value, Shape *out);
/* A tensor value that is written and in the memory its slot stands for. what: "operand 0". */
MUST_CHECK Error *instruction_tensor_operand(
    const Execution *execution, const Value *value, uint32_t index, Tensor **out);

/* instrument.c: asks before a call; out_skip: it is left out. */
MUST_CHECK Error *instrument_before(
    Execution *execution, const char *name, const Value *arguments, uint32_t count, bool *out_skip);
MUST_CHECK Error *instrument_after(Execution *execution, const char *name, const Value *arguments,
    uint32_t count, const Value *results, uint32_t result_count,
    const struct InstrumentKernel *kernel);
