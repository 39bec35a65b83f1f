#pragma once
/* Packed functions of the public header (layover.h) in a registry of the VM. */
#include "include/layover.h"
#include "vm/objects/packed.h"

/* release may be NULL; it is called with the context when the registry goes. Errors: CONFLICT,
 * INVALID. */
MUST_CHECK Error *packed_bridge_add(PackedRegistry *registry, const char *name, int32_t arity,
    LayoverPackedFunction *function, void *context, void (*release)(void *context));
/* Loads a trusted shared library and lets it register its functions; it stays loaded. Errors:
 * NOT_FOUND, INVALID. */
MUST_CHECK Error *packed_bridge_load(PackedRegistry *registry, const char *path);
