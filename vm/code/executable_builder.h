#pragma once
/* Builds an executable; there is no other way to make one. Called by the compiler's emitter, the
 * assembler and the reader of executable files; a builder belongs to one thread.
 *
 * Functions, constants and primitives are numbered in the order of the calls; equal primitives are
 * merged only by the caller. Before executable_builder_finish only limits and arguments are
 * checked; executable_builder_finish verifies everything. */
#include "vm/code/executable.h"
#include "vm/instruction/opcode.h"

typedef struct ExecutableBuilder ExecutableBuilder;

MUST_CHECK Error *executable_builder_create(ExecutableBuilder **out);
void executable_builder_release(ExecutableBuilder *builder);
DEFINE_OWN(ExecutableBuilder, executable_builder_release);

/* Declares a function. Its code comes later, so that calls can name the function before. out_index:
 * its operand value. */
MUST_CHECK Error *executable_builder_add_function(ExecutableBuilder *builder, const char *name,
    FunctionKind kind, uint32_t flags, uint32_t parameter_count, uint32_t *out_index);
/* Copy the ports of the parameters or results. */
MUST_CHECK Error *executable_builder_set_parameters(
    ExecutableBuilder *builder, uint32_t function, const Port *ports, uint32_t count);
MUST_CHECK Error *executable_builder_set_results(
    ExecutableBuilder *builder, uint32_t function, const Port *ports, uint32_t count);
/* Consumes the value (even on failure). Tensors become sealed and get their constant's index. */
MUST_CHECK Error *executable_builder_add_constant(
    ExecutableBuilder *builder, Value owned_value, uint8_t slot, uint32_t *out_index);
/* Names the constant that holds the bytes of a native library. sha256: of the bytes, as stored: the
 * library runs only if its bytes have that SHA-256; NULL: the bytes are those of this process.
 * Errors: CORRUPT the constant is no uint8 tensor of rank 1 in slot 0. */
MUST_CHECK Error *executable_builder_set_native_library(
    ExecutableBuilder *builder, uint32_t constant, const Digest *sha256);
/* Retains the attributes, which are checked against the operator at once. */
MUST_CHECK Error *executable_builder_add_primitive(ExecutableBuilder *builder,
    const char *operator_name, uint32_t version, Attributes *attributes, uint32_t *out_index);

/* Adds the code of one function after another: begin, instructions, end. */
MUST_CHECK Error *executable_builder_begin_code(
    ExecutableBuilder *builder, uint32_t function, uint32_t register_count);
MUST_CHECK Error *executable_builder_add_instruction(ExecutableBuilder *builder, Opcode opcode,
    uint32_t flags, uint32_t destination, const uint64_t *operands, uint32_t operand_count);
/* The number of instructions of the function so far: the pc of the next one. */
uint32_t executable_builder_pc(const ExecutableBuilder *builder);
/* Replaces an operand of an instruction of the current function, for jumps whose target was not
 * known. */
MUST_CHECK Error *executable_builder_patch_operand(
    ExecutableBuilder *builder, uint32_t pc, uint32_t operand_index, uint64_t operand);
/* Sets the raw words of a whole function, for readers; replaces begin / add / end. */
MUST_CHECK Error *executable_builder_set_code(ExecutableBuilder *builder, uint32_t function,
    uint32_t register_count, const uint64_t *words, uint32_t word_count);

/* Copies bytes that are kept with the executable: Executable.source. */
MUST_CHECK Error *executable_builder_set_source(
    ExecutableBuilder *builder, const void *source, size_t size);

/* Verifies and freezes the executable. Errors: CORRUPT "function f, instruction 3 (If): jump to 99
 * of 7". The builder is unchanged on failure and empty on success. */
MUST_CHECK Error *executable_builder_finish(ExecutableBuilder *builder, Executable **out);
