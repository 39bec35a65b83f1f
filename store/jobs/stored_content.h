#pragma once
/* Reads a job's inputs, one of its outputs or one of its checkpoints. gc does not delete the chunks
 * of a content that is open. Callers: scheduler/control, scheduler/jobs, scheduler/node and
 * scheduler/service. Threads: any; one at a time per content unless a function says otherwise. */
#include "store/contents/job_content.h"
#include "store/database/job_id.h"

typedef struct StoredContent StoredContent;

/* Opens a content.
 *
 * sequence: 0 for inputs, the output's sequence number, the checkpoint's number.
 * Errors:   NOT_FOUND no such job, no such content, or an output that is not visible yet; CORRUPT;
 *           IO. */
MUST_CHECK Error *stored_content_open(Store *store, TenantId tenant, JobId job, JobContentKind kind,
    int64_t sequence, StoredContent **out_content);
void stored_content_close(StoredContent *content);
DEFINE_OWN(StoredContent, stored_content_close);

/* The bytes that were stored, checked. The content owns them. */
const uint8_t *stored_content_bytes(const StoredContent *content, size_t *out_size);
/* The chunks that the content refers to, in order. The content owns the list. */
const ChunkRef *stored_content_chunks(const StoredContent *content, size_t *out_count);
/* The source of the content's chunks. The content owns it. Threads: any, several at once. */
ChunkSource stored_content_source(StoredContent *content);
