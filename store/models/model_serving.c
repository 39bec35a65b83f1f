#include "store/models/model_serving.h"

#include <inttypes.h>

#include "store/database/store_name.h"
#include "store/database/transaction.h"
#include "store/models/models_internal.h"

static Error *check(const ModelBatching *batching) {
    if (batching->items_max < 1 || batching->items_max > MODEL_BATCH_MAX)
        FAIL(INVALID, "a batch of %" PRId64 " items; 1 to %d are possible", batching->items_max,
            MODEL_BATCH_MAX);
    if (batching->queue_delay_us < 0 || batching->queue_delay_us > MODEL_QUEUE_DELAY_US_MAX)
        FAIL(INVALID, "a queue delay of %" PRId64 " us; 0 to %d are possible",
            batching->queue_delay_us, MODEL_QUEUE_DELAY_US_MAX);
    return NULL;
}

static Error *write_batching(
    Connection *catalog, int64_t model, int64_t version, const ModelBatching *batching) {
    Query OWN_QUERY(query) = query_start(catalog, STATEMENT_SET_BATCHING);
    query_bind_i64(&query, 1, model);
    query_bind_i64(&query, 2, version);
    query_bind_i64(&query, 3, batching->items_max);
    query_bind_i64(&query, 4, batching->queue_delay_us);
    return query_run(&query);
}

Error *model_serving_set_batching(
    Store *store, TenantId tenant, const char *reference, const ModelBatching *batching) {
    ModelReference parsed;
    ModelVersion OWN_VERSION(version) = {0};
    int64_t model;
    bool found;
    TRY(check(batching));
    TRY(model_reference_parse(reference, &parsed));
    Transaction OWN_TRANSACTION(transaction) = {0};
    TRY(transaction_begin(store, DATABASE_CATALOG, &transaction));
    TRY(models_read_version(transaction.connection, tenant, &parsed, &version));
    TRY(models_find_row(transaction.connection, tenant, parsed.model, &found, &model));
    TRY(write_batching(transaction.connection, model, version.version, batching));
    return transaction_commit(&transaction);
}

static Error *write_unloaded(Connection *catalog, int64_t model, bool unloaded) {
    Query OWN_QUERY(query) = query_start(catalog, STATEMENT_SET_UNLOADED);
    query_bind_i64(&query, 1, model);
    query_bind_i64(&query, 2, unloaded);
    return query_run(&query);
}

Error *model_serving_set_unloaded(Store *store, TenantId tenant, const char *name, bool unloaded) {
    int64_t model;
    bool found;
    TRY(store_name_check("model", name));
    Transaction OWN_TRANSACTION(transaction) = {0};
    TRY(transaction_begin(store, DATABASE_CATALOG, &transaction));
    TRY(models_find_row(transaction.connection, tenant, name, &found, &model));
    if (!found) FAIL(NOT_FOUND, "no model %s", name);
    TRY(write_unloaded(transaction.connection, model, unloaded));
    return transaction_commit(&transaction);
}
