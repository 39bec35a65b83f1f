#pragma once
/* Reading the objects of a checkpoint, apart from the rest of it. */
#include "serialize/checkpoint.h"

/* What the objects section held. Values are owned. */
typedef struct CheckpointObjects {
    Value *values;
    uint32_t count;
    struct StoredExtents *extents; /* per object; of storages */
} CheckpointObjects;

MUST_CHECK Error *checkpoint_objects_read(const Container *container, WorkerPool *pool,
    ChunkVerify verify, Residency *residency, Execution *execution, CheckpointObjects *out);
void checkpoint_objects_deinit(CheckpointObjects *objects);
/* A value; object references only below `limit`. The result is owned by the caller. */
MUST_CHECK Error *checkpoint_value_read(
    ByteReader *reader, const CheckpointObjects *objects, uint32_t limit, Value *out);
