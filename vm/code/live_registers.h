#pragma once
/* Walking the registers that a frame must have: those alive before its pc, or, for a frame that
 * waits in a call, behind it but for the call's destination. */
#include "vm/code/executable.h"

typedef struct LiveRegisters LiveRegisters;
MUST_CHECK Error *live_registers_create(const Executable *executable, LiveRegisters **out);
void live_registers_release(LiveRegisters *live);
DEFINE_OWN(LiveRegisters, live_registers_release);
/* Free where function, pc and is_top are those of the call before: deep recursion is one place. */
MUST_CHECK Error *live_registers_find(
    LiveRegisters *live, uint32_t function, uint32_t pc, bool is_top);
/* The first one >= from, or the function's register_count. */
uint32_t live_registers_next(const LiveRegisters *live, uint32_t from);
