#include "vm/relax/relax_registry.h"

#include <string.h>

#include "vm/objects/packed_internal.h"
#include "vm/relax/relax_paged.h"

#define RELAX_PREFIX "vm.builtin."

static const RelaxBuiltin builtins[] = {
#define RELAX_BUILTIN(function, name, signature, meaning)                                          \
    {RELAX_PREFIX name, signature, meaning, relax_##function},
#include "vm/relax/relax_builtins.def"
#undef RELAX_BUILTIN
};

static const PackedTarget targets[] = {
#define RELAX_BUILTIN(fn, name, letters, meaning)                                                  \
    {.function = relax_##fn, .signature = letters, .arity = -1},
#include "vm/relax/relax_builtins.def"
#undef RELAX_BUILTIN
};

static const uint8_t sizes[] = {
/* of the names: most are told apart by them */
#define RELAX_BUILTIN(function, name, signature, meaning) sizeof RELAX_PREFIX name - 1,
#include "vm/relax/relax_builtins.def"
#undef RELAX_BUILTIN
};

static const OpaqueKind *const kinds[] = {&relax_kv_array, &relax_paged, &relax_rnn_state};

enum { BUILTIN_COUNT = sizeof builtins / sizeof builtins[0] };

uint32_t relax_builtin_count(void) { return BUILTIN_COUNT; }

const RelaxBuiltin *relax_builtin_get(uint32_t index) { return &builtins[index]; }

const PackedTarget *relax_registry_find(const char *name) {
    const size_t prefix = sizeof RELAX_PREFIX - 1;
    if (strncmp(name, RELAX_PREFIX, prefix) != 0) return NULL;
    const size_t size = strlen(name);
    for (uint32_t i = 0; i < BUILTIN_COUNT; i++)
        if (sizes[i] == size && memcmp(builtins[i].name, name, size) == 0) return &targets[i];
    return NULL;
}

const OpaqueKind *relax_registry_find_kind(const char *name) {
    for (uint32_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (strcmp(kinds[i]->name, name) == 0) return kinds[i];
    return NULL;
}
