#include "vm/objects/packed.h"

#include <string.h>

#include "base/allocator.h"
#include "base/name_map.h"
#include "vm/objects/packed_internal.h"

enum { PACKED_FUNCTIONS_MAX = 1 << 16, OPAQUE_KINDS_MAX = 1024 };

typedef struct PackedRow {
    PackedTarget target;
    void (*release)(void *context);
} PackedRow;

static const struct {
    const char *name;
    PackedTarget target;
} builtins[] = {
#define PACKED_FUNCTION(fn, text, count, effect)                                                   \
    {text, {.function = packed_##fn, .arity = (count)}},
#include "vm/objects/packed_functions.def"
#undef PACKED_FUNCTION
};

struct PackedRegistry {
    Refcount refcount;
    NameMap *functions; /* name -> PackedRow; those that were added */
    NameMap *kinds;     /* name -> OpaqueKind; the same */
    PackedRow **rows;   /* of functions, to release them */
    size_t row_count, row_capacity;
};

Error *packed_registry_create(PackedRegistry **out) {
    void *memory;
    TRY(memory_alloc(1, sizeof(PackedRegistry), &memory));
    OWN(PackedRegistry, registry) = memory;
    refcount_init(&registry->refcount);
    TRY(name_map_create(&registry->functions));
    TRY(name_map_create(&registry->kinds));
    *out = TAKE(registry);
    return NULL;
}

PackedRegistry *packed_registry_retain(PackedRegistry *registry) {
    refcount_retain(&registry->refcount);
    return registry;
}

void packed_registry_release(PackedRegistry *registry) {
    if (!registry || !refcount_release(&registry->refcount)) return;
    for (size_t i = 0; i < registry->row_count; i++) {
        PackedRow *row = registry->rows[i];
        if (row->release) row->release(row->target.context);
        memory_free(row);
    }
    memory_free(registry->rows);
    name_map_release(registry->functions);
    name_map_release(registry->kinds);
    memory_free(registry);
}

Error *packed_registry_add(PackedRegistry *registry, const char *name, int32_t arity,
    PackedFunction *function, void *context, void (*release)(void *context)) {
    if (packed_registry_find(registry, name))
        FAIL(CONFLICT, "there is a packed function %s already", name);
    if (registry->row_count >= PACKED_FUNCTIONS_MAX)
        FAIL(EXHAUSTED, "more than %d packed functions", PACKED_FUNCTIONS_MAX);
    void *rows = registry->rows;
    TRY(memory_grow(&rows, registry->row_count, &registry->row_capacity, sizeof(PackedRow *)));
    registry->rows = rows;
    void *memory;
    TRY(memory_alloc(1, sizeof(PackedRow), &memory));
    PackedRow *row = memory;
    row->target = (PackedTarget){.function = function, .context = context, .arity = arity};
    Error *error = name_map_set(registry->functions, name, row);
    if (error) {
        memory_free(row);
        return error;
    }
    row->release = release;
    registry->rows[registry->row_count++] = row;
    return NULL;
}

static const PackedTarget *find_builtin(const char *name) {
    for (size_t i = 0; i < sizeof builtins / sizeof *builtins; i++)
        if (strcmp(builtins[i].name, name) == 0) return &builtins[i].target;
    return relax_registry_find(name);
}

const PackedTarget *packed_registry_find(const PackedRegistry *registry, const char *name) {
    const PackedRow *row = name_map_find(registry->functions, name);
    return row ? &row->target : find_builtin(name);
}

Error *packed_registry_add_opaque_kind(PackedRegistry *registry, const OpaqueKind *kind) {
    if (packed_registry_find_opaque_kind(registry, kind->name))
        FAIL(CONFLICT, "there is a kind of opaque objects %s already", kind->name);
    if (name_map_count(registry->kinds) >= OPAQUE_KINDS_MAX)
        FAIL(EXHAUSTED, "more than %d kinds of opaque objects", OPAQUE_KINDS_MAX);
    return name_map_set(registry->kinds, kind->name, (void *)(uintptr_t)kind);
}

const OpaqueKind *packed_registry_find_opaque_kind(
    const PackedRegistry *registry, const char *name) {
    const OpaqueKind *added = name_map_find(registry->kinds, name);
    if (added) return added;
    if (strcmp(opaque_shape_heap.name, name) == 0) return &opaque_shape_heap;
    return relax_registry_find_kind(name);
}

Error *packed_object_create(PackedRegistry *registry, const char *name, PackedObject **out) {
    const PackedTarget *target = packed_registry_find(registry, name);
    if (!target) FAIL(NOT_FOUND, "there is no packed function %s", name);
    size_t size = strlen(name) + 1;
    void *memory;
    TRY(memory_alloc(1, sizeof(PackedObject) + size, &memory));
    PackedObject *packed = memory;
    refcount_init(&packed->refcount);
    packed->target = *target;
    packed->registry = packed_registry_retain(registry);
    memcpy(packed->name, name, size);
    *out = packed;
    return NULL;
}

void packed_object_release(PackedObject *packed) {
    if (!packed || !refcount_release(&packed->refcount)) return;
    packed_registry_release(packed->registry);
    memory_free(packed);
}
