#include "store/accounts/in_flight.h"

#include "base/allocator.h"
#include "store/database/store_internal.h"
#include "store/accounts/quotas.h"

/* Taken at once where the quota leaves plenty; elsewhere every byte counts. */
enum { STEP_BYTES = 256 << 10, PLENTY_BYTES = 16 << 20 };

/* What the catalog says of a tenant. */
typedef struct StoredBytes {
    char name[TENANT_NAME_SIZE];
    uint64_t stored, quota;
} StoredBytes;

void in_flight_table_init(InFlightTable *table) {
    (void)pthread_mutex_init(&table->mutex, NULL);
    table->tenants = NULL;
}

void in_flight_table_deinit(InFlightTable *table) {
    for (InFlightTenant *at = table->tenants, *next; at; at = next) {
        next = at->next;
        memory_free(at);
    }
    (void)pthread_mutex_destroy(&table->mutex);
}

InFlight in_flight_begin(Store *store, TenantId tenant) {
    return (InFlight){.store = store, .tenant = tenant};
}

static Error *read_stored(Store *store, TenantId tenant, StoredBytes *out) {
    OWN(Connection, catalog) = NULL;
    TRY(store_borrow_reader(store, DATABASE_CATALOG, &catalog));
    Query OWN_QUERY(query) = query_start(catalog, STATEMENT_READ_STORED_BYTES);
    query_bind_i64(&query, 1, tenant);
    query_bind_i64(&query, 2, QUOTA_STORE_BYTES);
    bool row;
    TRY(query_next(&query, &row));
    if (!row) FAIL(NOT_FOUND, "no such tenant");
    TRY(query_text(&query, 0, out->name, sizeof out->name));
    TRY(query_size(&query, 1, &out->stored));
    out->quota = UINT64_MAX;
    return query_is_null(&query, 2) ? NULL : query_size(&query, 2, &out->quota);
}

static InFlightTenant **find(InFlightTable *table, TenantId tenant) {
    InFlightTenant **at = &table->tenants;
    while (*at && (*at)->tenant != tenant) at = &(*at)->next;
    return at;
}

static Error *need_tenant(InFlightTable *table, TenantId tenant, InFlightTenant **out) {
    InFlightTenant **at = find(table, tenant);
    if (!*at) {
        TRY(memory_alloc(1, sizeof **at, (void **)at));
        (*at)->tenant = tenant;
    }
    *out = *at;
    return NULL;
}

static uint64_t left_of(uint64_t quota, uint64_t a, uint64_t b) {
    const uint64_t left = quota > a ? quota - a : 0;
    return left > b ? left - b : 0;
}

/* At least so many more, a step where there is plenty of room. The caller holds the table's mutex.
 */
static Error *take(
    InFlightTable *table, const StoredBytes *stored, InFlight *flight, uint64_t bytes) {
    InFlightTenant *tenant;
    TRY(need_tenant(table, flight->tenant, &tenant));
    uint64_t *taken = &tenant->bytes;
    const uint64_t left = left_of(stored->quota, stored->stored, *taken);
    if (bytes > left)
        FAIL(EXHAUSTED,
            "tenant %s: its quota store_bytes is %llu, %llu are stored, %llu on their way, and "
            "this would be %llu more",
            stored->name, (unsigned long long)stored->quota, (unsigned long long)stored->stored,
            (unsigned long long)*taken, (unsigned long long)bytes);
    if (bytes < STEP_BYTES && left >= PLENTY_BYTES) bytes = STEP_BYTES;
    *taken += bytes;
    flight->taken += bytes;
    return NULL;
}

/* A tenant that has nothing on its way any more leaves the list. */
static void give_back(InFlightTable *table, const InFlight *flight, uint64_t bytes) {
    InFlightTenant **at = find(table, flight->tenant), *found = *at;
    if (!found) return;
    found->bytes -= bytes;
    if (bytes > 0) found->settling -= flight->settling;
    if (found->bytes > 0) return;
    *at = found->next;
    memory_free(found);
}

/* The catalog is read under the table's mutex: what leaves the table was charged before, so that
 * nothing is missing in both. */
static Error *take_more(InFlightTable *table, InFlight *flight, uint64_t bytes) {
    StoredBytes stored;
    TRY(read_stored(flight->store, flight->tenant, &stored));
    Error *error = take(table, &stored, flight, bytes);
    if (error) give_back(table, flight, 0);
    return error;
}

Error *in_flight_add(InFlight *flight, uint64_t bytes) {
    if (bytes <= flight->taken - flight->used) {
        flight->used += bytes;
        return NULL;
    }
    InFlightTable *table = &flight->store->in_flight;
    const uint64_t missing = bytes - (flight->taken - flight->used);
    (void)pthread_mutex_lock(&table->mutex);
    Error *error = take_more(table, flight, missing);
    (void)pthread_mutex_unlock(&table->mutex);
    if (!error) flight->used += bytes;
    return error;
}

void in_flight_settle(InFlight *flight) {
    if (flight->taken == 0) return;
    InFlightTable *table = &flight->store->in_flight;
    (void)pthread_mutex_lock(&table->mutex);
    (*find(table, flight->tenant))->settling += flight->taken - flight->settling;
    (void)pthread_mutex_unlock(&table->mutex);
    flight->settling = flight->taken;
}

void in_flight_end(InFlight *flight) {
    if (flight->taken == 0) return;
    InFlightTable *table = &flight->store->in_flight;
    (void)pthread_mutex_lock(&table->mutex);
    give_back(table, flight, flight->taken);
    (void)pthread_mutex_unlock(&table->mutex);
    flight->used = flight->taken = flight->settling = 0;
}

static InFlightTenant look_up(Store *store, TenantId tenant) {
    InFlightTable *table = &store->in_flight;
    (void)pthread_mutex_lock(&table->mutex);
    const InFlightTenant *at = *find(table, tenant);
    const InFlightTenant found = at ? *at : (InFlightTenant){0};
    (void)pthread_mutex_unlock(&table->mutex);
    return found;
}

uint64_t in_flight_bytes(Store *store, TenantId tenant) { return look_up(store, tenant).bytes; }

uint64_t in_flight_unsettled_bytes(Store *store, TenantId tenant) {
    const InFlightTenant found = look_up(store, tenant);
    return found.bytes - found.settling;
}
