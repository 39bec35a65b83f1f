#pragma once
/* Finds the registers that a frame must have: those alive before its pc, or, for a frame that waits
 * in a call, those alive after the call except the call's destination. Called by snapshot.c and
 * execution_restore.c; an object belongs to one thread. */
#include "vm/code/executable.h"

typedef struct LiveRegisters LiveRegisters;
MUST_CHECK Error *live_registers_create(const Executable *executable, LiveRegisters **out);
void live_registers_release(LiveRegisters *live);
DEFINE_OWN(LiveRegisters, live_registers_release);
/* Finds the set of one place. A call with the same function, pc and is_top as the call before costs
 * nothing, as in deep recursion. */
MUST_CHECK Error *live_registers_find(
    LiveRegisters *live, uint32_t function, uint32_t pc, bool is_top);
/* The first register of the set >= from, or the function's register_count. */
uint32_t live_registers_next(const LiveRegisters *live, uint32_t from);
