#pragma once
/* Adds packed functions of the public header (layover.h) to a registry of the VM. Callers:
 * library.c, run_machine.c. Threads: one at a time per registry. */
#include "include/layover.h"
#include "vm/objects/packed.h"

/* Adds a function. release may be NULL; else it is called with the context when the registry is
 * released. Errors: CONFLICT, INVALID. */
MUST_CHECK Error *packed_bridge_add(PackedRegistry *registry, const char *name, int32_t arity,
    LayoverPackedFunction *function, void *context, void (*release)(void *context));
/* Loads a trusted shared library, which registers its functions and stays loaded. Errors:
 * NOT_FOUND, INVALID. */
MUST_CHECK Error *packed_bridge_load(PackedRegistry *registry, const char *path);
