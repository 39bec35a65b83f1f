#pragma once
/* A job at one of its checkpoints, without a file: a manifest, and the chunks that it names, as the
 * store has them. Nothing is decoded or encoded. Called by departure_run.c and chunk_sender.c, on
 * the thread of a departure run.
 *
 * The manifest is that of a job file (job_file.h) of a job that moves: its inputs are all that the
 * store holds of them, and begin with item items_before of its policy. */
#include "scheduler/jobs/job_export_request.h"
#include "serialize/chunk/chunk.h"

typedef struct JobManifest JobManifest;

/* wanted: owns is ignored. with_model: the manifest includes the executable's manifest, and the
 * executable's chunks can be had.
 *
 * An open manifest protects its chunks from gc and holds the store's write-ahead log: close it
 * after it was sent. The job may run meanwhile. Threads: one at a time; the source: any. Errors: as
 * job_export_write. */
MUST_CHECK Error *job_manifest_open(
    Store *store, const JobExportRequest *wanted, JobManifest **out_manifest);
void job_manifest_close(JobManifest *job_manifest);
DEFINE_OWN(JobManifest, job_manifest_close);

/* The manifest's bytes. Borrowed, as are all results below. */
const uint8_t *job_manifest_bytes(const JobManifest *job_manifest, size_t *out_size);
/* The chunks of execution, inputs and outputs, each once. */
const ChunkRef *job_manifest_chunks(const JobManifest *job_manifest, size_t *out_count);
/* The executable's chunks, each once; some may be among the others. None without with_model. */
const ChunkRef *job_manifest_model_chunks(const JobManifest *job_manifest, size_t *out_count);
/* The stored bytes of any of these chunks. */
ChunkSource job_manifest_source(JobManifest *job_manifest);
