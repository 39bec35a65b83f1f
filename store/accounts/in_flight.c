#include "store/accounts/in_flight.h"

#include "base/allocator.h"
#include "store/database/store_connections_internal.h"
#include "store/accounts/quotas.h"

/* Far below the quota, an account charges a whole step at once; near the quota it charges exactly
 * the bytes that it needs. */
enum { STEP_BYTES = 256 << 10, PLENTY_BYTES = 16 << 20 };

/* A tenant's figures in the catalog. */
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

static Error *add_tenant(InFlightTable *table, TenantId tenant, InFlightTenant **out) {
    TRY(memory_alloc(1, sizeof **out, (void **)out));
    (*out)->tenant = tenant;
    (*out)->next = table->tenants;
    table->tenants = *out;
    return NULL;
}

static uint64_t left_of(uint64_t quota, uint64_t a, uint64_t b) {
    const uint64_t left = quota > a ? quota - a : 0;
    return left > b ? left - b : 0;
}

/* Charges at least `bytes` more. The caller holds the table's mutex. The catalog is read under that
 * mutex: bytes that leave the table were charged in the catalog before, so no bytes are missing in
 * both. */
static Error *take(InFlightTable *table, InFlight *flight, uint64_t bytes) {
    StoredBytes stored;
    InFlightTenant *tenant = *find(table, flight->tenant);
    TRY(read_stored(flight->store, flight->tenant, &stored));
    const uint64_t taken = tenant ? tenant->bytes : 0;
    const uint64_t left = left_of(stored.quota, stored.stored, taken);
    if (bytes > left)
        FAIL(EXHAUSTED,
            "tenant %s: its quota store_bytes is %llu, %llu are stored, %llu on their way, and "
            "this would be %llu more",
            stored.name, (unsigned long long)stored.quota, (unsigned long long)stored.stored,
            (unsigned long long)taken, (unsigned long long)bytes);
    if (bytes < STEP_BYTES && left >= PLENTY_BYTES) bytes = STEP_BYTES;
    if (!tenant) TRY(add_tenant(table, flight->tenant, &tenant));
    tenant->bytes += bytes;
    flight->taken += bytes;
    return NULL;
}

/* Returns an account's bytes. A tenant without bytes in flight leaves the list. */
static void give_back(InFlightTable *table, const InFlight *flight) {
    InFlightTenant **at = find(table, flight->tenant), *found = *at;
    found->bytes -= flight->taken;
    found->settling -= flight->settling;
    if (found->bytes > 0) return;
    *at = found->next;
    memory_free(found);
}

Error *in_flight_add(InFlight *flight, uint64_t bytes) {
    if (bytes <= flight->taken - flight->used) {
        flight->used += bytes;
        return NULL;
    }
    InFlightTable *table = &flight->store->in_flight;
    const uint64_t missing = bytes - (flight->taken - flight->used);
    (void)pthread_mutex_lock(&table->mutex);
    Error *error = take(table, flight, missing);
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
    give_back(table, flight);
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
