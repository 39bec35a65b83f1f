#pragma once
/* How inference requests of a model are served: whether they are taken, and how they are joined.
 * Kept with the model and its versions. Called by the HTTP routes and by models.c. Threads: any. */
#include <stdbool.h>
#include <stdint.h>

#include "store/database/store.h"

enum { MODEL_BATCH_MAX = 65536, MODEL_QUEUE_DELAY_US_MAX = 10000000 };

/* How requests of a version are joined to runs. */
typedef struct ModelBatching {
    int64_t items_max; /* of a run, 1 … MODEL_BATCH_MAX; 1: each request is a run of its own */
    int64_t queue_delay_us; /* how long a request waits for others, 0 … MODEL_QUEUE_DELAY_US_MAX */
} ModelBatching;

/* Changes one version. reference: NAME, NAME@3, NAME@alias. Errors: INVALID a number beyond its
 * limits; NOT_FOUND. */
MUST_CHECK Error *model_serving_set_batching(
    Store *store, TenantId tenant, const char *reference, const ModelBatching *batching);
/* Refuses inference requests of all versions of a model, or takes them again. Errors: INVALID a
 * name; NOT_FOUND. */
MUST_CHECK Error *model_serving_set_unloaded(
    Store *store, TenantId tenant, const char *name, bool unloaded);
