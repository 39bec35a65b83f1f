#include "vm/objects/shape_object.h"

#include "base/allocator.h"

Error *shape_object_create(const Shape *shape, ShapeObject **out) {
    int64_t count;
    TRY(shape_count(shape, &count));
    return shape_object_copy(shape, out);
}

Error *shape_object_copy(const Shape *valid, ShapeObject **out) {
    void *memory;
    TRY(memory_alloc(1, sizeof(ShapeObject), &memory));
    ShapeObject *object = memory;
    refcount_init(&object->refcount);
    object->shape = *valid;
    *out = object;
    return NULL;
}

void shape_object_release(ShapeObject *shape) {
    if (shape && refcount_release(&shape->refcount)) memory_free(shape);
}
