#pragma once
/* Rows of contents, for store/jobs, in the caller's catalog transaction. */
#include <stdbool.h>

#include "store/contents/job_content.h"
#include "store/database/store_connections_internal.h"

/* The progress at a checkpoint. */
typedef struct JobContentMarks {
    int64_t items_done;
    int64_t outputs; /* outputs before the checkpoint */
} JobContentMarks;

/* Inserts a content that was staged for the tenant. marks: only for a checkpoint, else NULL. */
MUST_CHECK Error *job_content_insert(Connection *catalog, TenantId tenant, int64_t job,
    JobContentKind kind, int64_t sequence, const JobContentMarks *marks, const JobContent *content);

/* How many rows a content costs a step that copies or deletes it: its own row, those of its lists
 * of chunks, and one for every 64 KiB of its bytes. */
uint64_t job_content_rows(uint64_t chunks, uint64_t size);
/* Finds how far one step gets among the outputs with begin <= sequence < end.
 *
 * statement: LIST_OUTPUT_SIZES, or LIST_OUTPUT_SIZES_BACK for the last output first.
 * out_last:  the output in which the step reaches rows_max.
 * out_found: false when all of the outputs cost less. */
MUST_CHECK Error *job_content_find_step(Connection *catalog, StatementId statement, int64_t job,
    int64_t begin, int64_t end, uint64_t rows_max, bool *out_found, int64_t *out_last);

/* SHA-256 of bytes, then each chunk's hash and raw size (u32). */
MUST_CHECK Error *job_content_digest(
    const void *bytes, size_t size, const ChunkRef *chunks, size_t chunk_count, Digest *out);

/* Deletes the job's contents of a kind with begin <= sequence < end.
 * out_bytes: their stored size. out_raw: their unpacked size. */
MUST_CHECK Error *job_content_delete(Connection *catalog, int64_t job, JobContentKind kind,
    int64_t begin, int64_t end, uint64_t *out_bytes, uint64_t *out_raw);
