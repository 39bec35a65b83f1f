#include "kernels/tensor/shape.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "base/checked.h"

static const int64_t COUNT_MAX = (int64_t)1 << 62;

Shape shape_make(uint32_t rank, const int64_t *dims) {
    assert(rank <= SHAPE_RANK_MAX);
    Shape shape = {.rank = rank};
    for (uint32_t i = 0; i < rank; i++) shape.dims[i] = dims[i];
    return shape;
}

bool shape_equal(const Shape *a, const Shape *b) {
    return a->rank == b->rank && memcmp(a->dims, b->dims, a->rank * sizeof a->dims[0]) == 0;
}

Error *shape_count(const Shape *shape, int64_t *out_count) {
    if (shape->rank > SHAPE_RANK_MAX)
        FAIL(INVALID, "rank %u is beyond %d", shape->rank, SHAPE_RANK_MAX);
    int64_t count = 1;
    bool empty = false;
    for (uint32_t i = 0; i < shape->rank; i++) {
        int64_t dim = shape->dims[i];
        if (dim < 0) FAIL(INVALID, "dimension %u is %" PRId64, i, dim);
        /* [2^40, 2^40, 0] is refused too: strides of the outer dimensions must not overflow */
        if (dim == 0) {
            empty = true;
            continue;
        }
        if (!checked_mul_i64(count, dim, &count) || count > COUNT_MAX)
            FAIL(INVALID, "a shape of more than 2^62 elements");
    }
    *out_count = empty ? 0 : count;
    return NULL;
}

int64_t shape_count_unchecked(const Shape *shape) { return shape_product(shape, 0, shape->rank); }

Error *shape_bytes(const Shape *shape, DType dtype, uint64_t *out_bytes) {
    uint32_t bits = dtype_bits(dtype);
    if (bits == 0) FAIL(INVALID, "element type %s has no fixed size", dtype_name(dtype));
    int64_t count;
    TRY(shape_count(shape, &count));
    uint64_t total;
    if (!checked_mul_u64((uint64_t)count, bits, &total))
        FAIL(INVALID, "a tensor of %" PRId64 " %s is too large", count, dtype_name(dtype));
    *out_bytes = total / 8 + (total % 8 != 0);
    return NULL;
}

int64_t shape_product(const Shape *shape, uint32_t from, uint32_t to) {
    int64_t product = 1;
    for (uint32_t i = from; i < to; i++) product *= shape->dims[i];
    return product;
}

void shape_strides(const Shape *shape, int64_t out_strides[SHAPE_RANK_MAX]) {
    int64_t stride = 1;
    for (uint32_t i = shape->rank; i-- > 0;) {
        out_strides[i] = stride;
        stride *= shape->dims[i];
    }
}

static Error *broadcast_error(const Shape *a, const Shape *b) {
    TextBuilder OWN_TEXT(text) = {0};
    shape_print(a, &text);
    text_append(&text, " and ");
    shape_print(b, &text);
    FAIL(INVALID, "shapes %s do not broadcast", text_builder_get(&text));
}

Error *shape_broadcast(const Shape *a, const Shape *b, Shape *out) {
    const Shape *longer = a->rank >= b->rank ? a : b;
    const Shape *shorter = a->rank >= b->rank ? b : a;
    uint32_t lead = longer->rank - shorter->rank;
    Shape result = *longer;
    for (uint32_t i = 0; i < shorter->rank; i++) {
        int64_t x = longer->dims[lead + i], y = shorter->dims[i];
        if (x != y && x != 1 && y != 1) return broadcast_error(a, b);
        result.dims[lead + i] = x == 1 ? y : x;
    }
    *out = result;
    return NULL;
}

void shape_broadcast_strides(
    const Shape *shape, const Shape *target, int64_t out_strides[SHAPE_RANK_MAX]) {
    assert(target->rank >= shape->rank);
    uint32_t lead = target->rank - shape->rank;
    int64_t compact[SHAPE_RANK_MAX];
    shape_strides(shape, compact);
    for (uint32_t i = 0; i < target->rank; i++)
        out_strides[i] = i < lead || shape->dims[i - lead] == 1 ? 0 : compact[i - lead];
}

Error *shape_axis(int64_t axis, uint32_t rank, uint32_t *out_axis) {
    if (axis < -(int64_t)rank || axis >= (int64_t)rank)
        FAIL(INVALID, "axis %" PRId64 " of rank %u", axis, rank);
    *out_axis = (uint32_t)(axis < 0 ? axis + (int64_t)rank : axis);
    return NULL;
}

bool shape_join_length(const Shape *first, const Shape *part, uint32_t axis, int64_t *out_length) {
    bool fits = part->rank == first->rank;
    for (uint32_t i = 0; fits && i < first->rank; i++)
        fits = i == axis || part->dims[i] == first->dims[i];
    *out_length = axis < part->rank ? part->dims[axis] : 0;
    return fits || (*out_length == 0 && shape_count_unchecked(part) == 0);
}

void shape_print(const Shape *shape, TextBuilder *out) {
    text_append(out, "[");
    for (uint32_t i = 0; i < shape->rank && i < SHAPE_RANK_MAX; i++)
        text_appendf(out, "%s%" PRId64, i ? ", " : "", shape->dims[i]);
    text_append(out, "]");
}
