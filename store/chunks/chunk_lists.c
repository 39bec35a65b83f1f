#include "store/chunks/chunk_lists.h"

#include <string.h>

#include "base/allocator.h"

/* On average one chunk in so many ends its list. The list around a changed chunk is twice as long
 * on average and is written again completely; shorter lists mean more lists. */
enum { ENDS_ONE_IN = 8 };

void chunk_ref_pack(const ChunkRef *ref, uint8_t out[CHUNK_REF_PACKED_SIZE]) {
    memcpy(out, ref->hash.bytes, DIGEST_SIZE);
    for (int i = 0; i < 4; i++) out[DIGEST_SIZE + i] = (uint8_t)(ref->raw_size >> (8 * i));
}

static size_t measure_list(const ChunkRef *refs, size_t count) {
    size_t length = 0;
    while (length < count && length < CHUNK_LIST_LENGTH_MAX)
        if (refs[length++].hash.bytes[0] % ENDS_ONE_IN == 0) break;
    return length;
}

static Error *digest_list(const ChunkRef *refs, size_t length, Digest *out) {
    uint8_t packed[CHUNK_LIST_LENGTH_MAX * CHUNK_REF_PACKED_SIZE];
    for (size_t i = 0; i < length; i++)
        chunk_ref_pack(&refs[i], packed + i * CHUNK_REF_PACKED_SIZE);
    return digest_sha256(packed, length * CHUNK_REF_PACKED_SIZE, out);
}

static Error *insert_list(Connection *catalog, TenantId tenant, const Digest *digest,
    const ChunkRef *refs, size_t length, int64_t *out_id) {
    {
        Query OWN_QUERY(query) = query_start(catalog, STATEMENT_INSERT_CHUNK_LIST);
        query_bind_i64(&query, 1, tenant);
        query_bind_digest(&query, 2, digest);
        TRY(query_insert(&query, out_id));
    }
    for (size_t i = 0; i < length; i++) {
        Query OWN_QUERY(query) = query_start(catalog, STATEMENT_INSERT_LIST_CHUNK);
        query_bind_i64(&query, 1, tenant);
        query_bind_i64(&query, 2, *out_id);
        query_bind_i64(&query, 3, (int64_t)i);
        query_bind_digest(&query, 4, &refs[i].hash);
        query_bind_i64(&query, 5, refs[i].raw_size);
        TRY(query_run(&query));
    }
    return NULL;
}

static Error *find_list(
    Connection *catalog, TenantId tenant, const Digest *digest, bool *out_found, int64_t *out_id) {
    Query OWN_QUERY(query) = query_start(catalog, STATEMENT_FIND_CHUNK_LIST);
    query_bind_i64(&query, 1, tenant);
    query_bind_digest(&query, 2, digest);
    return query_find_i64(&query, out_found, out_id);
}

static Error *add_list(Connection *catalog, int64_t content, int64_t position, int64_t list) {
    Query OWN_QUERY(query) = query_start(catalog, STATEMENT_INSERT_CONTENT_LIST);
    query_bind_i64(&query, 1, content);
    query_bind_i64(&query, 2, position);
    query_bind_i64(&query, 3, list);
    return query_run(&query);
}

Error *chunk_lists_insert(
    Connection *catalog, TenantId tenant, int64_t content, const ChunkRef *refs, size_t count) {
    int64_t position = 0;
    for (size_t first = 0, length; first < count; first += length) {
        Digest digest;
        bool found;
        int64_t list;
        length = measure_list(&refs[first], count - first);
        TRY(digest_list(&refs[first], length, &digest));
        TRY(find_list(catalog, tenant, &digest, &found, &list));
        if (!found) TRY(insert_list(catalog, tenant, &digest, &refs[first], length, &list));
        TRY(add_list(catalog, content, position++, list));
    }
    return NULL;
}

static Error *read_ref(const Query *query, ChunkRef *out_ref) {
    uint64_t raw_size;
    TRY(query_digest(query, 0, &out_ref->hash));
    TRY(query_size(query, 1, &raw_size));
    if (raw_size < 1 || raw_size > CHUNK_SIZE)
        FAIL(CORRUPT, "catalog.db: a chunk of %llu bytes; run fsck", (unsigned long long)raw_size);
    out_ref->raw_size = (uint32_t)raw_size;
    return NULL;
}

/* Refs that were read before an error stay in the list; the caller frees them. */
static Error *read_refs(Query *query, ChunkRef **inout_refs, size_t *inout_count) {
    size_t capacity = 0;
    for (;;) {
        bool row;
        TRY(query_next(query, &row));
        if (!row) return NULL;
        TRY(memory_grow((void **)inout_refs, *inout_count, &capacity, sizeof **inout_refs));
        TRY(read_ref(query, &(*inout_refs)[*inout_count]));
        (*inout_count)++;
    }
}

static Error *read_rows(Connection *catalog, StatementId statement, int64_t id, ChunkRef **out_refs,
    size_t *out_count) {
    Query OWN_QUERY(query) = query_start(catalog, statement);
    ChunkRef *refs = NULL;
    size_t count = 0;
    query_bind_i64(&query, 1, id);
    Error *error = read_refs(&query, &refs, &count);
    if (error) {
        memory_free(refs);
        return error;
    }
    *out_refs = refs;
    *out_count = count;
    return NULL;
}

Error *chunk_lists_read(Connection *catalog, int64_t content, uint64_t expected,
    ChunkRef **out_refs, size_t *out_count) {
    ChunkRef *refs;
    size_t count;
    TRY(read_rows(catalog, STATEMENT_READ_CONTENT_CHUNKS, content, &refs, &count));
    if (count != expected) {
        memory_free(refs);
        FAIL(CORRUPT, "catalog.db: %zu references to chunks where %llu should be; run fsck", count,
            (unsigned long long)expected);
    }
    *out_refs = refs;
    *out_count = count;
    return NULL;
}

static Error *compare_digest(
    Connection *catalog, int64_t list, const Digest *expected, bool *out_equal) {
    ChunkRef *refs;
    size_t count;
    Digest digest;
    TRY(read_rows(catalog, STATEMENT_READ_LIST_CHUNKS, list, &refs, &count));
    *out_equal = false;
    Error *error = NULL;
    if (count <= CHUNK_LIST_LENGTH_MAX) {
        error = digest_list(refs, count, &digest);
        *out_equal = !error && digest_equal(&digest, expected);
    }
    memory_free(refs);
    return error;
}

Error *chunk_lists_check_next(
    Connection *catalog, int64_t *inout_id, bool *out_found, bool *out_sound) {
    Query OWN_QUERY(query) = query_start(catalog, STATEMENT_READ_CHUNK_LIST_AFTER);
    Digest digest;
    query_bind_i64(&query, 1, *inout_id);
    TRY(query_next(&query, out_found));
    if (!*out_found) return NULL;
    TRY(query_i64(&query, 0, inout_id));
    *out_sound = true;
    if (query_is_null(&query, 1)) return NULL;
    TRY(query_digest(&query, 1, &digest));
    return compare_digest(catalog, *inout_id, &digest, out_sound);
}

Error *chunk_lists_find_unused(
    Connection *catalog, int64_t after, bool *out_found, int64_t *out_id) {
    Query OWN_QUERY(query) = query_start(catalog, STATEMENT_FIND_UNUSED_CHUNK_LIST);
    query_bind_i64(&query, 1, after);
    return query_find_i64(&query, out_found, out_id);
}

Error *chunk_lists_delete_unused(Connection *catalog, int64_t first, int64_t last) {
    Query OWN_QUERY(query) = query_start(catalog, STATEMENT_DELETE_UNUSED_CHUNK_LISTS);
    query_bind_i64(&query, 1, first);
    query_bind_i64(&query, 2, last);
    return query_run(&query);
}
