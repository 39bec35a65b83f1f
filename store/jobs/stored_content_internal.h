#pragma once
/* A content's row in memory, for those who look at it without pinning its chunks. */
#include <stdbool.h>

#include "store/database/store_internal.h"
#include "store/jobs/stored_content.h"

struct StoredContent {
    ByteWriter bytes;
    ChunkRef *chunks;
    size_t chunk_count;
    ChunkUpload *pins; /* keeps the chunks from gc; NULL: there are none */
    struct ChunkReader *reader;
};

/* job: the id of its row. content: zeroed; released by the caller in any case. Errors: CORRUPT. */
MUST_CHECK Error *stored_content_read(Connection *catalog, int64_t job, JobContentKind kind,
    int64_t sequence, StoredContent *content, bool *out_found);
