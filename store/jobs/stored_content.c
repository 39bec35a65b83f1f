#include "store/jobs/stored_content.h"

#include "base/allocator.h"
#include "store/chunks/chunk_lists.h"
#include "store/chunks/chunk_reader.h"
#include "store/chunks/chunk_upload_internal.h"
#include "store/contents/job_content_internal.h"
#include "store/jobs/jobs_internal.h"
#include "store/jobs/stored_content_internal.h"

static Error *fail_no_content(JobId job, JobContentKind kind, int64_t sequence) {
    char name[JOB_ID_TEXT_SIZE];
    job_id_print(job, name);
    switch (kind) {
    case JOB_CONTENT_OUTPUT:
        FAIL(NOT_FOUND, "job %s has no output %lld", name, (long long)sequence);
    case JOB_CONTENT_CHECKPOINT:
        FAIL(NOT_FOUND, "job %s has no checkpoint %lld", name, (long long)sequence);
    case JOB_CONTENT_INPUTS:
        break;
    }
    FAIL(NOT_FOUND, "job %s has no inputs any more", name);
}

/* Reads the row, and its chunks in the same view of the catalog. */
Error *stored_content_read(Connection *catalog, int64_t job, JobContentKind kind, int64_t sequence,
    StoredContent *content, bool *out_found) {
    Query OWN_QUERY(query) = query_start(catalog, STATEMENT_READ_CONTENT);
    query_bind_i64(&query, 1, job);
    query_bind_i64(&query, 2, kind);
    query_bind_i64(&query, 3, sequence);
    int64_t id;
    uint64_t chunk_count;
    Digest expected, digest;
    const uint8_t *bytes;
    size_t size;
    TRY(query_next(&query, out_found));
    if (!*out_found) return NULL;
    TRY(query_i64(&query, 0, &id));
    TRY(query_size(&query, 1, &chunk_count));
    TRY(query_digest(&query, 2, &expected));
    TRY(query_blob(&query, 3, &bytes, &size));
    byte_write_bytes(&content->bytes, bytes, size);
    TRY(byte_writer_check(&content->bytes));
    TRY(chunk_lists_read(catalog, id, chunk_count, &content->chunks, &content->chunk_count));
    TRY(job_content_digest(
        content->bytes.data, size, content->chunks, content->chunk_count, &digest));
    if (!digest_equal(&digest, &expected))
        FAIL(CORRUPT, "catalog.db: the bytes of a job's data have changed");
    return NULL;
}

static Error *pin_chunks(Store *store, TenantId tenant, StoredContent *content) {
    if (content->chunk_count == 0) return NULL;
    TRY(chunk_upload_open(store, tenant, &content->pins));
    for (size_t i = 0; i < content->chunk_count; i++) {
        uint32_t stored_size;
        TRY(chunk_upload_pin(content->pins, &content->chunks[i], &stored_size));
    }
    return NULL;
}

static Error *read_content(Connection *catalog, TenantId tenant, JobId job, JobContentKind kind,
    int64_t sequence, StoredContent *content) {
    Job row;
    bool found = false;
    TRY(job_row_read(catalog, tenant, job, &row));
    if (kind != JOB_CONTENT_OUTPUT || sequence < row.outputs_visible)
        TRY(stored_content_read(catalog, row.row, kind, sequence, content, &found));
    return found ? NULL : fail_no_content(job, kind, sequence);
}

/* Explains a missing chunk: the store is damaged, or the job was removed and gc deleted the chunks
 * after the row was read. */
static Error *explain_missing(Connection *catalog, TenantId tenant, JobId job, JobContentKind kind,
    int64_t sequence, Error *owned_error) {
    StoredContent again = {.chunks = NULL};
    Error *error = read_content(catalog, tenant, job, kind, sequence, &again);
    byte_writer_deinit(&again.bytes);
    memory_free(again.chunks);
    if (error_code(error) == ERROR_NOT_FOUND) {
        error_free(owned_error); /* the content was removed, so it is not damaged */
        return error;
    }
    error_free(error); /* the first error is returned */
    char name[JOB_ID_TEXT_SIZE];
    job_id_print(job, name);
    return error_wrap(owned_error, "job %s", name);
}

Error *stored_content_open(Store *store, TenantId tenant, JobId job, JobContentKind kind,
    int64_t sequence, StoredContent **out_content) {
    OWN(StoredContent, content) = NULL;
    OWN(Connection, catalog) = NULL;
    TRY(memory_alloc(1, sizeof *content, (void **)&content));
    TRY(store_borrow_reader(store, DATABASE_CATALOG, &catalog));
    TRY(read_content(catalog, tenant, job, kind, sequence, content));
    Error *error = pin_chunks(store, tenant, content);
    if (error) return explain_missing(catalog, tenant, job, kind, sequence, error);
    TRY(chunk_reader_open(store, tenant, &content->reader));
    *out_content = TAKE(content);
    return NULL;
}

void stored_content_close(StoredContent *content) {
    if (!content) return;
    chunk_reader_close(content->reader);
    chunk_upload_close(content->pins);
    byte_writer_deinit(&content->bytes);
    memory_free(content->chunks);
    memory_free(content);
}

const uint8_t *stored_content_bytes(const StoredContent *content, size_t *out_size) {
    *out_size = content->bytes.size;
    return content->bytes.data;
}

const ChunkRef *stored_content_chunks(const StoredContent *content, size_t *out_count) {
    *out_count = content->chunk_count;
    return content->chunks;
}

ChunkSource stored_content_source(StoredContent *content) {
    return chunk_reader_source(content->reader);
}
