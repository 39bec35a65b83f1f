#pragma once
/* The builtin packed functions, as packed_registry_create enters them. */
#include "vm/objects/packed.h"

#define PACKED_FUNCTION(function, name, arity, effect)                                             \
    Error *packed_##function(PackedCall *call, const Value *arguments, uint32_t count,             \
        void *context, Value *out_result);
#include "vm/objects/packed_functions.def"
#undef PACKED_FUNCTION
