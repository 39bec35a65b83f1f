#pragma once
/* A job as it is at one of its checkpoints, without a file: a manifest, and the chunks that stand
 * behind it, as the store has them. Nothing is decoded or encoded.
 *
 * The manifest is a job's file (job_file.h) of a job that moves: its inputs are all that the store
 * holds of them, and begin with item items_before of its policy. */
#include "scheduler/jobs/job_export.h"
#include "serialize/chunk/chunk.h"

typedef struct JobManifest JobManifest;

/* wanted: owns is not looked at. with_model: the executable's manifest stands in the manifest's,
 * and its chunks can be had.
 *
 * What is open is safe from gc, and holds the store's write-ahead log: close it when it was sent.
 * The job may run on meanwhile. Threads: one at a time; the source: any.
 * Errors: as job_export_write. */
MUST_CHECK Error *job_manifest_open(
    Store *store, const JobExport *wanted, JobManifest **out_manifest);
void job_manifest_close(JobManifest *job_manifest);
DEFINE_OWN(JobManifest, job_manifest_close);

/* Borrowed, as is all that follows. */
const uint8_t *job_manifest_bytes(const JobManifest *job_manifest, size_t *out_size);
/* The chunks of execution, inputs and outputs, each once. */
const ChunkRef *job_manifest_chunks(const JobManifest *job_manifest, size_t *out_count);
/* The executable's, each once; they may be among the others. None without with_model. */
const ChunkRef *job_manifest_model_chunks(const JobManifest *job_manifest, size_t *out_count);
/* The stored bytes of any of them. */
ChunkSource job_manifest_source(JobManifest *job_manifest);
