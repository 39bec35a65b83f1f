#include "serialize/checkpoint/checkpoint_extents.h"

#include <stdlib.h>

#include "base/allocator.h"

static int compare(const void *a, const void *b) {
    const LiveExtent *x = a, *y = b;
    if (x->storage != y->storage) return x->storage < y->storage ? -1 : 1;
    if (x->offset != y->offset) return x->offset < y->offset ? -1 : 1;
    return x->size > y->size ? -1 : x->size < y->size;
}

/* Merges sorted extents that touch or overlap; answers how many are left. */
static uint32_t merge(LiveExtent *extents, uint32_t count) {
    uint32_t kept = 0;
    for (uint32_t i = 0; i < count; i++) {
        LiveExtent *last = kept ? &extents[kept - 1] : NULL;
        bool joins = last && last->storage == extents[i].storage &&
                     extents[i].offset <= last->offset + last->size;
        if (!joins) {
            extents[kept++] = extents[i];
            continue;
        }
        uint64_t end = extents[i].offset + extents[i].size;
        if (end > last->offset + last->size) last->size = end - last->offset;
    }
    return kept;
}

Error *checkpoint_extents_collect(
    const ObjectTable *table, LiveExtent **out_extents, uint32_t *out_count) {
    uint32_t count = 0, object_count = object_table_count(table);
    void *memory;
    TRY(memory_alloc(object_count, sizeof(LiveExtent), &memory));
    LiveExtent *extents = memory;
    for (uint32_t i = 0; i < object_count; i++) {
        Value value = object_table_get(table, i);
        if (!value_is(&value, OBJECT_TENSOR)) continue;
        const Tensor *tensor = value.tensor;
        uint64_t size = tensor_bytes(tensor);
        bool own = tensor->storage->constant_index == STORAGE_NOT_CONSTANT;
        if (own && tensor->written && size > 0)
            extents[count++] = (LiveExtent){
                object_table_find(table, tensor->storage), tensor->dtype, tensor->offset, size};
    }
    qsort(extents, count, sizeof *extents, compare);
    *out_count = merge(extents, count);
    *out_extents = extents;
    return NULL;
}
