#pragma once
/* Reading the objects of a checkpoint, apart from the rest of it. */
#include "serialize/checkpoint/checkpoint.h"
#include "serialize/checkpoint/checkpoint_storage.h"

/* What the objects section held. Values are owned. */
typedef struct CheckpointObjects {
    Value *values;
    uint32_t count;
    StoredExtents *extents; /* per object; of storages */
} CheckpointObjects;

MUST_CHECK Error *checkpoint_objects_read(const Container *container, WorkerPool *pool,
    ChunkVerify verify, Residency *residency, Execution *execution, WarmStorages *warm,
    CheckpointObjects *out);
void checkpoint_objects_deinit(CheckpointObjects *objects);
/* A value; object references only below `limit`. The result is owned by the caller. */
MUST_CHECK Error *checkpoint_value_read(
    ByteReader *reader, const CheckpointObjects *objects, uint32_t limit, Value *out);

/* Calls visit at each storage of the objects, with a reader that stands behind its kind of object:
 * without an executable or an execution. Errors: CORRUPT; whatever visit returns. */
typedef Error *CheckpointVisit(void *context, ByteReader at);
MUST_CHECK Error *checkpoint_walk_storages(
    const Container *container, CheckpointVisit *visit, void *context);
