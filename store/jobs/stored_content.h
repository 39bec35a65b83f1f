#pragma once
/* Reading a job's inputs, one of its outputs or checkpoints; what is open is safe from removal. */
#include "store/contents/job_content.h"
#include "store/database/job_id.h"

typedef struct StoredContent StoredContent;

/* sequence: 0 for inputs, the output's sequence number, the checkpoint's number.
 * Errors:   NOT_FOUND no such job, or it has no such content, or an output is not visible yet;
 *           CORRUPT; IO. */
MUST_CHECK Error *stored_content_open(Store *store, TenantId tenant, JobId job, JobContentKind kind,
    int64_t sequence, StoredContent **out_content);
void stored_content_close(StoredContent *content);
DEFINE_OWN(StoredContent, stored_content_close);

/* The bytes as they were given, checked. Borrowed. */
const uint8_t *stored_content_bytes(const StoredContent *content, size_t *out_size);
/* What it refers to, in order. Borrowed. */
const ChunkRef *stored_content_chunks(const StoredContent *content, size_t *out_count);
/* Where its chunks come from. Borrowed. Threads: any, several at once. */
ChunkSource stored_content_source(StoredContent *content);
