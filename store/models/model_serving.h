#pragma once
/* How inference requests of a model are served: whether they are taken, and how they are joined.
 * Kept with the model and its versions. Called by the HTTP routes. Threads: any. */
#include "store/models/models.h"

/* Changes one version. reference: NAME, NAME@3, NAME@alias. Errors: INVALID a number beyond its
 * limits; NOT_FOUND. */
MUST_CHECK Error *model_serving_set_batching(
    Store *store, TenantId tenant, const char *reference, const ModelBatching *batching);
/* Refuses inference requests of all versions of a model, or takes them again. Errors: INVALID a
 * name; NOT_FOUND. */
MUST_CHECK Error *model_serving_set_unloaded(
    Store *store, TenantId tenant, const char *name, bool unloaded);
