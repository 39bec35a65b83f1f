#include "scheduler/node/stored_arrays.h"

#include "serialize/arrays/array_bundle.h"
#include "store/jobs/stored_content.h"

Error *stored_arrays_read(Store *store, WorkerPool *pool, TenantId tenant, JobId job,
    JobContentKind kind, int64_t sequence, uint64_t bytes_max, ArrayList *out_arrays) {
    OWN(StoredContent, content) = NULL;
    size_t size, chunk_count;
    TRY(stored_content_open(store, tenant, job, kind, sequence, &content));
    const uint8_t *bytes = stored_content_bytes(content, &size);
    const ChunkRef *chunks = stored_content_chunks(content, &chunk_count);
    return array_bundle_read(bytes, size, chunks, chunk_count, pool, CHUNK_VERIFY_XXH3,
        stored_content_source(content), bytes_max, out_arrays);
}
