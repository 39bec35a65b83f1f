#include <string.h>

#include "base/checked.h"
#include "base/clock.h"
#include "store/chunks/chunk_upload_internal.h"
#include "base/digest_set.h"
#include "store/models/models.h"
#include "store/models/models_internal.h"
#include "store/database/row_costs.h"
#include "store/database/store_name.h"
#include "store/accounts/tenants_internal.h"
#include "store/database/transaction.h"

/* Values that are computed before the transaction. */
typedef struct Registration {
    TenantId tenant;
    const char *name;
    const ExecutableContent *content;
    Digest manifest_digest;
    uint64_t bytes_raw;
    uint64_t bytes_stored;
    double created;
} Registration;

static Error *check_arguments(const char *name, const ExecutableContent *content,
    const char *const *aliases, size_t alias_count) {
    TRY(store_name_check("model", name));
    if (alias_count > MODEL_ALIASES_MAX)
        FAIL(INVALID, "model %s: %zu aliases at once, at most %d are taken", name, alias_count,
            MODEL_ALIASES_MAX);
    for (size_t i = 0; i < alias_count; i++) TRY(model_reference_check_alias(aliases[i]));
    if (content->manifest_size < 1 || content->manifest_size > EXECUTABLE_MANIFEST_SIZE_MAX)
        FAIL(INVALID, "model %s: a manifest of %zu bytes, at most %d are stored", name,
            content->manifest_size, EXECUTABLE_MANIFEST_SIZE_MAX);
    return NULL;
}

/* Pins every chunk by the upload, so that gc deletes none before the catalog refers to it. */
static Error *pin_chunks(ChunkUpload *upload, Registration *registration) {
    const ExecutableContent *content = registration->content;
    DigestSet OWN_DIGEST_SET(counted) = {0};
    registration->bytes_raw = content->manifest_raw_size;
    registration->bytes_stored = content->manifest_size + ROW_COST_EXECUTABLE +
                                 (uint64_t)content->chunk_count * ROW_COST_CHUNK;
    for (size_t i = 0; i < content->chunk_count; i++) {
        const ChunkRef *ref = &content->chunks[i];
        uint32_t stored_size;
        TRY_WRAP(chunk_upload_pin(upload, ref, &stored_size), "model %s", registration->name);
        if (!checked_add_u64(registration->bytes_raw, ref->raw_size, &registration->bytes_raw))
            registration->bytes_raw = UINT64_MAX;
        if (digest_set_find(&counted, &ref->hash)) continue;
        TRY(digest_set_add(&counted, &ref->hash, 1));
        registration->bytes_stored += stored_size;
    }
    if (registration->bytes_raw > INT64_MAX)
        FAIL(INVALID, "model %s: its size is beyond 2^63 bytes", registration->name);
    return NULL;
}

static Error *insert_chunks(
    Connection *catalog, const Registration *registration, int64_t executable) {
    for (size_t i = 0; i < registration->content->chunk_count; i++) {
        const ChunkRef *ref = &registration->content->chunks[i];
        Query OWN_QUERY(query) = query_start(catalog, STATEMENT_INSERT_EXECUTABLE_CHUNK);
        query_bind_i64(&query, 1, registration->tenant);
        query_bind_i64(&query, 2, executable);
        query_bind_i64(&query, 3, (int64_t)i);
        query_bind_digest(&query, 4, &ref->hash);
        query_bind_i64(&query, 5, ref->raw_size);
        TRY(query_run(&query));
    }
    return NULL;
}

static Error *insert_executable(
    Connection *catalog, const Registration *registration, int64_t *out_executable) {
    const ExecutableContent *content = registration->content;
    int64_t executable;
    {
        Query OWN_QUERY(query) = query_start(catalog, STATEMENT_INSERT_EXECUTABLE);
        query_bind_i64(&query, 1, registration->tenant);
        query_bind_digest(&query, 2, &content->identity);
        query_bind_i64(&query, 3, (int64_t)registration->bytes_raw);
        query_bind_i64(&query, 4, (int64_t)registration->bytes_stored);
        query_bind_i64(&query, 5, (int64_t)content->chunk_count);
        query_bind_f64(&query, 6, registration->created);
        query_bind_digest(&query, 7, &registration->manifest_digest);
        query_bind_blob(&query, 8, content->manifest, content->manifest_size);
        bool row;
        TRY(query_find_i64(&query, &row, &executable));
    }
    TRY(insert_chunks(catalog, registration, executable));
    TRY(tenants_charge(catalog, registration->tenant, registration->bytes_stored));
    *out_executable = executable;
    return NULL;
}

static Error *find_executable(Connection *catalog, const Registration *registration,
    bool *out_found, int64_t *out_executable) {
    Query OWN_QUERY(query) = query_start(catalog, STATEMENT_FIND_EXECUTABLE);
    query_bind_i64(&query, 1, registration->tenant);
    query_bind_digest(&query, 2, &registration->content->identity);
    return query_find_i64(&query, out_found, out_executable);
}

static Error *insert_model(
    Connection *catalog, const Registration *registration, int64_t *out_model) {
    Query OWN_QUERY(query) = query_start(catalog, STATEMENT_INSERT_MODEL);
    query_bind_i64(&query, 1, registration->tenant);
    query_bind_text(&query, 2, registration->name);
    query_bind_f64(&query, 3, registration->created);
    bool row;
    return query_find_i64(&query, &row, out_model);
}

static Error *find_version(
    Connection *catalog, int64_t model, int64_t executable, bool *out_found, int64_t *out_version) {
    Query OWN_QUERY(query) = query_start(catalog, STATEMENT_FIND_VERSION);
    query_bind_i64(&query, 1, model);
    query_bind_i64(&query, 2, executable);
    return query_find_i64(&query, out_found, out_version);
}

static Error *take_number(Connection *catalog, int64_t model, int64_t *out_version) {
    Query OWN_QUERY(query) = query_start(catalog, STATEMENT_TAKE_VERSION_NUMBER);
    query_bind_i64(&query, 1, model);
    bool row;
    return query_find_i64(&query, &row, out_version);
}

static Error *insert_version(Connection *catalog, const Registration *registration, int64_t model,
    int64_t version, int64_t executable) {
    Query OWN_QUERY(query) = query_start(catalog, STATEMENT_INSERT_VERSION);
    query_bind_i64(&query, 1, registration->tenant);
    query_bind_i64(&query, 2, model);
    query_bind_i64(&query, 3, version);
    query_bind_i64(&query, 4, executable);
    query_bind_f64(&query, 5, registration->created);
    return query_run(&query);
}

/* Finds the version with this executable, or adds a new one. */
static Error *write_version(Connection *catalog, const Registration *registration,
    int64_t *out_model, int64_t *out_version, bool *out_created) {
    bool model_found, executable_found, version_found = false;
    int64_t executable;
    TRY(models_find_row(
        catalog, registration->tenant, registration->name, &model_found, out_model));
    if (!model_found) TRY(insert_model(catalog, registration, out_model));
    TRY(find_executable(catalog, registration, &executable_found, &executable));
    if (!executable_found) TRY(insert_executable(catalog, registration, &executable));
    TRY(find_version(catalog, *out_model, executable, &version_found, out_version));
    if (!version_found) {
        TRY(take_number(catalog, *out_model, out_version));
        TRY(insert_version(catalog, registration, *out_model, *out_version, executable));
    }
    *out_created = !version_found;
    return NULL;
}

Error *models_register(ChunkUpload *upload, const char *name, const ExecutableContent *content,
    const char *const *aliases, size_t alias_count, ModelVersion *out_version, bool *out_created) {
    Registration registration = {.tenant = upload->tenant,
        .name = name,
        .content = content,
        .created = clock_real().calendar_s(clock_real().self)};
    TRY(check_arguments(name, content, aliases, alias_count));
    TRY(digest_sha256(content->manifest, content->manifest_size, &registration.manifest_digest));
    TRY(pin_chunks(upload, &registration));
    TRY(chunk_upload_flush(upload));
    Transaction OWN_TRANSACTION(transaction) = {0};
    TRY(transaction_begin(upload->store, DATABASE_CATALOG, &transaction));
    ModelReference reference = {.kind = MODEL_REFERENCE_VERSION};
    memcpy(reference.model, name, strlen(name) + 1);
    int64_t model;
    uint64_t stored;
    bool created;
    TRY(tenants_get_stored(transaction.connection, registration.tenant, &stored));
    TRY(write_version(transaction.connection, &registration, &model, &reference.version, &created));
    for (size_t i = 0; i < alias_count; i++)
        TRY(models_write_alias(
            transaction.connection, registration.tenant, model, aliases[i], reference.version));
    TRY(tenants_check_growth(transaction.connection, registration.tenant, stored));
    ModelVersion OWN_VERSION(version) = {0};
    TRY(models_read_version(transaction.connection, registration.tenant, &reference, &version));
    TRY(transaction_commit(&transaction));
    chunk_upload_keep(upload);
    *out_version = version;
    version.aliases = NULL;
    if (out_created) *out_created = created;
    return NULL;
}

Error *models_register_container(ChunkUpload *upload, const char *name, const Container *container,
    const char *const *aliases, size_t alias_count, ModelVersion *out_version) {
    ByteWriter OWN_BYTES(packed) = {0};
    ByteReader manifest = container_get_manifest(container);
    TRY(container_pack_manifest(manifest.data, manifest.size, &packed));
    ExecutableContent content = {
        .identity = *container_get_identity(container),
        .manifest = packed.data,
        .manifest_size = packed.size,
        .manifest_raw_size = manifest.size,
    };
    content.chunks = container_get_refs(container, &content.chunk_count);
    return models_register(upload, name, &content, aliases, alias_count, out_version, NULL);
}
