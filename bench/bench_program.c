#include "bench/bench_program.h"

enum { HOLD_INPUTS_MAX = 4096 };

Error *bench_program_hold(uint32_t input_count, Executable **out) {
    OWN(ExecutableBuilder, builder) = NULL;
    uint64_t operands[HOLD_INPUTS_MAX + 1];
    uint32_t function;
    if (input_count > HOLD_INPUTS_MAX - 1) FAIL(INVALID, "%u inputs", input_count);
    TRY(executable_builder_create(&builder));
    TRY(executable_builder_add_function(
        builder, "main", FUNCTION_BYTECODE, FUNCTION_EXPORTED, input_count, &function));
    TRY(executable_builder_begin_code(builder, function, input_count + 2));
    operands[0] = operand_make(OPERAND_IMMEDIATE, 0);
    for (uint32_t i = 0; i < 2; i++)
        TRY(executable_builder_add_instruction(
            builder, OPCODE_LOAD_CONSTI, 0, input_count, operands, 1));
    for (uint32_t i = 0; i < input_count; i++) operands[1 + i] = operand_make(OPERAND_REGISTER, i);
    TRY(executable_builder_add_instruction(
        builder, OPCODE_ALLOC_ADT, 0, input_count + 1, operands, input_count + 1));
    operands[0] = operand_make(OPERAND_REGISTER, input_count + 1);
    TRY(executable_builder_add_instruction(builder, OPCODE_RET, 0, REGISTER_NONE, operands, 1));
    return executable_builder_finish(builder, out);
}

void bench_program_forget(const Snapshot *snapshot) {
    for (uint32_t i = 0; i < snapshot->register_count; i++) {
        const Value *value = &snapshot->registers[i].value;
        if (value_is(value, OBJECT_TENSOR)) storage_forget_annotation(value->tensor->storage);
    }
}
