#pragma once
/* Assembly text (.lva) to an executable and back; round trip is exact: words, constants, names.
 * Grammar: docs/isa.md. */
#include "base/text.h"
#include "vm/code/executable.h"

/* Errors: INVALID "line 12: unknown opcode Mvoe". size_max is checked by the caller. */
MUST_CHECK Error *assembly_parse(const char *text, size_t size, Executable **out);
/* with_data: constants' bytes too (needed for the round trip); else they are summarised for people.
 */
MUST_CHECK Error *assembly_print(const Executable *executable, bool with_data, TextBuilder *out);
/* "InvokePacked Add r1, r2 -> r3": one instruction, as inspect shows it. */
void assembly_print_instruction(
    const Executable *executable, uint32_t function, uint32_t pc, TextBuilder *out);
