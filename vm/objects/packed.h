#pragma once
/* Packed functions: host functions that bytecode calls by name with Call. A packed function returns
 * a value, never calls back into the interpreter, and does all its allocation before its first
 * effect. Registries are filled by tools/library/ (the C library) and by tests, and read by
 * executions on their threads. */
#include "kernels/device/memory_pool.h"
#include "kernels/tensor/tensor.h"
#include "vm/objects/opaque.h"
#include "vm/objects/packed_signature.h"
#include "vm/objects/value.h"

struct Execution;

/* The context that a packed function runs in. */
typedef struct PackedCall {
    struct Execution *execution; /* NULL in tests without an execution */
    struct ObjectMeter *meter;   /* charged for lists and ADTs that the function makes; may be
                                  * NULL */
    struct PackedRegistry *registry;
    MemoryPool *pools[2]; /* by slot */
    MemoryAnswer
        memory; /* set kind MEMORY_NEEDED and return NULL to be called again when there is memory */
    uint8_t memory_slot;
    /* Set to make the execution call another function instead of using a returned value (a tail
     * call): a function of the executable by its index, or a packed function, which is owned. The
     * arguments are owned, too. */
    uint32_t tail_function;           /* UINT32_MAX: none */
    struct PackedObject *tail_packed; /* NULL: none */
    Value *tail_arguments;
    uint32_t tail_argument_count;
    /* Set by a function that writes into no argument, or marks the tensors that it writes. After
     * other functions every tensor argument in a mutable storage counts as written. */
    bool marks_written;
    /* Called for a tensor that was written while others of its storage are not, which may share its
     * bytes. NULL without an execution. */
    void (*share_written)(struct Execution *execution, const Tensor *written);
    /* Nothing reads the first argument's register after the call: a function that gives the
     * argument itself, changed, may change it where it has no other holder. */
    bool first_is_last_use;
} PackedCall;

/* Marks a tensor that the function has written. */
static inline void packed_mark_written(const PackedCall *call, Tensor *tensor) {
    tensor_set_written(tensor);
    if (tensor->storage->unwritten > 0 && call->share_written)
        call->share_written(call->execution, tensor);
}

/* Arguments are borrowed; *out_result receives a reference. */
typedef Error *PackedFunction(
    PackedCall *call, const Value *arguments, uint32_t count, void *context, Value *out_result);

/* What a call of a packed function needs to know. */
typedef struct PackedTarget {
    PackedFunction *function;
    void *context;
    /* Checked before a call; the function then marks the tensors that it writes. NULL: the function
     * checks its arguments itself. */
    const char *signature;
    int32_t arity; /* -1: any */
} PackedTarget;

/* Calls a packed function. name: for messages. Errors: INVALID the arguments do not fit; those of
 * the function. */
static inline Error *packed_target_call(const PackedTarget *target, const char *name,
    PackedCall *call, const Value *arguments, uint32_t count, Value *out_result) {
    if (target->arity >= 0 && (uint32_t)target->arity != count)
        FAIL(INVALID, "%s takes %d arguments, not %u", name, target->arity, count);
    call->marks_written = target->signature != NULL;
    if (target->signature)
        TRY_WRAP(packed_signature_check(target->signature, arguments, count), "%s", name);
    TRY_WRAP(target->function(call, arguments, count, target->context, out_result), "%s", name);
    return NULL;
}

typedef struct PackedRegistry PackedRegistry;
/* Makes a registry. Every one has the builtins of packed_functions.def and of relax_builtins.def,
 * which are constant tables. */
MUST_CHECK Error *packed_registry_create(PackedRegistry **out);
PackedRegistry *packed_registry_retain(PackedRegistry *registry);
void packed_registry_release(PackedRegistry *registry);
DEFINE_OWN(PackedRegistry, packed_registry_release);
/* Adds a function. arity -1: any. release(context) is called when the registry is destroyed.
 * Errors: CONFLICT the name is taken. */
MUST_CHECK Error *packed_registry_add(PackedRegistry *registry, const char *name, int32_t arity,
    PackedFunction *function, void *context, void (*release)(void *context));
/* NULL when the registry has no function of that name. Lives as long as the registry. */
const PackedTarget *packed_registry_find(const PackedRegistry *registry, const char *name);

/* Adds a kind of opaque objects that the host's packed functions make; reading checkpoints with
 * such objects needs the kind. The shape heap is built in. Errors: CONFLICT the name is taken. */
MUST_CHECK Error *packed_registry_add_opaque_kind(PackedRegistry *registry, const OpaqueKind *kind);
/* NULL when the registry has no kind of that name. */
const OpaqueKind *packed_registry_find_opaque_kind(
    const PackedRegistry *registry, const char *name);

/* A packed function as a value: stored by name, found again in the registry. */
typedef struct PackedObject {
    Refcount refcount;
    PackedTarget target;
    PackedRegistry *registry; /* retained: keeps the target alive */
    char name[];
} PackedObject;

/* Errors: NOT_FOUND. */
MUST_CHECK Error *packed_object_create(
    PackedRegistry *registry, const char *name, PackedObject **out);
void packed_object_release(PackedObject *packed);
DEFINE_OWN(PackedObject, packed_object_release);
