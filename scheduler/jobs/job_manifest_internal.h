#pragma once
/* A job's manifest or checkpoint file while it is made. Shared by job_manifest.c and job_export.c;
 * belongs to one thread. */
#include "scheduler/executor/job_point.h"
#include "scheduler/jobs/job_manifest.h"
#include "scheduler/node/job_policy.h"
#include "serialize/arrays/array_bundle.h"
#include "serialize/checkpoint/job_file.h"
#include "store/chunks/chunk_reader.h"
#include "store/jobs/jobs.h"
#include "store/jobs/stored_content.h"
#include "store/models/stored_executable.h"

struct JobManifest {
    JobExportRequest wanted;
    Store *store;
    Job row;
    JobPolicy policy;
    StoredContent **contents; /* open until the end; the newest is closed first */
    size_t content_count, content_capacity;
    ChunkReader *reader;       /* of all contents' chunks */
    StoredContent *checkpoint; /* of contents. NULL: the job has not begun */
    int64_t items_done;
    JobPoint point;
    Container *execution; /* NULL: between two runs */
    JobFileArrays inputs;
    ArrayBundle made_inputs; /* made anew because they are not stored in this form; inputs borrow
                              * from them */
    JobFileArrays *outputs;
    size_t output_count, output_capacity;
    StoredExecutable *model; /* NULL: the model is not included */
    ByteWriter policy_bytes, point_bytes, manifest;
    ChunkRef *chunks, *model_chunks; /* each once */
    size_t chunk_count, chunk_capacity, model_chunk_count, model_chunk_capacity;
};

/* Opens everything but the inputs. */
MUST_CHECK Error *job_manifest_begin(
    Store *store, const JobExportRequest *wanted, JobManifest **out_manifest);
/* Whether a single run has its inputs in its execution's registers. */
bool job_manifest_has_used_inputs(const JobManifest *job_manifest);
/* Opens the inputs as they are stored, or none if they are used up. */
MUST_CHECK Error *job_manifest_open_inputs(JobManifest *job_manifest);
/* About how many bytes the manifest keeps in memory. */
uint64_t job_manifest_chunk_bytes(const JobManifest *job_manifest);
/* Writes the manifest and lists the chunks, except those of inputs that were made. */
MUST_CHECK Error *job_manifest_finish(JobManifest *job_manifest, JobFileOwner owner);
