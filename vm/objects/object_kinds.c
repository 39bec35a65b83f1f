#include "vm/objects/object.h"

#include <inttypes.h>
#include <stddef.h>

#include "base/allocator.h"
#include "vm/objects/small_block.h"
#include "vm/objects/adt.h"
#include "vm/objects/closure.h"
#include "vm/objects/list.h"
#include "vm/objects/opaque.h"
#include "vm/objects/packed.h"
#include "vm/objects/shape_object.h"
#include "vm/objects/string_object.h"
#include "kernels/tensor/tensor.h"

static_assert(offsetof(Adt, count) == offsetof(ContainerHead, count) &&
                  offsetof(Adt, tag) == offsetof(ContainerHead, word) &&
                  offsetof(Adt, meter) == offsetof(ContainerHead, meter),
    "an ADT begins like a container");
static_assert(offsetof(List, count) == offsetof(ContainerHead, count) &&
                  offsetof(List, link) == offsetof(ContainerHead, word) &&
                  offsetof(List, meter) == offsetof(ContainerHead, meter),
    "a list begins like a container");
static_assert(offsetof(Closure, count) == offsetof(ContainerHead, count) &&
                  offsetof(Closure, function) == offsetof(ContainerHead, word) &&
                  offsetof(Closure, meter) == offsetof(ContainerHead, meter),
    "a closure begins like a container");

struct ObjectMeter {
    /* Bytes of live objects, and one for the owner: the thread that brings the count to 0 frees the
     * meter. */
    _Atomic uint64_t used_bytes;
    _Atomic uint64_t peak_bytes; /* the most that used_bytes has been */
    uint64_t limit_bytes;        /* with the owner's one */
};

Error *object_meter_create(uint64_t limit_bytes, ObjectMeter **out) {
    void *memory;
    TRY(memory_alloc(1, sizeof(ObjectMeter), &memory));
    ObjectMeter *meter = memory;
    atomic_init(&meter->used_bytes, 1);
    atomic_init(&meter->peak_bytes, 1);
    meter->limit_bytes = limit_bytes < UINT64_MAX ? limit_bytes + 1 : limit_bytes;
    *out = meter;
    return NULL;
}

void object_meter_release(ObjectMeter *meter) {
    if (meter) object_meter_refund(meter, 1);
}

Error *object_meter_charge(ObjectMeter *meter, uint64_t bytes) {
    if (!meter) return NULL;
    uint64_t before = atomic_fetch_add_explicit(&meter->used_bytes, bytes, memory_order_relaxed);
    if (before + bytes > meter->limit_bytes && before + bytes >= before) {
        object_meter_refund(meter, bytes);
        FAIL(EXHAUSTED,
            "frames, lists and other objects take %" PRIu64 " bytes of the limit of %" PRIu64,
            before + bytes - 1, meter->limit_bytes - 1);
    }
    /* one thread charges at a time, the execution's */
    if (before + bytes > atomic_load_explicit(&meter->peak_bytes, memory_order_relaxed))
        atomic_store_explicit(&meter->peak_bytes, before + bytes, memory_order_relaxed);
    return NULL;
}

void object_meter_refund(ObjectMeter *meter, uint64_t bytes) {
    if (!meter) return;
    if (atomic_fetch_sub_explicit(&meter->used_bytes, bytes, memory_order_acq_rel) == bytes)
        memory_free(meter);
}

uint64_t object_meter_used_bytes(const ObjectMeter *meter) {
    return atomic_load_explicit(&meter->used_bytes, memory_order_relaxed) - 1;
}

uint64_t object_meter_peak_bytes(const ObjectMeter *meter) {
    return atomic_load_explicit(&meter->peak_bytes, memory_order_relaxed) - 1;
}

const char *object_kind_name(uint32_t kind) {
    static const char *const names[OBJECT_KIND_COUNT] = {
#define OBJECT(NAME, number, Type, text) [OBJECT_##NAME] = text,
#include "vm/objects/objects.def"
#undef OBJECT
    };
    return kind < OBJECT_KIND_COUNT ? names[kind] : NULL;
}

const char *value_kind_name(const Value *value) {
    static const char *const names[] = {"nil", "bool", "int", "float", "dtype"};
    if (value->tag == VALUE_OBJECT) return object_kind_name(value->kind);
    return names[value->tag];
}

const Value *value_children(const Value *value, uint32_t *out_count) {
    *out_count = 0;
    if (value->tag != VALUE_OBJECT || !object_kind_is_container(value->kind)) return NULL;
    *out_count = ((const ContainerHead *)value->object)->count;
    if (value->kind == OBJECT_ADT) return value->adt->fields;
    if (value->kind == OBJECT_LIST) return value->list->items;
    return value->closure->bound;
}

/* Each function releases the caller's reference to an object of its kind. */
static void object_release_TENSOR(Value value) { tensor_release(value.tensor); }
static void object_release_STORAGE(Value value) { storage_release(value.storage); }
static void object_release_SHAPE(Value value) { shape_object_release(value.shape); }
static void object_release_STRING(Value value) { string_object_release(value.string); }
static void object_release_PACKED_FUNCTION(Value value) {
    packed_object_release(value.packed_function);
}
static void object_release_OPAQUE(Value value) { opaque_release(value.opaque); }

/* Containers without references, linked through their words. A pointer to one is aligned to 8, so
 * that its lowest three bits hold the kind. */
static_assert(OBJECT_ADT < 8 && OBJECT_LIST < 8 && OBJECT_CLOSURE < 8, "kinds fit three bits");

static void push_dead(uint64_t *inout_stack, Value dead) {
    ContainerHead *head = (ContainerHead *)dead.object;
    head->word = *inout_stack;
    *inout_stack = (uint64_t)(uintptr_t)head | dead.kind;
}

static Value pop_dead(uint64_t *inout_stack) {
    ContainerHead *head = (ContainerHead *)(uintptr_t)(*inout_stack & ~UINT64_C(7));
    Value dead = value_object((ObjectKind)(*inout_stack & 7), head);
    *inout_stack = head->word;
    return dead;
}

static void container_free(Value dead) {
    ContainerHead *head = (ContainerHead *)dead.object;
    size_t size = sizeof(Closure) + head->count * sizeof(Value);
    uint64_t charge = sizeof(Closure) + (uint64_t)head->count * OBJECT_PLACE_BYTES;
    if (dead.kind == OBJECT_LIST) {
        charge = sizeof(List) + (uint64_t)dead.list->capacity * OBJECT_PLACE_BYTES;
        size = sizeof(List);
        memory_free(dead.list->items);
    } else if (dead.kind == OBJECT_ADT) {
        size = sizeof(Adt) + head->count * sizeof(Value);
        charge = sizeof(Adt) + (uint64_t)head->count * OBJECT_PLACE_BYTES;
    }
    ObjectMeter *meter = head->meter;
    small_block_free(head, size);
    object_meter_refund(meter, charge);
}

/* Uses an explicit stack instead of recursion: a list nested 10^7 deep is released in constant C
 * stack and without allocations. */
static void container_release(Value container) {
    if (!refcount_release(container.object)) return;
    uint64_t stack = 0;
    push_dead(&stack, container);
    while (stack) {
        Value dead = pop_dead(&stack);
        uint32_t count;
        const Value *children = value_children(&dead, &count);
        for (uint32_t i = 0; i < count; i++) {
            if (children[i].tag != VALUE_OBJECT) continue;
            if (!object_kind_is_container(children[i].kind))
                value_release_object(children[i]);
            else if (refcount_release(children[i].object))
                push_dead(&stack, children[i]);
        }
        container_free(dead);
    }
}

static void object_release_ADT(Value value) { container_release(value); }
static void object_release_LIST(Value value) { container_release(value); }
static void object_release_CLOSURE(Value value) { container_release(value); }

void value_release_object(Value value) {
    static void (*const releases[OBJECT_KIND_COUNT])(Value) = {
#define OBJECT(NAME, number, Type, text) [OBJECT_##NAME] = object_release_##NAME,
#include "vm/objects/objects.def"
#undef OBJECT
    };
    releases[value.kind](value);
}
