#include "vm/objects/shape_object.h"

#include <inttypes.h>
#include <string.h>

#include "vm/objects/small_block.h"

static size_t object_size(uint32_t count) { return sizeof(ShapeObject) + count * sizeof(int64_t); }

Error *shape_object_create(const Shape *shape, ShapeObject **out) {
    int64_t count;
    TRY(shape_count(shape, &count));
    return shape_object_create_of(shape->dims, shape->rank, out);
}

Error *shape_object_create_of(const int64_t *dims, uint64_t count, ShapeObject **out) {
    void *memory;
    if (count > SHAPE_OBJECT_COUNT_MAX)
        FAIL(INVALID, "a shape of %" PRIu64 " dimensions; there may be %d", count,
            SHAPE_OBJECT_COUNT_MAX);
    TRY(small_block_take(object_size((uint32_t)count), &memory));
    ShapeObject *object = memory;
    refcount_init(&object->refcount);
    object->count = (uint32_t)count;
    for (uint32_t i = 0; i < count; i++) object->dims[i] = dims[i];
    *out = object;
    return NULL;
}

void shape_object_release(ShapeObject *shape) {
    if (shape && refcount_release(&shape->refcount))
        small_block_free(shape, object_size(shape->count));
}

Error *shape_object_get(const ShapeObject *object, Shape *out) {
    int64_t count;
    if (object->count > SHAPE_RANK_MAX)
        FAIL(INVALID, "a tensor of %u dimensions; there may be %d", object->count, SHAPE_RANK_MAX);
    const Shape shape = shape_make(object->count, object->dims);
    TRY(shape_count(&shape, &count));
    *out = shape;
    return NULL;
}

bool shape_object_equal(const ShapeObject *a, const ShapeObject *b) {
    if (a->count != b->count) return false;
    return a->count == 0 || memcmp(a->dims, b->dims, a->count * sizeof(int64_t)) == 0;
}

void shape_object_print(const ShapeObject *object, TextBuilder *out) {
    text_append(out, "[");
    for (uint32_t i = 0; i < object->count; i++)
        text_appendf(out, "%s%" PRId64, i ? ", " : "", object->dims[i]);
    text_append(out, "]");
}
