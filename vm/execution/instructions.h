#pragma once
/* The handlers of the opcodes that the loop does not execute itself. Called by interpreter.c on the
 * thread of the execution. */
#include "vm/execution/execution_state.h"

/* Declared from their rows: calls are in instructions_call.c, objects in instructions_object.c,
 * tensors in instructions_tensor.c, ListConcat in instructions_concat.c, InvokePacked in
 * invoke_packed.c. */
#define OPCODE_IN_LOOP(number, name, mnemonic, destination, operands, flags, slot, effect)
#define OPCODE(number, name, mnemonic, destination, operands, flags, slot, handler, effect)        \
    InstructionHandler instruction_##handler;
#include "vm/instruction/opcodes.def"
#undef OPCODE

/* Reads the value that If compares: bool, int64, or a one-element integer or bool tensor in slot
 * 0. */
MUST_CHECK Error *instruction_test_value(const Value *value, int64_t *out);
/* Reads a shape object or an int64 tensor in slot 0. */
MUST_CHECK Error *instruction_shape_operand(const Value *value, Shape *out);
/* Checks that the value is a tensor whose data is written and in the memory of its slot. index: of
 * the operand, for messages. */
MUST_CHECK Error *instruction_tensor_operand(
    const Execution *execution, const Value *value, uint32_t index, Tensor **out);

/* instrument.c: asks the instrument before a call; out_skip: the call is skipped. */
MUST_CHECK Error *instrument_before(
    Execution *execution, const char *name, const Value *arguments, uint32_t count, bool *out_skip);
/* The same for an instruction's operands from `first` on, as the arguments of a call. */
MUST_CHECK Error *instrument_before_closure(Execution *execution, const char *name,
    const DecodedInstruction *instruction, uint32_t first, const Value *registers, bool *out_skip);
/* Tells of the end of a closure of bytecode, where the caller's instruction is InvokeClosure. */
MUST_CHECK Error *instrument_after_closure(Execution *execution, const Value *result);
MUST_CHECK Error *instrument_after(Execution *execution, const char *name, const Value *arguments,
    uint32_t count, const Value *results, uint32_t result_count,
    const struct InstrumentKernel *kernel);
