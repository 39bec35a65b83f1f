#pragma once
/* Checkpoints as bytes: a container (.lvc) with a snapshot: frames, live registers, the objects
 * they refer to, counters. Constants are stored as indices, so a checkpoint is small and needs its
 * executable to be read. No device is in it. Callers: scheduler/executor, tools/client,
 * tools/library.
 * Threads: any.
 *
 * Stored as: docs/formats.md#checkpoint */
#include "serialize/container/container.h"
#include "vm/execution/snapshot.h"

typedef struct WarmStorages WarmStorages; /* warm_storages.h */

enum {
    CHECKPOINT_CLASS_MAX = 1024, /* bytes of a determinism class */
    CHECKPOINT_LABELS_MAX = 256, /* innermost frames that get names for people */
};

/* The facts that a reader needs before it makes an execution for a checkpoint. */
typedef struct CheckpointHeader {
    Digest executable;
    char *determinism_class; /* the class of the device that wrote it; memory_free */
    uint64_t epoch;          /* 0 outside migrations */
} CheckpointHeader;

/* Writes the content of a snapshot. Another thread may run the execution during the call.
 *
 * Errors: whatever the sink returns; EXHAUSTED.
 * Blocks: reads device memory, encodes on the pool's threads. */
MUST_CHECK Error *checkpoint_write(const Snapshot *snapshot, WorkerPool *pool, ChunkSink sink,
    ByteWriter *out_manifest, Digest *out_identity);
/* Writes a checkpoint file to memory. out_file: empty before. */
MUST_CHECK Error *checkpoint_write_memory(
    const Snapshot *snapshot, WorkerPool *pool, ByteWriter *out_file);
/* Writes a checkpoint file atomically and durably. out_bytes: its size. */
MUST_CHECK Error *checkpoint_write_file(
    const Snapshot *snapshot, WorkerPool *pool, const char *path, uint64_t *out_bytes);

MUST_CHECK Error *checkpoint_read_header(const Container *container, CheckpointHeader *out);
void checkpoint_header_deinit(CheckpointHeader *header);

/* Makes an execution from a checkpoint on the residency's devices. Everything in the file is
 * checked.
 *
 * options: philox_key comes from the checkpoint instead.
 * warm:    storages that are already in memory; the set is empty afterwards. NULL: none.
 * Errors:  CORRUPT the fault and its place; INVALID another executable than the residency's;
 *          EXHAUSTED memory limits. */
MUST_CHECK Error *checkpoint_read(const Container *container, WorkerPool *pool, ChunkVerify verify,
    Residency *residency, const ExecutionOptions *options, WarmStorages *warm, Execution **out);
