#include "store/models/models.h"

#include <string.h>

#include "base/allocator.h"
#include "store/models/model_reference.h"
#include "store/models/models_internal.h"
#include "store/models/model_removals.h"
#include "store/database/removal_steps.h"
#include "store/database/store_name.h"
#include "store/models/stored_executable_internal.h"
#include "store/accounts/tenants_internal.h"
#include "store/database/transaction.h"

enum { ALIASES_TEXT_MAX = 1 << 20 };

void model_version_deinit(ModelVersion *version) {
    memory_free(version->aliases);
    *version = (ModelVersion){0};
}

void model_list_release(ModelList *list) {
    if (!list) return;
    for (size_t i = 0; i < list->count; i++) model_version_deinit(&list->items[i]);
    memory_free(list->items);
    memory_free(list);
}

/* SQLite returns the names in any order, with blanks between them. */
static Error *split_aliases(const char *names, ModelVersion *version) {
    size_t capacity = 0;
    while (*names) {
        size_t length = strcspn(names, " ");
        if (length >= MODEL_NAME_SIZE)
            FAIL(CORRUPT, "catalog.db: an alias of %zu letters; run fsck", length);
        TRY(memory_grow(
            (void **)&version->aliases, version->alias_count, &capacity, sizeof *version->aliases));
        size_t at = version->alias_count++;
        char name[MODEL_NAME_SIZE] = {0};
        memcpy(name, names, length);
        for (; at > 0 && strcmp(version->aliases[at - 1], name) > 0; at--)
            memcpy(version->aliases[at], version->aliases[at - 1], MODEL_NAME_SIZE);
        memcpy(version->aliases[at], name, MODEL_NAME_SIZE);
        names += length + (names[length] == ' ');
    }
    return NULL;
}

static Error *read_aliases(const Query *query, int column, ModelVersion *version) {
    if (sqlite3_column_type(query->statement, column) == SQLITE_NULL) return NULL;
    size_t size = (size_t)sqlite3_column_bytes(query->statement, column) + 1;
    if (size > ALIASES_TEXT_MAX)
        FAIL(
            EXHAUSTED, "%s@%lld has too many aliases", version->model, (long long)version->version);
    char *names;
    TRY(memory_alloc(size, 1, (void **)&names));
    Error *error = query_text(query, column, names, size);
    if (!error) error = split_aliases(names, version);
    memory_free(names);
    return error;
}

/* A row of VERSION_ROW. */
static Error *read_version(const Query *query, ModelVersion *out_version) {
    ModelVersion OWN_VERSION(version) = {0};
    int64_t unloaded;
    TRY(query_text(query, 0, version.model, sizeof version.model));
    TRY(query_i64(query, 1, &version.version));
    TRY(query_digest(query, 2, &version.executable));
    TRY(query_size(query, 3, &version.bytes_raw));
    TRY(query_size(query, 4, &version.bytes_stored));
    TRY(query_f64(query, 5, &version.created));
    TRY(read_aliases(query, 6, &version));
    TRY(query_i64(query, 7, &version.batching.items_max));
    TRY(query_i64(query, 8, &version.batching.queue_delay_us));
    TRY(query_i64(query, 9, &unloaded));
    version.unloaded = unloaded != 0;
    *out_version = version;
    version.aliases = NULL;
    return NULL;
}

static Error *fail_no_version(const ModelReference *reference) {
    switch (reference->kind) {
    case MODEL_REFERENCE_VERSION:
        FAIL(NOT_FOUND, "no model %s@%lld", reference->model, (long long)reference->version);
    case MODEL_REFERENCE_ALIAS:
        FAIL(NOT_FOUND, "no model %s@%s", reference->model, reference->alias);
    case MODEL_REFERENCE_NEWEST:
        break;
    }
    FAIL(NOT_FOUND, "no model %s", reference->model);
}

Error *models_read_version(Connection *catalog, TenantId tenant, const ModelReference *reference,
    ModelVersion *out_version) {
    static const StatementId statements[] = {
        [MODEL_REFERENCE_NEWEST] = STATEMENT_READ_NEWEST,
        [MODEL_REFERENCE_VERSION] = STATEMENT_READ_VERSION,
        [MODEL_REFERENCE_ALIAS] = STATEMENT_READ_ALIASED,
    };
    Query OWN_QUERY(query) = query_start(catalog, statements[reference->kind]);
    query_bind_i64(&query, 1, tenant);
    query_bind_text(&query, 2, reference->model);
    if (reference->kind == MODEL_REFERENCE_VERSION) query_bind_i64(&query, 3, reference->version);
    if (reference->kind == MODEL_REFERENCE_ALIAS) query_bind_text(&query, 3, reference->alias);
    bool row;
    TRY(query_next(&query, &row));
    return row ? read_version(&query, out_version) : fail_no_version(reference);
}

Error *models_find(
    Store *store, TenantId tenant, const char *reference, ModelVersion *out_version) {
    ModelReference parsed;
    TRY(model_reference_parse(reference, &parsed));
    OWN(Connection, catalog) = NULL;
    TRY(store_borrow_reader(store, DATABASE_CATALOG, &catalog));
    return models_read_version(catalog, tenant, &parsed, out_version);
}

/* Names of models that are being removed begin with a blank, which sorts before all other names. */
static const char before_all_names[] = "!";

static Error *list_versions(Store *store, TenantId tenant, const char *after_model,
    int64_t after_version, size_t count_max, size_t aliases_max, ModelList **out_list) {
    OWN(ModelList, list) = NULL;
    size_t capacity = 0, aliases = 0;
    TRY(memory_alloc(1, sizeof *list, (void **)&list));
    OWN(Connection, catalog) = NULL;
    TRY(store_borrow_reader(store, DATABASE_CATALOG, &catalog));
    Query OWN_QUERY(query) = query_start(catalog, STATEMENT_LIST_VERSIONS);
    query_bind_i64(&query, 1, tenant);
    query_bind_text(&query, 2, *after_model ? after_model : before_all_names);
    query_bind_i64(&query, 3, after_version);
    query_bind_i64(&query, 4, count_max < INT64_MAX ? (int64_t)count_max + 1 : INT64_MAX);
    for (;;) {
        bool row;
        TRY(query_next(&query, &row));
        list->more = row && (list->count == count_max || aliases > aliases_max);
        if (!row || list->more) break;
        TRY(memory_grow((void **)&list->items, list->count, &capacity, sizeof *list->items));
        TRY(read_version(&query, &list->items[list->count]));
        aliases += list->items[list->count++].alias_count;
    }
    *out_list = TAKE(list);
    return NULL;
}

Error *models_list(Store *store, TenantId tenant, ModelList **out_list) {
    return list_versions(store, tenant, "", 0, SIZE_MAX, SIZE_MAX, out_list);
}

Error *models_list_page(Store *store, TenantId tenant, const char *after_model,
    int64_t after_version, size_t count_max, ModelList **out_list) {
    return list_versions(
        store, tenant, after_model, after_version, count_max, MODELS_PAGE_ALIASES_MAX, out_list);
}

Error *models_find_row(
    Connection *catalog, TenantId tenant, const char *name, bool *out_found, int64_t *out_model) {
    Query OWN_QUERY(query) = query_start(catalog, STATEMENT_FIND_MODEL);
    query_bind_i64(&query, 1, tenant);
    query_bind_text(&query, 2, name);
    return query_find_i64(&query, out_found, out_model);
}

static Error *count_versions(Connection *catalog, int64_t model, int64_t *out_count) {
    Query OWN_QUERY(query) = query_start(catalog, STATEMENT_COUNT_VERSIONS);
    query_bind_i64(&query, 1, model);
    bool found;
    return query_find_i64(&query, &found, out_count);
}

static Error *delete_model(Connection *catalog, int64_t model) {
    uint64_t rows = REMOVAL_STEP_ROWS;
    TRY(model_removals_mark(catalog, model));
    return model_removals_step(catalog, model, &rows);
}

static Error *delete_version(Connection *catalog, int64_t model, int64_t version) {
    Query OWN_QUERY(query) = query_start(catalog, STATEMENT_DELETE_VERSION);
    query_bind_i64(&query, 1, model);
    query_bind_i64(&query, 2, version);
    return query_run(&query);
}

/* Removes a model or one version. *out_count: the number of removed versions. */
static Error *remove_rows(
    Connection *catalog, TenantId tenant, const ModelReference *reference, uint64_t *out_count) {
    ModelVersion OWN_VERSION(version) = {0};
    bool found;
    int64_t model, count;
    TRY(models_read_version(catalog, tenant, reference, &version));
    TRY(models_find_row(catalog, tenant, reference->model, &found, &model));
    TRY(count_versions(catalog, model, &count));
    bool whole = reference->kind == MODEL_REFERENCE_NEWEST || count == 1;
    *out_count = whole ? (uint64_t)count : 1;
    return whole ? delete_model(catalog, model) : delete_version(catalog, model, version.version);
}

Error *models_remove(Store *store, TenantId tenant, const char *reference, uint64_t *out_count) {
    ModelReference parsed;
    TRY(model_reference_parse(reference, &parsed));
    Transaction OWN_TRANSACTION(transaction) = {0};
    TRY(transaction_begin(store, DATABASE_CATALOG, &transaction));
    transaction.frees = true;
    uint64_t versions, executables = 0;
    bool whole;
    TRY(remove_rows(transaction.connection, tenant, &parsed, &versions));
    TRY(stored_executable_delete_unused(
        store, transaction.connection, tenant, &executables, &whole)); /* gc deletes the rest */
    TRY(transaction_commit(&transaction));
    if (out_count) *out_count = versions;
    return NULL;
}

static Error *count_aliases(
    Connection *catalog, int64_t model, int64_t version, int64_t *out_count) {
    Query OWN_QUERY(query) = query_start(catalog, STATEMENT_COUNT_ALIASES);
    query_bind_i64(&query, 1, model);
    query_bind_i64(&query, 2, version);
    bool found;
    return query_find_i64(&query, &found, out_count);
}

static Error *put_alias(
    Connection *catalog, TenantId tenant, int64_t model, const char *alias, int64_t version) {
    Query OWN_QUERY(query) = query_start(catalog, STATEMENT_SET_ALIAS);
    query_bind_i64(&query, 1, tenant);
    query_bind_i64(&query, 2, model);
    query_bind_text(&query, 3, alias);
    query_bind_i64(&query, 4, version);
    return query_run(&query);
}

/* Refuses only a new alias: an alias that the version has already is no growth. */
Error *models_write_alias(
    Connection *catalog, TenantId tenant, int64_t model, const char *alias, int64_t version) {
    int64_t before, after;
    TRY(count_aliases(catalog, model, version, &before));
    TRY(put_alias(catalog, tenant, model, alias, version));
    TRY(count_aliases(catalog, model, version, &after));
    if (after > before && after > MODEL_VERSION_ALIASES_MAX)
        FAIL(EXHAUSTED,
            "alias %s: version %lld has %lld aliases, and %d is the limit; give one of them to "
            "another version first",
            alias, (long long)version, (long long)before, MODEL_VERSION_ALIASES_MAX);
    return NULL;
}

Error *models_set_alias(
    Store *store, TenantId tenant, const char *name, const char *alias, int64_t version) {
    ModelReference reference = {.kind = MODEL_REFERENCE_VERSION, .version = version};
    TRY(store_name_check("model", name));
    TRY(model_reference_check_alias(alias));
    memcpy(reference.model, name, strlen(name) + 1);
    Transaction OWN_TRANSACTION(transaction) = {0};
    TRY(transaction_begin(store, DATABASE_CATALOG, &transaction));
    ModelVersion OWN_VERSION(found_version) = {0};
    bool found;
    int64_t model;
    uint64_t stored;
    TRY(models_read_version(transaction.connection, tenant, &reference, &found_version));
    TRY(tenants_get_stored(transaction.connection, tenant, &stored));
    TRY(models_find_row(transaction.connection, tenant, name, &found, &model));
    TRY(models_write_alias(transaction.connection, tenant, model, alias, version));
    TRY(tenants_check_growth(transaction.connection, tenant, stored));
    return transaction_commit(&transaction);
}
