#pragma once
/* The ports of an exported function: names, types and forms of what goes in and comes out. Called
 * by emit.c. Threads: one at a time per emitter. */
#include "compiler/lower/emitter.h"

/* Sets the ports of the function with that index. */
MUST_CHECK Error *emit_ports(Emitter *emitter, const IrFunction *function, uint32_t index);
