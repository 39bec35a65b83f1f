#pragma once
/* The instructions of one binding. Called by emit.c for each binding of a block. Threads: one at a
 * time per emitter. */
#include "compiler/lower/emitter.h"

/* Emits every kind but IF. *out_ended: control does not continue behind it. */
MUST_CHECK Error *emit_binding(Emitter *emitter, const IrBinding *binding, bool *out_ended);
