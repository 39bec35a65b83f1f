#pragma once
/* Which bytes of a storage are alive: the union of the live written tensors in it. */
#include "kernels/tensor/tensor.h"
#include "serialize/container/object_table.h"

typedef struct LiveExtent {
    uint32_t storage; /* index in the object table */
    DType dtype;      /* of the largest tensor that begins it */
    uint64_t offset;
    uint64_t size;
} LiveExtent;

/* Sorted by storage, then offset; disjoint. Release with memory_free. */
MUST_CHECK Error *checkpoint_extents_collect(
    const ObjectTable *table, LiveExtent **out_extents, uint32_t *out_count);
