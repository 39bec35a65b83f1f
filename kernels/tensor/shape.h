#pragma once
/* The dimensions of a tensor. Compact row-major is the only layout of tensors. Used everywhere.
 * Pure: no state. */
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/text.h"
#include "kernels/tensor/dtype.h"
#include "kernels/tensor/shape_rank.h"

typedef struct Shape {
    uint32_t rank;
    int64_t dims[SHAPE_RANK_MAX]; /* each >= 0; unused ones 0 */
} Shape;

Shape shape_make(uint32_t rank, const int64_t *dims);
bool shape_equal(const Shape *a, const Shape *b);
/* Number of elements. Errors: INVALID negative dimension, rank too high, product beyond 2^62. */
MUST_CHECK Error *shape_count(const Shape *shape, int64_t *out_count);
/* The same for shapes that were checked before (those of existing tensors). */
int64_t shape_count_unchecked(const Shape *shape);
/* Bytes of a compact tensor. Errors: INVALID as shape_count, string has no fixed size. */
MUST_CHECK Error *shape_bytes(const Shape *shape, DType dtype, uint64_t *out_bytes);
/* Product of dims[from .. to). */
int64_t shape_product(const Shape *shape, uint32_t from, uint32_t to);
/* Compact strides in elements. */
void shape_strides(const Shape *shape, int64_t out_strides[SHAPE_RANK_MAX]);
/* NumPy broadcasting of two shapes. Errors: INVALID naming both. */
MUST_CHECK Error *shape_broadcast(const Shape *a, const Shape *b, Shape *out);
/* Strides in elements of `shape` when it is read as `target` by broadcasting (0 along repeated
 * dimensions). */
void shape_broadcast_strides(
    const Shape *shape, const Shape *target, int64_t out_strides[SHAPE_RANK_MAX]);
/* -rank <= axis < rank → 0 <= axis < rank. Errors: INVALID. */
MUST_CHECK Error *shape_axis(int64_t axis, uint32_t rank, uint32_t *out_axis);
/* The length of `part` along the axis of a concatenation. first: the first part with elements, else
 * the first of all. A part without elements and without length along the axis is left out, whatever
 * its shape, as onnxruntime does. False: the part does not fit. */
bool shape_join_length(const Shape *first, const Shape *part, uint32_t axis, int64_t *out_length);
/* "[2, 3]" */
void shape_print(const Shape *shape, TextBuilder *out);
