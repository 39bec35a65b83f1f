#pragma once
/* Moves between registers that act at once. Called where arguments are passed. Threads: one at a
 * time per emitter. */
#include "compiler/lower/emitter.h"

/* Emits moves as if every source was read before any register is written. A source equal to its
 * target is left out. Cycles use the scratch register. */
MUST_CHECK Error *emit_parallel_moves(
    Emitter *emitter, const uint64_t *sources, const uint32_t *targets, uint32_t count);
