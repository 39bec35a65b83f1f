#pragma once
/* A small file of the Relay VM of any version: one function with one instruction of several
 * kinds. */
#include "base/bytes.h"
#include "serialize/relay/relay_file.h"

void relay_example_write(ByteWriter *writer, uint32_t minor);
/* Writes an instruction with its hash. words: opcode and fields. */
void relay_example_instruction(ByteWriter *writer, const int64_t *words, uint32_t count);
