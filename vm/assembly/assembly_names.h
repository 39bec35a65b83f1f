#pragma once
/* The words for immediates in assembly text: IntOp's kinds, element types, closures' sides. Called
 * by assembly_code.c and assembly_print.c. Pure: constant tables. */
#include <stdbool.h>
#include <stdint.h>

#include "vm/instruction/opcode.h"

/* NULL if the operand's immediates are plain numbers, or the number has no name. */
const char *assembly_immediate_name(Opcode opcode, uint32_t operand, int64_t value);
/* False if the word names no immediate of that operand. */
bool assembly_find_immediate(Opcode opcode, uint32_t operand, const char *word, int64_t *out_value);
