#pragma once
/* Converts assembly text (.lva) to an executable and back; the round trip is exact: words,
 * constants, names. Called by the compiler, by inspect and disasm (tools/cli/), and by tests. Pure:
 * no state. Grammar: docs/isa.md. */
#include "base/text.h"
#include "vm/code/executable.h"

/* Errors: INVALID "line 12: unknown opcode Mvoe". size_max is checked by the caller. */
MUST_CHECK Error *assembly_parse(const char *text, size_t size, Executable **out);
/* with_data: also prints constants' bytes, as the round trip needs; else they are summarised for
 * people. */
MUST_CHECK Error *assembly_print(const Executable *executable, bool with_data, TextBuilder *out);
/* Prints one instruction as inspect shows it: "InvokePacked Add r1, r2 -> r3". */
void assembly_print_instruction(
    const Executable *executable, uint32_t function, uint32_t pc, TextBuilder *out);
