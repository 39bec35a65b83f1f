#pragma once
/* The use of tenants, kept up to date in the transactions that add and remove rows. Callers:
 * store/jobs, store/models, store/contents, store/upkeep, in catalog transactions. */
#include "store/database/store_connections_internal.h"
#include "store/accounts/tenants.h"

/* Adds to the tenant's stored bytes. Errors: EXHAUSTED beyond the quota; the caller must then undo
 * the transaction or savepoint. */
MUST_CHECK Error *tenants_charge(Connection *catalog, TenantId tenant, uint64_t bytes);
/* Charges bytes without checking the quota, for data that must not be lost. */
MUST_CHECK Error *tenants_charge_unlimited(Connection *catalog, TenantId tenant, uint64_t bytes);
MUST_CHECK Error *tenants_discharge(Connection *catalog, TenantId tenant, uint64_t bytes);

/* For rows that charge themselves (row_charges.h). before: the result of tenants_get_stored at the
 * beginning of the transaction. Errors: EXHAUSTED the stored bytes have grown and are beyond the
 * tenant's quota. */
MUST_CHECK Error *tenants_get_stored(Connection *catalog, TenantId tenant, uint64_t *out_bytes);
MUST_CHECK Error *tenants_check_growth(Connection *catalog, TenantId tenant, uint64_t before);

/* Recounts what is stored for the tenant. */
MUST_CHECK Error *tenants_recount(Connection *catalog, TenantId tenant);

/* Charges the unpacked size of outputs, in addition to their stored size: some compress to almost
 * nothing. Errors: EXHAUSTED the quota output_bytes. */
MUST_CHECK Error *tenants_charge_outputs(Connection *catalog, TenantId tenant, uint64_t bytes_raw);
MUST_CHECK Error *tenants_discharge_outputs(
    Connection *catalog, TenantId tenant, uint64_t bytes_raw);
/* Called before a new job. Checks that fewer jobs are suspended or held than the tenant may have.
 * Suspending itself is never refused. Errors: EXHAUSTED the quota resting_jobs. */
MUST_CHECK Error *tenants_check_resting(Connection *catalog, TenantId tenant);

/* Changes the number of the tenant's checkpoints; more: added ones, negative for deleted ones. */
MUST_CHECK Error *tenants_count_checkpoints(Connection *catalog, TenantId tenant, int64_t more);
/* Checks the quota of checkpoints. A job that has begun may always store one. Errors: EXHAUSTED the
 * quota checkpoints. */
MUST_CHECK Error *tenants_check_checkpoints(Connection *catalog, TenantId tenant);
/* Finds the quota because of which older checkpoints must be deleted: the tenant is beyond
 * store_bytes or checkpoints. NONE: the tenant is within both. out_excess: by how much. */
MUST_CHECK Error *tenants_find_kept(
    Connection *catalog, TenantId tenant, QuotaId *out_quota, int64_t *out_excess);

/* Errors: NOT_FOUND. */
MUST_CHECK Error *tenants_read_retention(
    Connection *catalog, TenantId tenant, int64_t *out_retention_s);
