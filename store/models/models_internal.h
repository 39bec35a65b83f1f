#pragma once
/* Rows of models, for models.c and models_register.c, in the caller's transaction. */
#include "store/models/model_reference.h"
#include "store/database/store_connections_internal.h"

/* Finds a model's row. out_model: the row's id, set when found. */
MUST_CHECK Error *models_find_row(
    Connection *catalog, TenantId tenant, const char *name, bool *out_found, int64_t *out_model);
/* Reads the version that a reference names. Errors: NOT_FOUND. */
MUST_CHECK Error *models_read_version(Connection *catalog, TenantId tenant,
    const ModelReference *reference, ModelVersion *out_version);
/* Writes an alias. The version must exist. */
MUST_CHECK Error *models_write_alias(
    Connection *catalog, TenantId tenant, int64_t model, const char *alias, int64_t version);
