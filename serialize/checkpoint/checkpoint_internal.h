#pragma once
/* Reads the objects of a checkpoint, for checkpoint_read.c, checkpoint_summary.c and
 * warm_storages.c.
 * Threads: one at a time per execution. */
#include "serialize/checkpoint/checkpoint.h"
#include "serialize/checkpoint/checkpoint_storage.h"

/* The content of the objects section. Values are owned. */
typedef struct CheckpointObjects {
    Value *values;
    uint32_t count;
    StoredExtents *extents; /* one per object, used for storages */
} CheckpointObjects;

MUST_CHECK Error *checkpoint_objects_read(const Container *container, WorkerPool *pool,
    ChunkVerify verify, Residency *residency, Execution *execution, WarmStorages *warm,
    CheckpointObjects *out);
void checkpoint_objects_deinit(CheckpointObjects *objects);
/* Reads a value. It may refer only to objects below `limit`. The caller owns the result. */
MUST_CHECK Error *checkpoint_value_read(
    ByteReader *reader, const CheckpointObjects *objects, uint32_t limit, Value *out);

/* Calls visit at each storage of the objects, without an executable or an execution. The reader
 * stands behind the kind of object. Errors: CORRUPT; whatever visit returns. */
typedef Error *CheckpointVisit(void *context, ByteReader at);
MUST_CHECK Error *checkpoint_walk_storages(
    const Container *container, CheckpointVisit *visit, void *context);
