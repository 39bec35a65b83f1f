#pragma once
/* A piece of a job's data (its inputs, one output, one checkpoint): bytes that stand in the catalog
 * and chunks that they refer to. What the bytes mean is their maker's affair. */
#include <stddef.h>
#include <stdint.h>

#include "serialize/chunk/chunk.h"
#include "store/chunks/chunk_upload.h"
#include "store/database/store.h"

typedef enum JobContentKind {
    JOB_CONTENT_INPUTS = 1,     /* sequence 0 alone */
    JOB_CONTENT_OUTPUT = 2,     /* outputs and yields; sequence 0, 1, … */
    JOB_CONTENT_CHECKPOINT = 3, /* sequence 1, 2, …: the checkpoint's number */
} JobContentKind;

enum {
    JOB_CONTENT_BYTES_MAX = 64 << 20,
};

/* Everything is borrowed, until the catalog has it. */
typedef struct JobContent {
    const void *bytes; /* up to JOB_CONTENT_BYTES_MAX */
    size_t size;
    const ChunkRef *chunks; /* in the bytes' order; a chunk may stand more than once */
    size_t chunk_count;
    /* Set by job_content_stage. */
    TenantId tenant;
    uint64_t bytes_raw;    /* bytes and chunks, uncompressed */
    uint64_t bytes_stored; /* bytes and chunks as stored; a chunk counts once */
    Digest digest;         /* of the bytes and the chunks' hashes and sizes: equal content */
} JobContent;

/* Makes a content ready for the catalog: its chunks are durable, and safe from gc until the upload
 * is closed, which must not be before the catalog has the content.
 *
 * upload: what the chunks went through, of this tenant; NULL when there are none.
 * Errors: INVALID beyond the limits; CORRUPT a chunk that was never uploaded; EXHAUSTED the disk
 *         is full; IO. */
MUST_CHECK Error *job_content_stage(
    ChunkUpload *upload, TenantId tenant, JobContent *inout_content);
