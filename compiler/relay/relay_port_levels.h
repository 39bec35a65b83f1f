#pragma once
/* The levels of a value that comes in by ports: each has the number of its items that are not read
 * yet, and the next one is the last of them. Caller: relay_port_read.c. Threads: one at a time per
 * program. */
#include "compiler/relay/relay_lower_internal.h"

typedef struct RelayPortReader {
    RelayLower *lower;
    IrFunction *function; /* the exported one */
    const RelayPortShape *shape;
    IrVariable **columns;
    IrVariable **left;      /* by level: how many items are not read yet */
    IrFunction **functions; /* by level of a nested value: reads one; NULL until wanted */
} RelayPortReader;

/* Adds the ports, and counts the items of each level. A run fails where two ports of a level have
 * different numbers of items. */
MUST_CHECK Error *relay_port_levels_begin(RelayPortReader *reader);
/* Takes the last item that is left of a level. *out: its place. */
MUST_CHECK Error *relay_port_levels_take(
    RelayPortReader *reader, IrBlock *block, uint32_t level, IrVariable **out);
/* The same; a run fails where none is left. */
MUST_CHECK Error *relay_port_levels_take_checked(
    RelayPortReader *reader, IrBlock *block, uint32_t level, IrVariable **out);
/* A run fails where the condition does not hold, because a level has more or fewer items than the
 * values that they belong to. *inout: a variable that is used behind the check. */
MUST_CHECK Error *relay_port_levels_check(RelayPortReader *reader, IrBlock *block, uint32_t level,
    IrVariable *condition, IrVariable **inout);
/* A run fails where something is left of a level. */
MUST_CHECK Error *relay_port_levels_end(RelayPortReader *reader, IrVariable **inout);

/* A run fails with that text where the condition does not hold. */
MUST_CHECK Error *relay_port_check(
    IrBlock *block, IrVariable *condition, const TextBuilder *text, IrVariable **inout);
/* Computes (a kind number), or (number kind a). */
MUST_CHECK Error *relay_port_compute(IrBlock *block, IntOpKind kind, IrVariable *a, int64_t number,
    bool number_first, IrVariable **out);
