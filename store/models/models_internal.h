#pragma once
/* Rows of models, for removal and registration: in the caller's transaction. */
#include "store/models/model_reference.h"
#include "store/database/store_internal.h"

/* out_model: the row's id, set when found. */
MUST_CHECK Error *models_find_row(
    Connection *catalog, TenantId tenant, const char *name, bool *out_found, int64_t *out_model);
/* Errors: NOT_FOUND. */
MUST_CHECK Error *models_read_version(Connection *catalog, TenantId tenant,
    const ModelReference *reference, ModelVersion *out_version);
/* The version must exist. */
MUST_CHECK Error *models_write_alias(
    Connection *catalog, TenantId tenant, int64_t model, const char *alias, int64_t version);
