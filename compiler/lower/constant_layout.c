#include "compiler/lower/constant_layout.h"

#include <string.h>

#include "base/allocator.h"
#include "base/digest.h"
#include "vm/objects/string_object.h"

/* Entries of both pools in one open hash table. The hashes only find entries; indices follow the
 * order of calls. */
typedef struct Entry {
    uint64_t hash; /* 0: empty */
    bool is_primitive;
    uint8_t slot;
    uint32_t index;
    Value value; /* borrowed from the builder */
    const OperatorInfo *operator_info;
    const Attributes *attributes;
} Entry;

struct ConstantLayout {
    ExecutableBuilder *builder;
    Entry *entries;
    size_t entry_count, entry_capacity; /* a power of two */
};

Error *constant_layout_create(ExecutableBuilder *builder, ConstantLayout **out) {
    void *block;
    TRY(memory_alloc(1, sizeof(ConstantLayout), &block));
    ConstantLayout *layout = block;
    layout->builder = builder;
    *out = layout;
    return NULL;
}

void constant_layout_release(ConstantLayout *layout) {
    if (!layout) return;
    memory_free(layout->entries);
    memory_free(layout);
}

static Error *table_grow(ConstantLayout *layout) {
    if (layout->entry_count * 2 < layout->entry_capacity) return NULL;
    size_t capacity = layout->entry_capacity ? layout->entry_capacity * 2 : 64;
    void *block;
    TRY(memory_alloc(capacity, sizeof(Entry), &block));
    Entry *entries = block;
    for (size_t i = 0; i < layout->entry_capacity; i++) {
        if (layout->entries[i].hash == 0) continue;
        size_t at = layout->entries[i].hash & (capacity - 1);
        while (entries[at].hash != 0) at = (at + 1) & (capacity - 1);
        entries[at] = layout->entries[i];
    }
    memory_free(layout->entries);
    layout->entries = entries;
    layout->entry_capacity = capacity;
    return NULL;
}

static uint64_t value_hash(const Value *value) {
    uint64_t hash;
    if (value_is(value, OBJECT_TENSOR))
        hash = digest_xxh3(tensor_data(value->tensor), (size_t)tensor_bytes(value->tensor));
    else if (value_is(value, OBJECT_STRING))
        hash = digest_xxh3(value->string->text, value->string->size);
    else
        hash = digest_xxh3(&value->integer, sizeof value->integer);
    return hash | 1;
}

static bool entry_equal(const Entry *a, const Entry *b) {
    if (a->hash != b->hash || a->is_primitive != b->is_primitive) return false;
    if (a->is_primitive)
        return a->operator_info == b->operator_info &&
               attributes_equal(a->attributes, b->attributes);
    return a->slot == b->slot && ir_constant_equal(&a->value, &b->value);
}

/* Returns the equal entry, or the empty place for a new one. */
static Entry *entry_find(ConstantLayout *layout, const Entry *wanted) {
    size_t at = wanted->hash & (layout->entry_capacity - 1);
    while (layout->entries[at].hash != 0 && !entry_equal(&layout->entries[at], wanted))
        at = (at + 1) & (layout->entry_capacity - 1);
    return &layout->entries[at];
}

/* Returns a reference to the tensor, or a copy in a storage of its own. */
static Error *tensor_own(Tensor *tensor, Tensor **out) {
    const Storage *storage = tensor->storage;
    if (storage->constant_index == STORAGE_NOT_CONSTANT && tensor->offset == 0 &&
        storage->size == tensor_bytes(tensor) && storage->device == device_host()) {
        *out = tensor_retain(tensor);
        return NULL;
    }
    return tensor_create_copy_on_host(device_host(), tensor, out);
}

Error *constant_layout_add(
    ConstantLayout *layout, const Value *value, uint8_t slot, uint32_t *out_index) {
    TRY(table_grow(layout));
    Entry wanted = {.hash = value_hash(value), .slot = slot, .value = *value};
    Entry *entry = entry_find(layout, &wanted);
    if (entry->hash == 0) {
        Value owned = *value;
        if (value_is(value, OBJECT_TENSOR))
            TRY(tensor_own(value->tensor, &owned.tensor));
        else
            owned = value_copy(*value);
        wanted.value = owned;
        TRY(executable_builder_add_constant(layout->builder, owned, slot, &wanted.index));
        *entry = wanted;
        layout->entry_count++;
    }
    *out_index = entry->index;
    return NULL;
}

Error *constant_layout_add_text(ConstantLayout *layout, const char *text, uint32_t *out_index) {
    OWN(StringObject, string) = NULL;
    TRY(string_object_create(NULL, text, strlen(text), &string));
    Value value = value_object(OBJECT_STRING, string);
    return constant_layout_add(layout, &value, 0, out_index);
}

Error *constant_layout_add_primitive(ConstantLayout *layout, const OperatorInfo *info,
    const Attributes *attributes, uint32_t *out_index) {
    TRY(table_grow(layout));
    uint64_t hash = attributes_hash(attributes) ^ (uint64_t)info->id * UINT64_C(0x9e3779b97f4a7c15);
    Entry wanted = {
        .hash = hash | 1, .is_primitive = true, .operator_info = info, .attributes = attributes};
    Entry *entry = entry_find(layout, &wanted);
    if (entry->hash == 0) {
        /* immutable except for its count */
        Attributes *counted = (Attributes *)(uintptr_t)attributes;
        TRY(executable_builder_add_primitive(
            layout->builder, info->name, info->version, counted, &wanted.index));
        *entry = wanted;
        layout->entry_count++;
    }
    *out_index = entry->index;
    return NULL;
}
