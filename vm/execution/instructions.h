#pragma once
/* The handlers of the opcodes that the loop does not do itself, by file. */
#include "vm/execution/execution_internal.h"

/* instructions_call.c */
InstructionHandler instruction_invoke, instruction_invoke_closure, instruction_call,
    instruction_tail_invoke, instruction_ret;
/* instructions_object.c */
InstructionHandler instruction_alloc_adt, instruction_alloc_closure, instruction_get_field,
    instruction_get_tag, instruction_list_new, instruction_list_append, instruction_make_shape,
    instruction_yield, instruction_fatal;
/* instructions_tensor.c */
InstructionHandler instruction_alloc_storage, instruction_alloc_tensor,
    instruction_alloc_tensor_reg, instruction_shape_of, instruction_reshape_tensor,
    instruction_device_copy, instruction_read_scalar, instruction_make_tensor0;
/* instructions_concat.c */
InstructionHandler instruction_list_concat;
/* invoke_packed.c */
InstructionHandler instruction_invoke_packed;

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
