#include "serialize/container/object_table.h"

#include "base/allocator.h"
#include "kernels/tensor/tensor.h"
#include "vm/objects/object.h"
#include "vm/objects/opaque.h"

typedef struct Slot {
    const void *object; /* NULL: free */
    uint32_t index;     /* INDEX_PENDING until all children are added */
} Slot;

#define INDEX_PENDING UINT32_MAX

/* An object on the path, and its next child. */
typedef struct Visit {
    Value value;
    uint32_t next_child;
} Visit;

struct ObjectTable {
    Value *objects;
    size_t count, capacity;
    Slot *slots; /* open addressing, at most half full */
    size_t slot_count, slots_used;
    Visit *visits;
    size_t visit_count, visit_capacity;
};

enum { SLOT_COUNT_MIN = 64 };

Error *object_table_create(ObjectTable **out) {
    void *memory;
    TRY(memory_alloc(1, sizeof(ObjectTable), &memory));
    OWN(ObjectTable, table) = memory;
    TRY(memory_alloc(SLOT_COUNT_MIN, sizeof(Slot), &memory));
    table->slots = memory;
    table->slot_count = SLOT_COUNT_MIN;
    *out = TAKE(table);
    return NULL;
}

void object_table_release(ObjectTable *table) {
    if (!table) return;
    memory_free(table->objects);
    memory_free(table->slots);
    memory_free(table->visits);
    memory_free(table);
}

static Slot *slot_of(const ObjectTable *table, const void *object) {
    uint64_t hash = (uint64_t)(uintptr_t)object * UINT64_C(0x9e3779b97f4a7c15);
    for (size_t i = hash >> 20 & (table->slot_count - 1);; i = (i + 1) & (table->slot_count - 1))
        if (!table->slots[i].object || table->slots[i].object == object) return &table->slots[i];
}

static Error *enlarge(ObjectTable *table) {
    Slot *old = table->slots;
    size_t old_count = table->slot_count;
    void *memory;
    TRY(memory_alloc(old_count * 2, sizeof(Slot), &memory));
    table->slots = memory;
    table->slot_count = old_count * 2;
    for (size_t i = 0; i < old_count; i++)
        if (old[i].object) *slot_of(table, old[i].object) = old[i];
    memory_free(old);
    return NULL;
}

/* The storage is a tensor's only child. Constants' storages are written by index instead. */
static const Value *children_of(const Value *value, Value *storage, uint32_t *out_count) {
    if (value_is(value, OBJECT_OPAQUE)) return opaque_values(value->opaque, out_count);
    if (!value_is(value, OBJECT_TENSOR)) return value_children(value, out_count);
    Storage *of = value->tensor->storage;
    *out_count = of->constant_index == STORAGE_NOT_CONSTANT ? 1 : 0;
    *storage = value_object(OBJECT_STORAGE, of);
    return storage;
}

static Error *begin_visit(ObjectTable *table, Value value) {
    if ((table->slots_used + 1) * 2 > table->slot_count) TRY(enlarge(table));
    Slot *slot = slot_of(table, value.object);
    if (slot->object) return NULL;
    void *array = table->visits;
    TRY(memory_grow(&array, table->visit_count, &table->visit_capacity, sizeof(Visit)));
    table->visits = array;
    table->visits[table->visit_count++] = (Visit){value, 0};
    *slot = (Slot){value.object, INDEX_PENDING};
    table->slots_used++;
    return NULL;
}

static Error *end_visit(ObjectTable *table) {
    Value value = table->visits[--table->visit_count].value;
    if (table->count >= OBJECT_TABLE_COUNT_MAX)
        FAIL(EXHAUSTED, "more than %d objects", OBJECT_TABLE_COUNT_MAX);
    void *array = table->objects;
    TRY(memory_grow(&array, table->count, &table->capacity, sizeof(Value)));
    table->objects = array;
    slot_of(table, value.object)->index = (uint32_t)table->count;
    table->objects[table->count++] = value;
    return NULL;
}

Error *object_table_add(ObjectTable *table, Value value) {
    if (value.tag != VALUE_OBJECT) return NULL;
    TRY(begin_visit(table, value));
    while (table->visit_count > 0) {
        Visit *visit = &table->visits[table->visit_count - 1];
        Value storage;
        uint32_t count;
        const Value *children = children_of(&visit->value, &storage, &count);
        if (visit->next_child == count) {
            TRY(end_visit(table));
            continue;
        }
        Value child = children[visit->next_child++];
        if (child.tag == VALUE_OBJECT) TRY(begin_visit(table, child));
    }
    return NULL;
}

uint32_t object_table_count(const ObjectTable *table) { return (uint32_t)table->count; }

Value object_table_get(const ObjectTable *table, uint32_t index) { return table->objects[index]; }

uint32_t object_table_find(const ObjectTable *table, const void *object) {
    const Slot *slot = slot_of(table, object);
    return slot->object ? slot->index : UINT32_MAX;
}
