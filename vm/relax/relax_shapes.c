#include <inttypes.h>
#include <string.h>

#include "base/allocator.h"
#include "vm/objects/shape_object.h"
#include "vm/objects/opaque.h"
#include "vm/execution/execution_state.h"
#include "vm/relax/relax_registry.h"

enum { /* of a pair (code, r) */
    MATCH_EQUAL = 0,
    MATCH_STORE = 1,
    MATCH_NOTHING = 2,
    MATCH_EQUAL_TO_CELL = 3,
    MAKE_IMMEDIATE = 0,
    MAKE_FROM_CELL = 1,
};

typedef struct Heap {
    int64_t *cells; /* NULL: there is no heap */
    uint64_t count;
} Heap;

RELAX(alloc_shape_heap) {
    RELAX_UNUSED();
    uint64_t cells;
    TRY(relax_index(&arguments[1], "cells", (uint64_t)SHAPE_HEAP_CELLS_MAX + 1, &cells));
    Shape shape = shape_make(1, (int64_t[]){(int64_t)cells});
    Tensor *heap;
    TRY(relax_new_tensor(call, SLOT_HOST, DTYPE_INT64, &shape, &heap));
    if (!heap) return NULL;
    if (cells > 0) memset(tensor_data(heap), 0, cells * sizeof(int64_t));
    heap->storage->opaque = true; /* cells change in place */
    *out_result = value_object(OBJECT_TENSOR, heap);
    return NULL;
}

static Error *get_heap(const PackedCall *call, const Value *value, Heap *out) {
    *out = (Heap){0};
    if (value->tag == VALUE_NIL) return NULL;
    const Tensor *tensor = value->tensor;
    TRY(relax_readable(call, "the heap", tensor));
    if (tensor->dtype != DTYPE_INT64 || tensor->shape.rank != 1)
        FAIL(INVALID, "the heap is not a tensor [n] of int64");
    if (!tensor->storage->device->class_->host_memory) FAIL(INVALID, "the heap is not in slot 0");
    *out = (Heap){tensor_data(tensor), (uint64_t)tensor->shape.dims[0]};
    return NULL;
}

/* The cell of a heap. write: its value will change. */
static Error *get_cell(
    const Heap *heap, const Value *owner, const Value *index, bool write, int64_t **out) {
    if (owner->tag == VALUE_NIL)
        FAIL(INVALID, "cell %" PRIi64 " of a heap, and there is none", relax_int(index));
    uint64_t cell;
    TRY(relax_index(index, "cell", heap->count, &cell));
    if (write && !owner->tensor->storage->opaque)
        FAIL(INVALID, "the heap is not one of alloc_shape_heap, and may not be written");
    *out = &heap->cells[cell];
    return NULL;
}

/* One pair (code, r) for one number. */
static Error *match(const Heap *heap, const Value *owner, const Value *pair, int64_t value) {
    int64_t code = relax_int(&pair[0]), wanted = relax_int(&pair[1]);
    int64_t *cell;
    switch (code) {
    case MATCH_NOTHING:
        return NULL;
    case MATCH_STORE:
        TRY(get_cell(heap, owner, &pair[1], true, &cell));
        *cell = value;
        return NULL;
    case MATCH_EQUAL:
        break;
    case MATCH_EQUAL_TO_CELL:
        TRY(get_cell(heap, owner, &pair[1], false, &cell));
        wanted = *cell;
        break;
    default:
        FAIL(INVALID, "match code %" PRIi64 "; the codes are 0 to 3", code);
    }
    if (value != wanted) FAIL(INVALID, "%" PRIi64 ", not %" PRIi64, value, wanted);
    return NULL;
}

static Error *match_all(const PackedCall *call, const Value *arguments, uint32_t pairs) {
    const bool is_shape = value_is(&arguments[0], OBJECT_SHAPE);
    const uint32_t rank = is_shape ? arguments[0].shape->count : arguments[0].tensor->shape.rank;
    const int64_t *dims = is_shape ? arguments[0].shape->dims : arguments[0].tensor->shape.dims;
    Heap heap;
    TRY(get_heap(call, &arguments[1], &heap));
    if (rank != pairs) FAIL(INVALID, "a shape of %u dimensions, not of %u", rank, pairs);
    for (uint32_t i = 0; i < pairs; i++)
        TRY_WRAP(match(&heap, &arguments[1], &arguments[3 + 2 * i], dims[i]), "dimension %u is", i);
    return NULL;
}

/* Checks that the pairs (code, r) that begin at argument `first` are ints. */
static Error *check_pairs(
    const Value *arguments, uint32_t count, uint32_t first, uint32_t behind, uint32_t *out_pairs) {
    int64_t pairs = relax_int(&arguments[first - 1]);
    if (pairs < 0 || (uint64_t)pairs * 2 + first + behind > count || pairs > INT32_MAX)
        FAIL(INVALID, "%" PRIi64 " pairs of code and value in %u arguments", pairs, count);
    for (uint32_t i = first; i < first + 2 * (uint32_t)pairs; i++)
        if (arguments[i].tag != VALUE_INT && arguments[i].tag != VALUE_BOOL)
            FAIL(INVALID, "argument %u is a %s, not an int", i, value_kind_name(&arguments[i]));
    *out_pairs = (uint32_t)pairs;
    return NULL;
}

RELAX(match_shape) {
    RELAX_UNUSED();
    uint32_t pairs;
    TRY(check_pairs(arguments, count, 3, 1, &pairs));
    const Value *text = &arguments[3 + 2 * pairs];
    if (!value_is(text, OBJECT_STRING))
        FAIL(INVALID, "argument %u is a %s, not the context string", 3 + 2 * pairs,
            value_kind_name(text));
    return relax_wrap(match_all(call, arguments, pairs), text);
}

RELAX(match_prim_value) {
    RELAX_UNUSED();
    Heap heap;
    TRY(get_heap(call, &arguments[1], &heap));
    Error *error = match(&heap, &arguments[1], &arguments[2], relax_int(&arguments[0]));
    if (error) error = error_wrap(error, "the value is");
    return relax_wrap(error, count > 4 ? &arguments[4] : &arguments[0]);
}

static Error *make(const Heap *heap, const Value *owner, const Value *pair, int64_t *out) {
    int64_t code = relax_int(&pair[0]);
    if (code != MAKE_IMMEDIATE && code != MAKE_FROM_CELL)
        FAIL(INVALID, "shape code %" PRIi64 "; the codes are 0 and 1", code);
    *out = relax_int(&pair[1]);
    if (code == MAKE_IMMEDIATE) return NULL;
    int64_t *cell;
    TRY(get_cell(heap, owner, &pair[1], false, &cell));
    *out = *cell;
    return NULL;
}

RELAX(make_shape) {
    RELAX_UNUSED();
    uint32_t pairs;
    TRY(check_pairs(arguments, count, 2, 0, &pairs));
    Heap heap;
    TRY(get_heap(call, &arguments[0], &heap));
    int64_t dims[SHAPE_OBJECT_COUNT_MAX];
    for (uint32_t i = 0; i < pairs && i < SHAPE_OBJECT_COUNT_MAX; i++)
        TRY_WRAP(make(&heap, &arguments[0], &arguments[2 + 2 * i], &dims[i]), "dimension %u", i);
    return relax_new_shape(dims, pairs, out_result);
}

RELAX(make_prim_value) {
    RELAX_UNUSED();
    Heap heap;
    int64_t value;
    TRY(get_heap(call, &arguments[0], &heap));
    TRY(make(&heap, &arguments[0], &arguments[1], &value));
    *out_result = value_int(value);
    return NULL;
}

RELAX(shape_of) {
    RELAX_UNUSED();
    const Shape *shape = &arguments[0].tensor->shape;
    ShapeObject *object;
    TRY(shape_object_create_of(shape->dims, shape->rank, &object));
    *out_result = value_object(OBJECT_SHAPE, object);
    return NULL;
}

RELAX(tensor_to_shape) {
    RELAX_UNUSED();
    const Tensor *tensor = arguments[0].tensor;
    if (tensor->shape.rank != 1)
        FAIL(INVALID, "a tensor of %u dimensions, not of 1", tensor->shape.rank);
    if (tensor->shape.dims[0] > SHAPE_OBJECT_COUNT_MAX)
        FAIL(INVALID, "a shape of %" PRIi64 " dimensions; there may be %d", tensor->shape.dims[0],
            SHAPE_OBJECT_COUNT_MAX);
    int64_t *dims;
    uint32_t rank;
    TRY(relax_ints(call, "the tensor", &arguments[0], &dims, &rank));
    OWN_MEMORY(owned) = dims;
    return relax_new_shape(dims, rank, out_result);
}
