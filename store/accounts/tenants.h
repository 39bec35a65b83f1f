#pragma once
/* Tenants: who owns models and jobs, with which share and within which limits. */
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
    char damage[TENANT_DAMAGE_SIZE]; /* settings that the catalog holds no sense of, for people; the
                                        defaults stand in their place. "": none */
    /* used */
    uint64_t
        bytes_stored; /* of its executables, jobs and other rows; a chunk of two counts twice */
    uint64_t output_bytes; /* of its jobs' outputs, unpacked */
    int64_t checkpoints;   /* that its jobs have */
    int64_t queued_jobs;   /* queued or running: which of the two the store does not know */
} Tenant;

typedef struct TenantList {
    Tenant *items; /* in order of their names */
    size_t count;
} TenantList;

void tenant_list_release(TenantList *list);
DEFINE_OWN(TenantList, tenant_list_release);

/* "store_bytes". quota: not NONE. */
const char *tenants_quota_name(QuotaId quota);
bool tenants_find_quota(const char *name, QuotaId *out);

/* Weight 1, no limits. Errors: INVALID no name; CONFLICT there is one of this name. */
MUST_CHECK Error *tenants_add(Connection *catalog, const char *name, TenantId *out_tenant);
/* Errors: NOT_FOUND no such tenant; INVALID a weight out of range. */
MUST_CHECK Error *tenants_set_weight(Connection *catalog, TenantId tenant, int64_t weight);
MUST_CHECK Error *tenants_set_retention(Connection *catalog, TenantId tenant, int64_t retention_s);
/* value: QUOTA_UNLIMITED takes the limit away. */
MUST_CHECK Error *tenants_set_quota(
    Connection *catalog, TenantId tenant, QuotaId quota, int64_t value);

/* Removes quotas that this version does not know, sets a weight and a retention that are out of
 * range to their defaults, and counts anew what is stored. */
MUST_CHECK Error *tenants_repair(Connection *catalog, TenantId tenant);

/* Settings that make no sense are as if they were not set (Tenant.damage). Errors: NOT_FOUND. */
MUST_CHECK Error *tenants_get(Store *store, TenantId tenant, Tenant *out_tenant);
/* Without counting its jobs; bytes_stored is of some moment. */
MUST_CHECK Error *tenants_get_settings(Store *store, TenantId tenant, Tenant *out_tenant);
MUST_CHECK Error *tenants_list(Store *store, TenantList **out_list);
/* Those behind that name, count_max at most. */
MUST_CHECK Error *tenants_list_page(
    Store *store, const char *after, size_t count_max, TenantList **out_list);
