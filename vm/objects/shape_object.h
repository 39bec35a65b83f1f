#pragma once
/* A shape as a value: immutable numbers, those of a tensor's shape or, as in Relax, any. Made by
 * instructions, readers and the assembler; any thread may read one. */
#include "kernels/tensor/shape.h"
#include "vm/objects/value.h"

enum { SHAPE_OBJECT_COUNT_MAX = 255 }; /* stored in a byte */

typedef struct ShapeObject {
    Refcount refcount;
    uint32_t count;
    int64_t dims[];
} ShapeObject;

/* Errors: INVALID negative dimension, rank beyond SHAPE_RANK_MAX, product beyond 2^62. */
MUST_CHECK Error *shape_object_create(const Shape *shape, ShapeObject **out);
/* The same of any numbers. Errors: INVALID more than SHAPE_OBJECT_COUNT_MAX. */
MUST_CHECK Error *shape_object_create_of(const int64_t *dims, uint64_t count, ShapeObject **out);
void shape_object_release(ShapeObject *shape);
DEFINE_OWN(ShapeObject, shape_object_release);
/* The shape of a tensor that has these dimensions. Errors: INVALID no tensor can have them. */
MUST_CHECK Error *shape_object_get(const ShapeObject *object, Shape *out);
bool shape_object_equal(const ShapeObject *a, const ShapeObject *b);
/* Appends "[2, -3]". */
void shape_object_print(const ShapeObject *object, TextBuilder *out);
