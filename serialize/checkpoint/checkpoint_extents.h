#pragma once
/* Finds the live bytes of a storage: the union of the live written tensors in it. Caller:
 * checkpoint_write.c. Pure: no state, any thread. */
#include "kernels/tensor/tensor.h"
#include "serialize/container/object_table.h"

typedef struct LiveExtent {
    uint32_t storage; /* index in the object table */
    DType dtype;      /* of the largest tensor that begins the extent */
    uint64_t offset;
    uint64_t size;
} LiveExtent;

/* Collects the extents, sorted by storage, then offset; disjoint. Release with memory_free. */
MUST_CHECK Error *checkpoint_extents_collect(
    const ObjectTable *table, LiveExtent **out_extents, uint32_t *out_count);
