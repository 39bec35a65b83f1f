#pragma once
/* Tenants: the owners of models and jobs, with their share and their limits. Callers: the HTTP
 * routes, scheduler/node (cached settings), scheduler/service, housekeeping, and the command
 * tenant.
 * Threads: functions with a Connection run in catalog work (catalog.h), the others in any thread.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/accounts/quotas.h"
#include "store/database/store.h"

enum {
    TENANT_DAMAGE_SIZE = 64,
    TENANT_WEIGHT_MAX = 1000000,
    TENANT_RETENTION_DEFAULT_S = 7 * 24 * 3600,
};
#define QUOTA_UNLIMITED (-1)

typedef struct Tenant {
    TenantId id;
    char name[TENANT_NAME_SIZE];
    double created;      /* seconds since 1970 */
    int64_t weight;      /* 1 … TENANT_WEIGHT_MAX */
    int64_t retention_s; /* how long finished jobs stay */
    int64_t quotas[QUOTA_COUNT];
    /* invalid settings in the catalog, for people; defaults replace them. "": none */
    char damage[TENANT_DAMAGE_SIZE];
    /* the tenant's present use: */
    uint64_t
        /* of executables, jobs and other rows; a chunk that two of them use counts twice */
        bytes_stored;
    uint64_t output_bytes; /* of its jobs' outputs, unpacked */
    int64_t checkpoints;   /* checkpoints of all its jobs */
    int64_t queued_jobs;   /* queued or running jobs; the store does not tell these states apart */
} Tenant;

typedef struct TenantList {
    Tenant *items; /* in order of their names */
    size_t count;
} TenantList;

void tenant_list_release(TenantList *list);
DEFINE_OWN(TenantList, tenant_list_release);

/* The quota's name, such as "store_bytes". quota: not NONE. */
const char *tenants_quota_name(QuotaId quota);
bool tenants_find_quota(const char *name, QuotaId *out);

/* Adds a tenant with weight 1 and no limits. Errors: INVALID the name; CONFLICT the name is taken.
 */
MUST_CHECK Error *tenants_add(Connection *catalog, const char *name, TenantId *out_tenant);
/* Sets a tenant's weight. Errors: NOT_FOUND no such tenant; INVALID a weight out of range. */
MUST_CHECK Error *tenants_set_weight(Connection *catalog, TenantId tenant, int64_t weight);
MUST_CHECK Error *tenants_set_retention(Connection *catalog, TenantId tenant, int64_t retention_s);
/* Sets a quota. value: QUOTA_UNLIMITED removes the limit. */
MUST_CHECK Error *tenants_set_quota(
    Connection *catalog, TenantId tenant, QuotaId quota, int64_t value);

/* Removes quotas that this version does not know, sets a weight or retention that is out of range
 * to its default, and recounts the stored bytes and checkpoints. */
MUST_CHECK Error *tenants_repair(Connection *catalog, TenantId tenant);

/* Reads a tenant. Invalid settings count as not set (Tenant.damage). Errors: NOT_FOUND. */
MUST_CHECK Error *tenants_get(Store *store, TenantId tenant, Tenant *out_tenant);
/* Reads a tenant without counting its jobs; bytes_stored may be slightly old. */
MUST_CHECK Error *tenants_get_settings(Store *store, TenantId tenant, Tenant *out_tenant);
MUST_CHECK Error *tenants_list(Store *store, TenantList **out_list);
/* Lists the tenants behind that name, at most count_max. */
MUST_CHECK Error *tenants_list_page(
    Store *store, const char *after, size_t count_max, TenantList **out_list);
