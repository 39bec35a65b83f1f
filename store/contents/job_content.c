#include "store/contents/job_content.h"

#include <assert.h>

#include "base/checked.h"
#include "base/clock.h"
#include "store/chunks/chunk_lists.h"
#include "store/chunks/chunk_upload_internal.h"
#include "base/digest_set.h"
#include "store/contents/job_content_internal.h"
#include "store/database/row_costs.h"
#include "store/accounts/tenants_internal.h"

Error *job_content_digest(
    const void *bytes, size_t size, const ChunkRef *chunks, size_t chunk_count, Digest *out) {
    if (chunk_count == 0) return digest_sha256(bytes, size, out);
    OWN(DigestStream, stream) = NULL;
    TRY(digest_stream_create(&stream));
    TRY(digest_stream_add(stream, bytes, size));
    for (size_t i = 0; i < chunk_count; i++) {
        uint8_t packed[CHUNK_REF_PACKED_SIZE];
        chunk_ref_pack(&chunks[i], packed);
        TRY(digest_stream_add(stream, packed, sizeof packed));
    }
    return digest_stream_finish(stream, out);
}

/* A row's bytes beyond these cost as much as another row. */
enum { BYTES_OF_A_ROW = 64 << 10 };

uint64_t job_content_rows(uint64_t chunks, uint64_t size) {
    return 1 + chunks / CHUNK_LIST_LENGTH_MAX + size / BYTES_OF_A_ROW;
}

Error *job_content_find_step(Connection *catalog, StatementId statement, int64_t job, int64_t begin,
    int64_t end, uint64_t rows_max, bool *out_found, int64_t *out_last) {
    Query OWN_QUERY(query) = query_start(catalog, statement);
    query_bind_i64(&query, 1, job);
    query_bind_i64(&query, 2, begin);
    query_bind_i64(&query, 3, end);
    for (uint64_t rows = 0; rows < rows_max;) {
        uint64_t chunks, size;
        TRY(query_next(&query, out_found));
        if (!*out_found) return NULL;
        TRY(query_i64(&query, 0, out_last));
        TRY(query_size(&query, 1, &chunks));
        TRY(query_size(&query, 2, &size));
        rows += job_content_rows(chunks, size);
    }
    return NULL;
}

static Error *pin_chunks(ChunkUpload *upload, JobContent *content) {
    DigestSet OWN_DIGEST_SET(counted) = {0};
    for (size_t i = 0; i < content->chunk_count; i++) {
        const ChunkRef *ref = &content->chunks[i];
        uint32_t stored_size;
        TRY(chunk_upload_pin(upload, ref, &stored_size));
        if (!checked_add_u64(content->bytes_raw, ref->raw_size, &content->bytes_raw))
            FAIL(INVALID, "its size is beyond 2^64 bytes");
        if (digest_set_find(&counted, &ref->hash)) continue;
        TRY(digest_set_add(&counted, &ref->hash, 1));
        content->bytes_stored += stored_size;
    }
    if (content->bytes_raw > INT64_MAX) FAIL(INVALID, "its size is beyond 2^63 bytes");
    return NULL;
}

Error *job_content_stage(ChunkUpload *upload, TenantId tenant, JobContent *inout_content) {
    JobContent content = *inout_content;
    if (content.size > JOB_CONTENT_BYTES_MAX)
        FAIL(INVALID, "%zu bytes of a job's data at once, at most %d are stored", content.size,
            JOB_CONTENT_BYTES_MAX);
    assert(content.chunk_count == 0 || (upload && upload->tenant == tenant));
    content.tenant = tenant;
    content.bytes_raw = content.size;
    content.bytes_stored =
        content.size + ROW_COST_CONTENT + (uint64_t)content.chunk_count * ROW_COST_CHUNK;
    TRY(job_content_digest(
        content.bytes, content.size, content.chunks, content.chunk_count, &content.digest));
    if (content.chunk_count > 0) {
        TRY(pin_chunks(upload, &content));
        TRY(chunk_upload_flush(upload));
    }
    *inout_content = content;
    return NULL;
}

Error *job_content_insert(Connection *catalog, TenantId tenant, int64_t job, JobContentKind kind,
    int64_t sequence, const JobContentMarks *marks, const JobContent *content) {
    assert(content->tenant == tenant); /* job_content_stage was called for this tenant */
    int64_t id;
    /* a job has one content of this kind as long as the job has any */
    const uint64_t job_cost = kind == JOB_CONTENT_INPUTS ? ROW_COST_JOB : 0;
    {
        Query OWN_QUERY(query) = query_start(catalog, STATEMENT_INSERT_CONTENT);
        query_bind_i64(&query, 1, job);
        query_bind_i64(&query, 2, kind);
        query_bind_i64(&query, 3, sequence);
        query_bind_f64(&query, 4, clock_real().calendar_s(clock_real().self));
        if (marks) query_bind_i64(&query, 5, marks->items_done);
        if (marks) query_bind_i64(&query, 6, marks->outputs);
        query_bind_i64(&query, 7, (int64_t)content->bytes_raw);
        query_bind_i64(&query, 8, (int64_t)(content->bytes_stored + job_cost));
        query_bind_i64(&query, 9, (int64_t)content->chunk_count);
        query_bind_digest(&query, 10, &content->digest);
        /* an empty content is a blob of 0 bytes, not NULL */
        query_bind_blob(&query, 11, content->size ? content->bytes : "", content->size);
        TRY(query_insert(&query, &id));
    }
    if (kind == JOB_CONTENT_CHECKPOINT) TRY(tenants_count_checkpoints(catalog, tenant, 1));
    return chunk_lists_insert(catalog, tenant, id, content->chunks, content->chunk_count);
}

Error *job_content_delete(Connection *catalog, int64_t job, JobContentKind kind, int64_t begin,
    int64_t end, uint64_t *out_bytes, uint64_t *out_raw) {
    Query OWN_QUERY(query) = query_start(catalog, STATEMENT_DELETE_CONTENTS);
    query_bind_i64(&query, 1, job);
    query_bind_i64(&query, 2, kind);
    query_bind_i64(&query, 3, begin);
    query_bind_i64(&query, 4, end);
    uint64_t bytes = 0, raw = 0;
    for (;;) {
        bool row;
        uint64_t size, unpacked;
        TRY(query_next(&query, &row));
        if (!row) break;
        TRY(query_size(&query, 0, &size));
        TRY(query_size(&query, 1, &unpacked));
        bytes += size;
        raw += unpacked;
    }
    *out_bytes = bytes;
    *out_raw = raw;
    return NULL;
}
