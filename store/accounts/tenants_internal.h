#pragma once
/* What a tenant's rows take, kept in the transactions that add and remove them. */
#include "store/database/store_internal.h"
#include "store/accounts/tenants.h"

/* Adds what is stored for the tenant. Errors: EXHAUSTED beyond its quota; the caller's transaction
 * or savepoint is then of no use. */
MUST_CHECK Error *tenants_charge(Connection *catalog, TenantId tenant, uint64_t bytes);
/* The same whatever the quota: for what must not be lost. */
MUST_CHECK Error *tenants_charge_unlimited(Connection *catalog, TenantId tenant, uint64_t bytes);
MUST_CHECK Error *tenants_discharge(Connection *catalog, TenantId tenant, uint64_t bytes);

/* For rows that charge themselves (row_charges.h). before: what tenants_get_stored said when the
 * transaction began. Errors: EXHAUSTED more is stored since, and beyond the tenant's quota. */
MUST_CHECK Error *tenants_get_stored(Connection *catalog, TenantId tenant, uint64_t *out_bytes);
MUST_CHECK Error *tenants_check_growth(Connection *catalog, TenantId tenant, uint64_t before);

/* Counts anew what is stored for the tenant. */
MUST_CHECK Error *tenants_recount(Connection *catalog, TenantId tenant);

/* The same of what outputs unpack to, which is charged beside what they take as stored: some
 * compress to nothing. Errors: EXHAUSTED its quota output_bytes. */
MUST_CHECK Error *tenants_charge_outputs(Connection *catalog, TenantId tenant, uint64_t bytes_raw);
MUST_CHECK Error *tenants_discharge_outputs(
    Connection *catalog, TenantId tenant, uint64_t bytes_raw);
/* Before a new job: whether fewer jobs are suspended or held than the tenant may have. Suspending
 * is never refused. Errors: EXHAUSTED its quota resting_jobs. */
MUST_CHECK Error *tenants_check_resting(Connection *catalog, TenantId tenant);

/* So many checkpoints of its jobs were added; less than 0: deleted. */
MUST_CHECK Error *tenants_count_checkpoints(Connection *catalog, TenantId tenant, int64_t more);
/* The same of checkpoints. A job that has begun may always store one. Errors: EXHAUSTED its quota
 * checkpoints. */
MUST_CHECK Error *tenants_check_checkpoints(Connection *catalog, TenantId tenant);
/* Why older checkpoints of a job are to go: the tenant is beyond store_bytes or checkpoints; NONE:
 * it is within both. out_excess: by how much. */
MUST_CHECK Error *tenants_find_kept(
    Connection *catalog, TenantId tenant, QuotaId *out_quota, int64_t *out_excess);

/* Errors: NOT_FOUND. */
MUST_CHECK Error *tenants_read_retention(
    Connection *catalog, TenantId tenant, int64_t *out_retention_s);
