#pragma once
/* A closure: a function and values bound to its first or last parameters. Made by instructions and
 * readers; after it is built any thread may read it. */
#include "vm/objects/object.h"

typedef enum ClosureSide { /* stored */
    CLOSURE_FIRST = 0,     /* bound values come before the call's arguments (Relay) */
    CLOSURE_LAST = 1,      /* bound values come after the call's arguments (Relax) */
} ClosureSide;

typedef struct Closure {
    Refcount refcount;
    uint32_t count; /* bound values */
    uint32_t function;
    uint32_t side;
    ObjectMeter *meter; /* may be NULL */
    Value bound[];
} Closure;

/* Bound values start as nil: the maker fills them before the closure is shared. */
MUST_CHECK Error *closure_create(
    ObjectMeter *meter, uint32_t function, ClosureSide side, uint32_t count, Closure **out);
void closure_release(Closure *closure);
DEFINE_OWN(Closure, closure_release);
