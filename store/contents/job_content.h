#pragma once
/* A piece of a job's data (its inputs, one output or one checkpoint): bytes in the catalog and the
 * chunks that they refer to. The store does not interpret the bytes. scheduler/control and
 * scheduler/jobs stage contents; store/jobs stores them. Threads: any; one at a time per content.
 */
#include <stddef.h>
#include <stdint.h>

#include "serialize/chunk/chunk.h"
#include "store/chunks/chunk_upload.h"
#include "store/database/store.h"

typedef enum JobContentKind {
    JOB_CONTENT_INPUTS = 1,     /* only sequence 0 */
    JOB_CONTENT_OUTPUT = 2,     /* outputs and yields; sequence 0, 1, … */
    JOB_CONTENT_CHECKPOINT = 3, /* sequence 1, 2, …: the checkpoint's number */
} JobContentKind;

enum {
    JOB_CONTENT_BYTES_MAX = 64 << 20,
};

/* The caller keeps ownership of everything, and keeps it alive until the catalog has the content.
 */
typedef struct JobContent {
    const void *bytes; /* up to JOB_CONTENT_BYTES_MAX */
    size_t size;
    const ChunkRef *chunks; /* in the bytes' order; a chunk may stand more than once */
    size_t chunk_count;
    /* Set by job_content_stage. */
    TenantId tenant;
    uint64_t bytes_raw;    /* bytes and chunks, uncompressed */
    uint64_t bytes_stored; /* bytes and chunks as stored; a chunk counts once */
    /* of the bytes and of the chunks' hashes and sizes: equal digests, equal content */
    Digest digest;
} JobContent;

/* Prepares a content for the catalog: its chunks become durable, and gc keeps them until the upload
 * is closed. The caller closes the upload only after the catalog has the content.
 *
 * upload: the upload that the chunks went through, with this tenant; NULL when there are no chunks.
 * Errors: INVALID beyond the limits; CORRUPT a chunk that was never uploaded; EXHAUSTED the disk is
 *         full; IO. */
MUST_CHECK Error *job_content_stage(
    ChunkUpload *upload, TenantId tenant, JobContent *inout_content);
