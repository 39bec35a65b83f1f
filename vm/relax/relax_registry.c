#include "vm/relax/relax_registry.h"

#include "vm/objects/packed_internal.h"
#include "vm/relax/relax_paged.h"

static const RelaxBuiltin builtins[] = {
#define RELAX_BUILTIN(function, name, signature, meaning)                                          \
    {"vm.builtin." name, signature, meaning, relax_##function},
#include "vm/relax/relax_builtins.def"
#undef RELAX_BUILTIN
};

static const OpaqueKind *const kinds[] = {&relax_kv_array, &relax_paged, &relax_rnn_state};

enum { BUILTIN_COUNT = sizeof builtins / sizeof builtins[0] };

uint32_t relax_builtin_count(void) { return BUILTIN_COUNT; }

const RelaxBuiltin *relax_builtin_get(uint32_t index) { return &builtins[index]; }

/* context: the row of the table. */
static Error *call_builtin(
    PackedCall *call, const Value *arguments, uint32_t count, void *context, Value *out_result) {
    const RelaxBuiltin *builtin = context;
    call->marks_written = true;
    TRY(relax_check_arguments(builtin->signature, arguments, count));
    return builtin->function(call, arguments, count, out_result);
}

Error *relax_registry_add(PackedRegistry *registry) {
    for (uint32_t i = 0; i < BUILTIN_COUNT; i++)
        TRY(packed_registry_add(
            registry, builtins[i].name, -1, call_builtin, (void *)(uintptr_t)&builtins[i], NULL));
    for (uint32_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        TRY(packed_registry_add_opaque_kind(registry, kinds[i]));
    return NULL;
}
