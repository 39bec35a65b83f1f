#include "store/accounts/tenants.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/allocator.h"
#include "base/clock.h"
#include "store/accounts/in_flight.h"
#include "store/database/store_name.h"
#include "store/accounts/tenants_internal.h"

static const char *const quota_names[QUOTA_COUNT] = {
#define QUOTA(name, number, text, unit) [number] = text,
#include "store/accounts/quotas.def"
#undef QUOTA
};

static bool is_quota(int64_t number) {
    return number > QUOTA_NONE && number < QUOTA_COUNT && quota_names[number];
}

void tenant_list_release(TenantList *list) {
    if (!list) return;
    memory_free(list->items);
    memory_free(list);
}

const char *tenants_quota_name(QuotaId quota) {
    assert(is_quota(quota));
    return quota_names[quota];
}

bool tenants_find_quota(const char *name, QuotaId *out) {
    for (int i = QUOTA_NONE + 1; i < QUOTA_COUNT; i++)
        if (is_quota(i) && strcmp(quota_names[i], name) == 0) {
            *out = (QuotaId)i;
            return true;
        }
    return false;
}

static Error *find_by_name(Connection *catalog, const char *name, bool *out_found) {
    Query OWN_QUERY(query) = query_start(catalog, STATEMENT_FIND_TENANT);
    query_bind_text(&query, 1, name);
    int64_t id;
    return query_find_i64(&query, out_found, &id);
}

Error *tenants_add(Connection *catalog, const char *name, TenantId *out_tenant) {
    bool found;
    TRY(store_name_check("tenant", name));
    TRY(find_by_name(catalog, name, &found));
    if (found) FAIL(CONFLICT, "tenant %s exists already", name);
    Query OWN_QUERY(query) = query_start(catalog, STATEMENT_INSERT_TENANT);
    query_bind_text(&query, 1, name);
    query_bind_f64(&query, 2, clock_real().calendar_s(clock_real().self));
    return query_insert(&query, out_tenant);
}

/* Notes the first damage only. One tenant's damaged settings must not stop the other tenants. */
static void note_damage(Tenant *tenant, const char *what, int64_t value) {
    if (tenant->damage[0]) return;
    (void)snprintf(tenant->damage, sizeof tenant->damage, "%s %lld", what, (long long)value);
}

static Error *read_quotas(Connection *catalog, Tenant *tenant) {
    for (int i = 0; i < QUOTA_COUNT; i++) tenant->quotas[i] = QUOTA_UNLIMITED;
    Query OWN_QUERY(query) = query_start(catalog, STATEMENT_READ_QUOTAS);
    query_bind_i64(&query, 1, tenant->id);
    for (;;) {
        bool row;
        TRY(query_next(&query, &row));
        if (!row) return NULL;
        const int64_t quota = query_any_i64(&query, 0, QUOTA_NONE);
        const int64_t value = query_any_i64(&query, 1, -1);
        if (!is_quota(quota))
            note_damage(tenant, "the unknown quota", quota);
        else if (value < 0)
            note_damage(tenant, quota_names[quota], value);
        else
            tenant->quotas[quota] = value;
    }
}

static Error *count_queued(Connection *catalog, Tenant *tenant) {
    Query OWN_QUERY(query) = query_start(catalog, STATEMENT_COUNT_QUEUED_JOBS);
    query_bind_i64(&query, 1, tenant->id);
    bool row;
    return query_find_i64(&query, &row, &tenant->queued_jobs);
}

/* Reads the query's next row; the tenant's figures of other tables are not filled. */
static Error *read_row(Query *query, bool *out_found, Tenant *out) {
    Tenant tenant = {0};
    bool row;
    TRY(query_next(query, &row));
    *out_found = row;
    if (!row) return NULL;
    TRY(query_i64(query, 0, &tenant.id));
    TRY(query_text(query, 1, tenant.name, sizeof tenant.name));
    if (query_is_null(query, 2))
        note_damage(&tenant, "the time of its making", 0);
    else
        TRY(query_f64(query, 2, &tenant.created));
    tenant.weight = query_any_i64(query, 3, 0);
    tenant.retention_s = query_any_i64(query, 4, -1);
    const int64_t stored = query_any_i64(query, 5, -1);
    if (stored < 0) note_damage(&tenant, "the stored bytes", stored);
    tenant.bytes_stored = stored > 0 ? (uint64_t)stored : 0;
    if (tenant.weight < 1 || tenant.weight > TENANT_WEIGHT_MAX) {
        note_damage(&tenant, "the weight", tenant.weight);
        tenant.weight = 1;
    }
    if (tenant.retention_s < 0) {
        note_damage(&tenant, "the retention", tenant.retention_s);
        tenant.retention_s = TENANT_RETENTION_DEFAULT_S;
    }
    const int64_t output_bytes = query_any_i64(query, 6, -1);
    if (output_bytes < 0) note_damage(&tenant, "the outputs' bytes", output_bytes);
    tenant.output_bytes = output_bytes > 0 ? (uint64_t)output_bytes : 0;
    tenant.checkpoints = query_any_i64(query, 7, -1);
    if (tenant.checkpoints < 0) note_damage(&tenant, "the checkpoints", tenant.checkpoints);
    *out = tenant;
    return NULL;
}

static Error *read_by_id(Connection *catalog, TenantId id, Tenant *out) {
    Query OWN_QUERY(query) = query_start(catalog, STATEMENT_READ_TENANT);
    query_bind_i64(&query, 1, id);
    bool found;
    TRY(read_row(&query, &found, out));
    if (!found) FAIL(NOT_FOUND, "no such tenant");
    return NULL;
}

static Error *write(Connection *catalog, const Tenant *tenant) {
    Query OWN_QUERY(query) = query_start(catalog, STATEMENT_SET_TENANT);
    query_bind_i64(&query, 1, tenant->id);
    query_bind_i64(&query, 2, tenant->weight);
    query_bind_i64(&query, 3, tenant->retention_s);
    return query_run(&query);
}

Error *tenants_set_weight(Connection *catalog, TenantId tenant, int64_t weight) {
    Tenant row;
    TRY(read_by_id(catalog, tenant, &row));
    if (weight < 1 || weight > TENANT_WEIGHT_MAX)
        FAIL(INVALID, "tenant %s: a weight is 1 to %d, not %lld", row.name, TENANT_WEIGHT_MAX,
            (long long)weight);
    row.weight = weight;
    return write(catalog, &row);
}

Error *tenants_set_retention(Connection *catalog, TenantId tenant, int64_t retention_s) {
    Tenant row;
    TRY(read_by_id(catalog, tenant, &row));
    if (retention_s < 0)
        FAIL(INVALID, "tenant %s: jobs can't stay for %lld seconds", row.name,
            (long long)retention_s);
    row.retention_s = retention_s;
    return write(catalog, &row);
}

Error *tenants_read_retention(Connection *catalog, TenantId tenant, int64_t *out_retention_s) {
    Tenant row;
    TRY(read_by_id(catalog, tenant, &row));
    *out_retention_s = row.retention_s;
    return NULL;
}

Error *tenants_set_quota(Connection *catalog, TenantId tenant, QuotaId quota, int64_t value) {
    Tenant row;
    TRY(read_by_id(catalog, tenant, &row));
    if (value < 0 && value != QUOTA_UNLIMITED)
        FAIL(INVALID, "tenant %s: %s can't be %lld", row.name, tenants_quota_name(quota),
            (long long)value);
    bool limited = value != QUOTA_UNLIMITED;
    Query OWN_QUERY(query) =
        query_start(catalog, limited ? STATEMENT_SET_QUOTA : STATEMENT_DELETE_QUOTA);
    query_bind_i64(&query, 1, tenant);
    query_bind_i64(&query, 2, quota);
    if (limited) query_bind_i64(&query, 3, value);
    return query_run(&query);
}

Error *tenants_recount(Connection *catalog, TenantId tenant) {
    Query OWN_QUERY(query) = query_start(catalog, STATEMENT_RECOUNT_TENANT);
    query_bind_i64(&query, 1, tenant);
    return query_run(&query);
}

enum { BAD_QUOTAS_MAX = 64 };

/* Collected first: deleting under a running list lets SQLite skip rows. */
static Error *list_bad_quotas(
    Connection *catalog, TenantId tenant, int64_t out_quotas[BAD_QUOTAS_MAX], size_t *out_count) {
    Query OWN_QUERY(query) = query_start(catalog, STATEMENT_READ_QUOTAS);
    query_bind_i64(&query, 1, tenant);
    for (*out_count = 0; *out_count < BAD_QUOTAS_MAX;) {
        bool row;
        TRY(query_next(&query, &row));
        if (!row) break;
        const int64_t quota = query_any_i64(&query, 0, QUOTA_NONE);
        if (!is_quota(quota) || query_any_i64(&query, 1, -1) < 0)
            out_quotas[(*out_count)++] = quota;
    }
    return NULL;
}

static Error *delete_bad_quotas(Connection *catalog, TenantId tenant) {
    int64_t quotas[BAD_QUOTAS_MAX];
    size_t count;
    TRY(list_bad_quotas(catalog, tenant, quotas, &count));
    for (size_t i = 0; i < count; i++) {
        Query OWN_QUERY(query) = query_start(catalog, STATEMENT_DELETE_QUOTA);
        query_bind_i64(&query, 1, tenant);
        query_bind_i64(&query, 2, quotas[i]);
        TRY(query_run(&query));
    }
    return NULL;
}

Error *tenants_repair(Connection *catalog, TenantId tenant) {
    Tenant row;
    TRY(read_by_id(catalog, tenant, &row));
    TRY(write(catalog, &row)); /* reading has replaced damaged settings by defaults */
    TRY(delete_bad_quotas(catalog, tenant));
    return tenants_recount(catalog, tenant);
}

static Error *get(Store *store, TenantId tenant, bool used, Tenant *out_tenant) {
    OWN(Connection, catalog) = NULL;
    Tenant row;
    TRY(store_borrow_reader(store, DATABASE_CATALOG, &catalog));
    TRY(read_by_id(catalog, tenant, &row));
    TRY(read_quotas(catalog, &row));
    if (used) TRY(count_queued(catalog, &row));
    *out_tenant = row;
    return NULL;
}

Error *tenants_get(Store *store, TenantId tenant, Tenant *out_tenant) {
    return get(store, tenant, true, out_tenant);
}

Error *tenants_get_settings(Store *store, TenantId tenant, Tenant *out_tenant) {
    return get(store, tenant, false, out_tenant);
}

static Error *read_after(Connection *catalog, const char *name, bool *out_found, Tenant *out) {
    {
        Query OWN_QUERY(query) = query_start(catalog, STATEMENT_READ_TENANT_AFTER);
        query_bind_text(&query, 1, name);
        TRY(read_row(&query, out_found, out));
        if (!*out_found) return NULL;
    }
    TRY(read_quotas(catalog, out));
    return count_queued(catalog, out);
}

Error *tenants_list_page(Store *store, const char *after, size_t count_max, TenantList **out_list) {
    OWN(TenantList, list) = NULL;
    TRY(memory_alloc(1, sizeof *list, (void **)&list));
    OWN(Connection, catalog) = NULL;
    TRY(store_borrow_reader(store, DATABASE_CATALOG, &catalog));
    size_t capacity = 0;
    while (list->count < count_max) {
        bool found;
        TRY(memory_grow((void **)&list->items, list->count, &capacity, sizeof *list->items));
        const char *last = list->count ? list->items[list->count - 1].name : after;
        TRY(read_after(catalog, last, &found, &list->items[list->count]));
        if (!found) break;
        /* damage may have changed the order of names, so the list ends at the first name that is
         * not greater */
        const int order = last[0] ? strcmp(list->items[list->count].name, last) : 1;
        list->count += order != 0;
        if (order <= 0) break;
    }
    *out_list = TAKE(list);
    return NULL;
}

Error *tenants_list(Store *store, TenantList **out_list) {
    return tenants_list_page(store, "", SIZE_MAX, out_list);
}

static Error *change_bytes(
    Connection *catalog, StatementId statement, TenantId tenant, int64_t bytes) {
    Query OWN_QUERY(query) = query_start(catalog, statement);
    query_bind_i64(&query, 1, tenant);
    query_bind_i64(&query, 2, bytes);
    return query_run(&query);
}

/* Fails when the query has a row, which describes the exceeded quota. */
static Error *check_exceeded(Query *query, QuotaId quota) {
    bool row;
    char name[TENANT_NAME_SIZE];
    int64_t needed, value;
    TRY(query_next(query, &row));
    if (!row) return NULL;
    TRY(query_text(query, 0, name, sizeof name));
    TRY(query_i64(query, 1, &needed));
    TRY(query_i64(query, 2, &value));
    FAIL(EXHAUSTED, "tenant %s: its quota %s is %lld, and this would make it %lld", name,
        tenants_quota_name(quota), (long long)value, (long long)needed);
}

static Error *check_quota(
    Connection *catalog, StatementId statement, TenantId tenant, QuotaId quota) {
    Query OWN_QUERY(query) = query_start(catalog, statement);
    query_bind_i64(&query, 1, tenant);
    query_bind_i64(&query, 2, quota);
    return check_exceeded(&query, quota);
}

/* Counts the bytes in flight (in_flight.h), too, since they are on the disk. */
static Error *check_store_quota(Connection *catalog, TenantId tenant) {
    const uint64_t bytes = in_flight_unsettled_bytes(catalog->store, tenant);
    Query OWN_QUERY(query) = query_start(catalog, STATEMENT_FIND_EXCEEDED_ROOM);
    query_bind_i64(&query, 1, tenant);
    query_bind_i64(&query, 2, QUOTA_STORE_BYTES);
    query_bind_i64(&query, 3, bytes < INT64_MAX / 2 ? (int64_t)bytes : INT64_MAX / 2);
    return check_exceeded(&query, QUOTA_STORE_BYTES);
}

Error *tenants_charge(Connection *catalog, TenantId tenant, uint64_t bytes) {
    if (bytes == 0) return NULL;
    TRY(change_bytes(catalog, STATEMENT_CHARGE_TENANT, tenant, (int64_t)bytes));
    return check_store_quota(catalog, tenant);
}

Error *tenants_get_stored(Connection *catalog, TenantId tenant, uint64_t *out_bytes) {
    Tenant row;
    TRY(read_by_id(catalog, tenant, &row));
    *out_bytes = row.bytes_stored;
    return NULL;
}

Error *tenants_check_growth(Connection *catalog, TenantId tenant, uint64_t before) {
    uint64_t now;
    TRY(tenants_get_stored(catalog, tenant, &now));
    if (now <= before) return NULL;
    return check_store_quota(catalog, tenant);
}

Error *tenants_charge_outputs(Connection *catalog, TenantId tenant, uint64_t bytes_raw) {
    if (bytes_raw == 0) return NULL;
    TRY(change_bytes(catalog, STATEMENT_CHARGE_OUTPUTS, tenant, (int64_t)bytes_raw));
    return check_quota(catalog, STATEMENT_FIND_EXCEEDED_OUTPUTS, tenant, QUOTA_OUTPUT_BYTES);
}

Error *tenants_discharge_outputs(Connection *catalog, TenantId tenant, uint64_t bytes_raw) {
    if (bytes_raw == 0) return NULL;
    return change_bytes(catalog, STATEMENT_CHARGE_OUTPUTS, tenant, -(int64_t)bytes_raw);
}

Error *tenants_check_resting(Connection *catalog, TenantId tenant) {
    Error *error =
        check_quota(catalog, STATEMENT_FIND_EXCEEDED_RESTING, tenant, QUOTA_RESTING_JOBS);
    return error_wrap(error, "resume or cancel suspended jobs before");
}

Error *tenants_count_checkpoints(Connection *catalog, TenantId tenant, int64_t more) {
    return more == 0 ? NULL : change_bytes(catalog, STATEMENT_COUNT_CHECKPOINT, tenant, more);
}

Error *tenants_check_checkpoints(Connection *catalog, TenantId tenant) {
    Error *error = check_quota(catalog, STATEMENT_FIND_FULL_CHECKPOINTS, tenant, QUOTA_CHECKPOINTS);
    return error_wrap(error, "remove finished jobs, or cancel suspended ones, before");
}

/* Finds the quota that the tenant exceeds, or QUOTA_NONE. */
Error *tenants_find_kept(
    Connection *catalog, TenantId tenant, QuotaId *out_quota, int64_t *out_excess) {
    static const struct {
        StatementId statement;
        QuotaId quota;
    } looks[] = {{STATEMENT_FIND_EXCEEDED_QUOTA, QUOTA_STORE_BYTES},
        {STATEMENT_FIND_EXCEEDED_CHECKPOINTS, QUOTA_CHECKPOINTS}};
    *out_quota = QUOTA_NONE;
    *out_excess = 0;
    for (size_t i = 0; i < sizeof looks / sizeof *looks && *out_quota == QUOTA_NONE; i++) {
        bool found;
        int64_t used, value;
        Query OWN_QUERY(query) = query_start(catalog, looks[i].statement);
        query_bind_i64(&query, 1, tenant);
        query_bind_i64(&query, 2, looks[i].quota);
        TRY(query_next(&query, &found));
        if (!found) continue;
        TRY(query_i64(&query, 1, &used));
        TRY(query_i64(&query, 2, &value));
        *out_quota = looks[i].quota;
        *out_excess = used - value;
    }
    return NULL;
}

Error *tenants_charge_unlimited(Connection *catalog, TenantId tenant, uint64_t bytes) {
    return bytes == 0 ? NULL
                      : change_bytes(catalog, STATEMENT_CHARGE_TENANT, tenant, (int64_t)bytes);
}

Error *tenants_discharge(Connection *catalog, TenantId tenant, uint64_t bytes) {
    if (bytes == 0) return NULL;
    store_note_released(catalog, bytes);
    return change_bytes(catalog, STATEMENT_CHARGE_TENANT, tenant, -(int64_t)bytes);
}
