#pragma once
/* Packed functions: host functions that bytecode calls by name with Call. They return a value,
 * never call back into the interpreter, and do all their allocation before their first effect. */
#include "kernels/device/memory_pool.h"
#include "vm/objects/opaque.h"
#include "vm/objects/value.h"

struct Execution;

/* What a packed function may use while it runs. */
typedef struct PackedCall {
    struct Execution *execution; /* NULL outside one (tests) */
    struct ObjectMeter *meter;   /* of the lists and ADTs that the function makes; may be NULL */
    struct PackedRegistry *registry;
    MemoryPool *pools[2]; /* by slot */
    MemoryAnswer
        memory; /* set kind MEMORY_NEEDED and return NULL to be called again when there is memory */
    uint8_t memory_slot;
    /* Set to run a VM function instead of returning a value (RunResult of a tail call): index and
     * owned arguments. */
    uint32_t tail_function; /* UINT32_MAX: none */
    Value *tail_arguments;
    uint32_t tail_argument_count;
} PackedCall;

/* Arguments are borrowed; *out_result receives a reference. */
typedef Error *PackedFunction(
    PackedCall *call, const Value *arguments, uint32_t count, void *context, Value *out_result);

typedef struct PackedRegistry PackedRegistry;
MUST_CHECK Error *packed_registry_create(
    PackedRegistry **out); /* holds the builtins of packed_functions.def */
PackedRegistry *packed_registry_retain(PackedRegistry *registry);
void packed_registry_release(PackedRegistry *registry);
DEFINE_OWN(PackedRegistry, packed_registry_release);
/* arity -1: any. release(context) is called when the registry goes. Errors: CONFLICT the name is
 * taken. */
MUST_CHECK Error *packed_registry_add(PackedRegistry *registry, const char *name, int32_t arity,
    PackedFunction *function, void *context, void (*release)(void *context));
/* false when there is none of that name. */
bool packed_registry_find(const PackedRegistry *registry, const char *name,
    PackedFunction **out_function, int32_t *out_arity, void **out_context);

/* Kinds of opaque objects that the host's packed functions make; needed to read checkpoints that
 * hold them. The shape heap is built in. Errors: CONFLICT the name is taken. */
MUST_CHECK Error *packed_registry_add_opaque_kind(PackedRegistry *registry, const OpaqueKind *kind);
/* NULL when there is none of that name. */
const OpaqueKind *packed_registry_find_opaque_kind(
    const PackedRegistry *registry, const char *name);

/* A packed function as a value: stored by name, found again in the registry. */
typedef struct PackedObject {
    Refcount refcount;
    int32_t arity;
    PackedFunction *function;
    void *context;
    PackedRegistry *registry; /* retained: keeps function and context alive */
    char name[];
} PackedObject;

/* Errors: NOT_FOUND. */
MUST_CHECK Error *packed_object_create(
    PackedRegistry *registry, const char *name, PackedObject **out);
void packed_object_release(PackedObject *packed);
DEFINE_OWN(PackedObject, packed_object_release);
