#pragma once
/* A content's row in memory, for jobs_go_back.c and store/upkeep, which read it without pinning its
 * chunks. Threads: one at a time per content. */
#include <stdbool.h>

#include "store/database/store_connections_internal.h"
#include "store/jobs/stored_content.h"

struct StoredContent {
    ByteWriter bytes;
    ChunkRef *chunks;
    size_t chunk_count;
    ChunkUpload *pins; /* keeps gc from deleting the chunks; NULL: the content has no chunks */
    struct ChunkReader *reader;
};

/* Reads a content's row. job: the id of the job's row. content: zeroed; the caller releases it even
 * after an error. Errors: CORRUPT. */
MUST_CHECK Error *stored_content_read(Connection *catalog, int64_t job, JobContentKind kind,
    int64_t sequence, StoredContent *content, bool *out_found);
