#pragma once
/* The table of relax_builtins.def as data: for the registry of packed functions, for tests and for
 * the generated document. Pure: a constant table. */
#include "vm/relax/relax_arguments.h"

typedef struct RelaxBuiltin {
    const char *name; /* with its prefix */
    const char *signature;
    const char *meaning;
    PackedFunction *function;
} RelaxBuiltin;

uint32_t relax_builtin_count(void);
/* In the order of the table. */
const RelaxBuiltin *relax_builtin_get(uint32_t index);

#define RELAX_BUILTIN(function, name, signature, meaning)                                          \
    Error *relax_##function(PackedCall *call, const Value *arguments, uint32_t count,              \
        void *context, Value *out_result);
#include "vm/relax/relax_builtins.def"
#undef RELAX_BUILTIN
