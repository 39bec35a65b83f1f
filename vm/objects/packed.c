#include "vm/objects/packed.h"

#include <string.h>

#include "base/allocator.h"
#include "base/name_map.h"
#include "vm/objects/packed_internal.h"

enum { PACKED_FUNCTIONS_MAX = 1 << 16, OPAQUE_KINDS_MAX = 1024 };

typedef struct PackedRow {
    PackedFunction *function;
    void *context;
    void (*release)(void *context);
    int32_t arity;
} PackedRow;

struct PackedRegistry {
    Refcount refcount;
    NameMap *functions; /* name -> PackedRow */
    NameMap *kinds;     /* name -> OpaqueKind */
    PackedRow **rows;   /* of functions, to release them */
    size_t row_count, row_capacity;
};

static Error *add_builtins(PackedRegistry *registry) {
#define PACKED_FUNCTION(function, name, arity, effect)                                             \
    TRY(packed_registry_add(registry, name, arity, packed_##function, NULL, NULL));
#include "vm/objects/packed_functions.def"
#undef PACKED_FUNCTION
    TRY(packed_registry_add_opaque_kind(registry, &opaque_shape_heap));
    return relax_registry_add(registry);
}

Error *packed_registry_create(PackedRegistry **out) {
    void *memory;
    TRY(memory_alloc(1, sizeof(PackedRegistry), &memory));
    OWN(PackedRegistry, registry) = memory;
    refcount_init(&registry->refcount);
    TRY(name_map_create(&registry->functions));
    TRY(name_map_create(&registry->kinds));
    TRY(add_builtins(registry));
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
        if (row->release) row->release(row->context);
        memory_free(row);
    }
    memory_free(registry->rows);
    name_map_release(registry->functions);
    name_map_release(registry->kinds);
    memory_free(registry);
}

Error *packed_registry_add(PackedRegistry *registry, const char *name, int32_t arity,
    PackedFunction *function, void *context, void (*release)(void *context)) {
    if (name_map_find(registry->functions, name))
        FAIL(CONFLICT, "there is a packed function %s already", name);
    if (registry->row_count >= PACKED_FUNCTIONS_MAX)
        FAIL(EXHAUSTED, "more than %d packed functions", PACKED_FUNCTIONS_MAX);
    void *rows = registry->rows;
    TRY(memory_grow(&rows, registry->row_count, &registry->row_capacity, sizeof(PackedRow *)));
    registry->rows = rows;
    void *memory;
    TRY(memory_alloc(1, sizeof(PackedRow), &memory));
    PackedRow *row = memory;
    *row = (PackedRow){function, context, NULL, arity};
    Error *error = name_map_set(registry->functions, name, row);
    if (error) {
        memory_free(row);
        return error;
    }
    row->release = release;
    registry->rows[registry->row_count++] = row;
    return NULL;
}

bool packed_registry_find(const PackedRegistry *registry, const char *name,
    PackedFunction **out_function, int32_t *out_arity, void **out_context) {
    const PackedRow *row = name_map_find(registry->functions, name);
    if (!row) return false;
    *out_function = row->function;
    *out_arity = row->arity;
    *out_context = row->context;
    return true;
}

Error *packed_registry_add_opaque_kind(PackedRegistry *registry, const OpaqueKind *kind) {
    if (name_map_find(registry->kinds, kind->name))
        FAIL(CONFLICT, "there is a kind of opaque objects %s already", kind->name);
    if (name_map_count(registry->kinds) >= OPAQUE_KINDS_MAX)
        FAIL(EXHAUSTED, "more than %d kinds of opaque objects", OPAQUE_KINDS_MAX);
    return name_map_set(registry->kinds, kind->name, (void *)(uintptr_t)kind);
}

const OpaqueKind *packed_registry_find_opaque_kind(
    const PackedRegistry *registry, const char *name) {
    return name_map_find(registry->kinds, name);
}

Error *packed_object_create(PackedRegistry *registry, const char *name, PackedObject **out) {
    PackedFunction *function;
    int32_t arity;
    void *context;
    if (!packed_registry_find(registry, name, &function, &arity, &context))
        FAIL(NOT_FOUND, "there is no packed function %s", name);
    size_t size = strlen(name) + 1;
    void *memory;
    TRY(memory_alloc(1, sizeof(PackedObject) + size, &memory));
    PackedObject *packed = memory;
    refcount_init(&packed->refcount);
    packed->arity = arity;
    packed->function = function;
    packed->context = context;
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
