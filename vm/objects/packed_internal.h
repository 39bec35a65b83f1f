#pragma once
/* The functions behind the builtin packed functions (packed_functions.def). every registry
 * (packed.c) finds them; packed_builtins.c defines them. They run on the thread of the execution
 * that calls them. */
#include "vm/objects/packed.h"

#define PACKED_FUNCTION(function, name, arity, effect)                                             \
    Error *packed_##function(PackedCall *call, const Value *arguments, uint32_t count,             \
        void *context, Value *out_result);
#include "vm/objects/packed_functions.def"
#undef PACKED_FUNCTION

/* The functions of Relax's executables and their kinds of opaque objects; NULL: there is none of
 * that name. Defined in a higher room (vm/relax/relax_registry.c), since these functions know
 * executions. */
const PackedTarget *relax_registry_find(const char *name);
const OpaqueKind *relax_registry_find_kind(const char *name);
