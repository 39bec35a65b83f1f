#pragma once
/* Checkpoints as bytes: a container (.lvc) that holds a snapshot: frames, live registers, the
 * objects they reach, counters. Constants stand in it by index, so it is small and means nothing
 * without its executable. No device is in it.
 *
 * Stored as: docs/formats.md#checkpoint */
#include "serialize/container/container.h"
#include "vm/execution/snapshot.h"

typedef struct WarmStorages WarmStorages; /* warm_storages.h */

enum {
    CHECKPOINT_CLASS_MAX = 1024, /* bytes of a determinism class */
    CHECKPOINT_LABELS_MAX = 256, /* innermost frames that are named for people */
};

/* What is bound to be known before an execution can be made for a checkpoint. */
typedef struct CheckpointHeader {
    Digest executable;
    char *determinism_class; /* where it was written; memory_free */
    uint64_t epoch;          /* 0 outside migrations */
} CheckpointHeader;

/* Writes what the snapshot holds; other threads may run the execution on meanwhile.
 *
 * Errors: whatever the sink returns; EXHAUSTED.
 * Blocks: reads device memory, encodes on the pool's threads. */
MUST_CHECK Error *checkpoint_write(const Snapshot *snapshot, WorkerPool *pool, ChunkSink sink,
    ByteWriter *out_manifest, Digest *out_identity);
/* The same file in memory. out_file: empty before. */
MUST_CHECK Error *checkpoint_write_memory(
    const Snapshot *snapshot, WorkerPool *pool, ByteWriter *out_file);
/* To a file, atomically and durably. out_bytes: its size. */
MUST_CHECK Error *checkpoint_write_file(
    const Snapshot *snapshot, WorkerPool *pool, const char *path, uint64_t *out_bytes);

MUST_CHECK Error *checkpoint_read_header(const Container *container, CheckpointHeader *out);
void checkpoint_header_deinit(CheckpointHeader *header);

/* Makes an execution of it on the residency's devices. Nothing in the file is believed.
 *
 * options: philox_key is taken from the checkpoint instead.
 * warm:    storages that are there already; the set is empty afterwards. NULL: none.
 * Errors:  CORRUPT what and where; INVALID another executable than the residency's; EXHAUSTED
 * memory limits. */
MUST_CHECK Error *checkpoint_read(const Container *container, WorkerPool *pool, ChunkVerify verify,
    Residency *residency, const ExecutionOptions *options, WarmStorages *warm, Execution **out);
