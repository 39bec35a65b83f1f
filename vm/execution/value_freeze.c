#include "vm/execution/value_freeze.h"

#include <inttypes.h>

#include "base/allocator.h"
#include "vm/objects/adt.h"
#include "vm/objects/closure.h"
#include "vm/execution/execution_state.h"
#include "vm/objects/list.h"

enum { SLOTS_MIN = 64 };

typedef struct Known {
    const void *from; /* NULL: free */
    Value to;         /* owned */
} Known;

typedef struct Pending { /* a container whose children are being frozen */
    Value container;     /* borrowed */
    uint32_t next;       /* child to look at */
} Pending;

struct ValueFreezer {
    Execution *execution;
    FreezePurpose purpose;
    Known *known; /* open addressing, a power of two */
    size_t known_count, known_capacity;
    Pending *stack;
    size_t stack_count, stack_capacity;
    uint8_t needed_slot;
    uint64_t needed_bytes;
};

Error *value_freezer_create(Execution *execution, FreezePurpose purpose, ValueFreezer **out) {
    void *memory;
    TRY(memory_alloc(1, sizeof(ValueFreezer), &memory));
    OWN(ValueFreezer, freezer) = memory;
    freezer->execution = execution;
    freezer->purpose = purpose;
    TRY(memory_alloc(SLOTS_MIN, sizeof(Known), &memory));
    freezer->known = memory;
    freezer->known_capacity = SLOTS_MIN;
    *out = TAKE(freezer);
    return NULL;
}

void value_freezer_release(ValueFreezer *freezer) {
    if (!freezer) return;
    for (size_t i = 0; i < freezer->known_capacity; i++)
        if (freezer->known[i].from) value_release(&freezer->known[i].to);
    memory_free(freezer->known);
    memory_free(freezer->stack);
    memory_free(freezer);
}

bool value_freezer_needs(const ValueFreezer *freezer, uint8_t *out_slot, uint64_t *out_bytes) {
    *out_slot = freezer->needed_slot;
    *out_bytes = freezer->needed_bytes;
    return freezer->needed_bytes > 0;
}

static Known *find_place(Known *known, size_t capacity, const void *from) {
    size_t at = (size_t)((uint64_t)(uintptr_t)from * UINT64_C(0x9e3779b97f4a7c15) >> 32);
    for (at &= capacity - 1; known[at].from && known[at].from != from;
         at = (at + 1) & (capacity - 1)) {
    }
    return &known[at];
}

static const Value *find_known(const ValueFreezer *freezer, const void *from) {
    const Known *place = find_place(freezer->known, freezer->known_capacity, from);
    return place->from ? &place->to : NULL;
}

/* Consumes the value, even on failure. */
static Error *remember(ValueFreezer *freezer, const void *from, Value owned_to) {
    if (freezer->known_count * 2 >= freezer->known_capacity) {
        void *memory;
        size_t capacity = freezer->known_capacity * 2;
        Error *error = memory_alloc(capacity, sizeof(Known), &memory);
        if (error) {
            value_release(&owned_to);
            return error;
        }
        for (size_t i = 0; i < freezer->known_capacity; i++)
            if (freezer->known[i].from)
                *find_place(memory, capacity, freezer->known[i].from) = freezer->known[i];
        memory_free(freezer->known);
        freezer->known = memory;
        freezer->known_capacity = capacity;
    }
    *find_place(freezer->known, freezer->known_capacity, from) = (Known){from, owned_to};
    freezer->known_count++;
    return NULL;
}

static Error *alloc_storage(
    ValueFreezer *freezer, const Storage *from, MemoryAnswer *out_answer, Storage **out) {
    MemoryPool *const *pools = freezer->execution->pools;
    TRY(storage_create(pools[from->slot], from->slot, from->size, out_answer, out));
    if (out_answer->kind == MEMORY_GRANTED || freezer->purpose != FREEZE_SNAPSHOT) return NULL;
    return storage_create(pools[SLOT_HOST], from->slot, from->size, out_answer, out);
}

/* Makes a storage for the copies of a storage's tensors; the bytes come with each of them. */
static Error *freeze_storage(ValueFreezer *freezer, Storage *from, Storage **out) {
    const Value *known = find_known(freezer, from);
    if (known) {
        *out = known->storage;
        return NULL;
    }
    if (from->slot >= SLOT_COUNT) FAIL(INVALID, "a storage in slot %u", from->slot);
    MemoryAnswer answer;
    Storage *storage = NULL;
    TRY(alloc_storage(freezer, from, &answer, &storage));
    if (answer.kind != MEMORY_GRANTED) {
        freezer->needed_slot = from->slot;
        freezer->needed_bytes = answer.bytes;
        FAIL(EXHAUSTED, "%" PRIu64 " bytes are not free in slot %u", answer.bytes, from->slot);
    }
    storage->opaque = from->opaque;
    storage->sealed = from->sealed;
    if (from->opaque) freezer->execution->has_mutable = true;
    TRY(remember(freezer, from, value_object(OBJECT_STORAGE, storage)));
    *out = storage;
    return NULL;
}

/* The residency's constant under this tensor's view, or NULL if there is none in that slot. */
static Error *view_constant(const ValueFreezer *freezer, const Tensor *tensor, Tensor **out) {
    const Residency *residency = freezer->execution->residency;
    const Storage *storage = tensor->storage;
    if (storage->constant_index >= residency->executable->constant_count) return NULL;
    const Tensor *constant = residency->constants[storage->slot][storage->constant_index];
    if (!constant) return NULL;
    return tensor_create(constant->storage, tensor->offset, tensor->dtype, &tensor->shape, out);
}

static Error *copy_tensor(ValueFreezer *freezer, Tensor *tensor, Tensor **out) {
    Storage *storage;
    TRY(freeze_storage(freezer, tensor->storage, &storage));
    OWN(Tensor, copy) = NULL;
    TRY(tensor_create(storage, tensor->offset, tensor->dtype, &tensor->shape, &copy));
    if (!tensor->written) tensor_set_unwritten(copy);
    uint64_t bytes = tensor_bytes(tensor);
    if (tensor->written && bytes > 0)
        TRY(device_transfer(tensor_place(copy), tensor_place(tensor), bytes));
    *out = TAKE(copy);
    return NULL;
}

static Error *freeze_tensor(ValueFreezer *freezer, Tensor *tensor, Value *out) {
    const Storage *storage = tensor->storage;
    if (storage->slot >= SLOT_COUNT) FAIL(INVALID, "a tensor in slot %u", storage->slot);
    bool foreign =
        freezer->purpose == FREEZE_RESTORE && !execution_owns_memory(freezer->execution, tensor);
    if (!storage->opaque && !foreign) {
        *out = value_copy(value_object(OBJECT_TENSOR, tensor));
        return NULL;
    }
    const Value *known = find_known(freezer, tensor);
    if (known) {
        *out = value_copy(*known);
        return NULL;
    }
    Tensor *copy = NULL;
    if (foreign) TRY(view_constant(freezer, tensor, &copy));
    if (!copy) TRY(copy_tensor(freezer, tensor, &copy));
    *out = value_object(OBJECT_TENSOR, tensor_retain(copy));
    return remember(freezer, tensor, value_object(OBJECT_TENSOR, copy));
}

/* The tensors that a copied state shares with its original are frozen as others are. */
static Error *freeze_held(ValueFreezer *freezer, const Opaque *copy) {
    uint32_t count;
    Value *values = opaque_values(copy, &count);
    for (uint32_t i = 0; i < count; i++) {
        Value frozen;
        if (!value_is(&values[i], OBJECT_TENSOR)) continue;
        TRY(freeze_tensor(freezer, values[i].tensor, &frozen));
        value_release(&values[i]);
        values[i] = frozen;
    }
    return NULL;
}

static Error *freeze_opaque(ValueFreezer *freezer, Opaque *opaque, Value *out) {
    const Value *known = find_known(freezer, opaque);
    if (!known) {
        Opaque *copy;
        TRY(opaque_copy(opaque, &copy));
        TRY(remember(freezer, opaque, value_object(OBJECT_OPAQUE, copy)));
        TRY(freeze_held(freezer, copy));
        known = find_known(freezer, opaque);
    }
    freezer->execution->has_mutable = true;
    *out = value_copy(*known);
    return NULL;
}

/* Freezes any value except a container that is not known yet. */
static Error *freeze_one(ValueFreezer *freezer, const Value *value, Value *out) {
    if (value_is(value, OBJECT_TENSOR)) return freeze_tensor(freezer, value->tensor, out);
    if (value_is(value, OBJECT_OPAQUE)) return freeze_opaque(freezer, value->opaque, out);
    if (value_is(value, OBJECT_STORAGE)) {
        Storage *storage;
        TRY(freeze_storage(freezer, value->storage, &storage));
        *out = value_object(OBJECT_STORAGE, storage_retain(storage));
        return NULL;
    }
    const Value *known = value->tag == VALUE_OBJECT && object_kind_is_container(value->kind)
                             ? find_known(freezer, value->object)
                             : NULL;
    *out = value_copy(known ? *known : *value);
    return NULL;
}

/* Makes a container like the given one, its values nil. */
static Error *like(const ValueFreezer *freezer, const Value *value, Value *out, Value **out_items) {
    ObjectMeter *meter = freezer->execution->meter;
    uint32_t count;
    (void)value_children(value, &count);
    if (value->kind == OBJECT_ADT) {
        Adt *adt;
        TRY(adt_create(meter, value->adt->tag, count, &adt));
        *out = value_object(OBJECT_ADT, adt);
        *out_items = adt->fields;
    } else if (value->kind == OBJECT_LIST) {
        List *list;
        TRY(list_create(meter, count, &list));
        for (uint32_t i = 0; i < count; i++) list->items[i] = value_nil();
        list->count = count;
        *out = value_object(OBJECT_LIST, list);
        *out_items = list->items;
    } else {
        const Closure *from = value->closure;
        Closure *closure;
        TRY(closure_create(meter, from->function, (ClosureSide)from->side, count, &closure));
        *out = value_object(OBJECT_CLOSURE, closure);
        *out_items = closure->bound;
    }
    return NULL;
}

/* Finishes a container after all containers inside it. Unchanged ones are referenced. */
static Error *finish_container(ValueFreezer *freezer, const Value *container) {
    uint32_t count;
    const Value *children = value_children(container, &count);
    Value copy;
    Value *items;
    TRY(like(freezer, container, &copy, &items));
    bool changed = false;
    for (uint32_t i = 0; i < count; i++) {
        Error *error = freeze_one(freezer, &children[i], &items[i]);
        if (error) {
            value_release(&copy);
            return error;
        }
        changed =
            changed || (children[i].tag == VALUE_OBJECT && items[i].object != children[i].object);
    }
    if (changed) return remember(freezer, container->object, copy);
    value_release(&copy);
    return remember(freezer, container->object, value_copy(*container));
}

static Error *push(ValueFreezer *freezer, Value container) {
    void *stack = freezer->stack;
    TRY(memory_grow(&stack, freezer->stack_count, &freezer->stack_capacity, sizeof(Pending)));
    freezer->stack = stack;
    freezer->stack[freezer->stack_count++] = (Pending){container, 0};
    return NULL;
}

static bool is_new_container(const ValueFreezer *freezer, const Value *value) {
    return value->tag == VALUE_OBJECT && object_kind_is_container(value->kind) &&
           !find_known(freezer, value->object);
}

/* Children before parents, with a stack of our own: values nest as deep as memory allows. */
static Error *freeze_containers(ValueFreezer *freezer) {
    while (freezer->stack_count > 0) {
        Pending *top = &freezer->stack[freezer->stack_count - 1];
        uint32_t count;
        const Value *children = value_children(&top->container, &count);
        while (top->next < count && !is_new_container(freezer, &children[top->next])) top->next++;
        if (top->next < count) {
            TRY(push(freezer, children[top->next]));
            continue;
        }
        Value container = top->container;
        freezer->stack_count--;
        if (!find_known(freezer, container.object)) TRY(finish_container(freezer, &container));
    }
    return NULL;
}

Error *value_freezer_add(ValueFreezer *freezer, const Value *value, Value *out) {
    if (is_new_container(freezer, value)) {
        freezer->stack_count = 0;
        TRY(push(freezer, *value));
        TRY(freeze_containers(freezer));
    }
    return freeze_one(freezer, value, out);
}
