#pragma once
/* A shape as a value; immutable, dimensions are >= 0. Made by instructions, readers and the
 * assembler; any thread may read one. */
#include "kernels/tensor/shape.h"
#include "vm/objects/value.h"

typedef struct ShapeObject {
    Refcount refcount;
    Shape shape;
} ShapeObject;

/* Errors: INVALID negative dimension, rank beyond SHAPE_RANK_MAX, product beyond 2^62. */
MUST_CHECK Error *shape_object_create(const Shape *shape, ShapeObject **out);
/* The same of a shape that is valid already: a tensor's, or another object's. */
MUST_CHECK Error *shape_object_copy(const Shape *valid, ShapeObject **out);
void shape_object_release(ShapeObject *shape);
DEFINE_OWN(ShapeObject, shape_object_release);
