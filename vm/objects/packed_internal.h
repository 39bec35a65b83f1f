#pragma once
/* The functions behind the builtin packed functions (packed_functions.def). packed_registry_create
 * (packed.c) enters them into a registry; packed_builtins.c defines them. They run on the thread of
 * the execution that calls them. */
#include "vm/objects/packed.h"

#define PACKED_FUNCTION(function, name, arity, effect)                                             \
    Error *packed_##function(PackedCall *call, const Value *arguments, uint32_t count,             \
        void *context, Value *out_result);
#include "vm/objects/packed_functions.def"
#undef PACKED_FUNCTION

/* Adds the functions of Relax's executables and their kinds of opaque objects. Defined in a higher
 * room (vm/relax/relax_registry.c), since these functions know executions. */
MUST_CHECK Error *relax_registry_add(PackedRegistry *registry);
