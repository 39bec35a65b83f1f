#pragma once
/* Executables in memory: each once, however many jobs and tenants use it, and its residency on each
 * device. Where tenants are isolated each tenant has its own: no tenant's first run is faster
 * because another tenant has the same model.
 *
 * A model stays while a job holds it or it is resident somewhere, and in host memory after that as
 * long as there is room. Where weight images are kept, that is an outline without weights: they
 * come from the image, whose bytes are the system's page cache's to hold; the stored executable is
 * decoded only to make an image, and its weights rest here only where none can be kept.
 * Threads: any. */
#include "base/worker_pool.h"
#include "store/database/store.h"
#include "vm/residency/residency.h"
#include "vm/residency/weight_image.h"

typedef struct ResidentModels ResidentModels;

enum { RESIDENT_DEVICES_MAX = 64 };

/* A model that is held. */
typedef struct ResidentModel {
    Digest identity;
    Executable *executable; /* perhaps an outline */
    uint64_t constant_bytes;
} ResidentModel;

/* All borrowed. */
typedef struct ResidentModelsOptions {
    Store *store;
    Device *host;               /* slot 0 of all residencies */
    WorkerPool *pool;           /* for decoding and packing; may be NULL */
    const WeightImages *images; /* NULL: none are kept */
    bool isolate;               /* tenants share no model, residency or image */
    uint64_t idle_bytes_max;    /* of host memory, for models that nothing needs just now */
    /* That a model's image could not be kept, and why: once for each model. NULL: nobody is told.
     * Threads: those of resident_models_load. */
    void (*warn)(void *context, const char *text);
    void *warn_context;
} ResidentModelsOptions;

MUST_CHECK Error *resident_models_create(
    const ResidentModelsOptions *options, ResidentModels **out_models);
/* No model is held any more. */
void resident_models_destroy(ResidentModels *models);
DEFINE_OWN(ResidentModels, resident_models_destroy);

/* Holds a tenant's executable, reading it from the store unless it is there.
 * A model stays a tenant's as long as it is in memory: a job that needs it keeps it in the store.
 * Errors: NOT_FOUND the tenant has none of this identity, also where it is in memory for another;
 *         CORRUPT, IO. Blocks: while it is read. */
MUST_CHECK Error *resident_models_hold(ResidentModels *models, TenantId tenant,
    const Digest *identity, const ResidentModel **out_model);
/* The same and its residency, retained, if both are in memory and known to be the tenant's: without
 * waiting. */
bool resident_models_try_hold(ResidentModels *models, TenantId tenant, const Digest *identity,
    uint32_t device_index, const ResidentModel **out_model, Residency **out_residency);
void resident_models_let_go(ResidentModels *models, const ResidentModel *model);

/* Makes a tenant's executable resident. Errors: EXHAUSTED the device has no room; as
 * resident_models_hold. Blocks: while it is read, copied and packed, and its image
 * is kept the first time. */
MUST_CHECK Error *resident_models_load(ResidentModels *models, TenantId tenant,
    const Digest *identity, uint32_t device_index, Device *device);
/* Makes its weight image for the device, unless there is one or none are kept: its first run packs
 * nothing. It is not resident for that. Errors and blocking: as resident_models_load. */
MUST_CHECK Error *resident_models_prepare(
    ResidentModels *models, TenantId tenant, const Digest *identity, Device *device);
/* Its residency there, retained; NULL: it is not resident. tenant: matters where they are isolated,
 * here and in resident_models_evict. */
Residency *resident_models_get(
    ResidentModels *models, TenantId tenant, const Digest *identity, uint32_t device_index);
/* Every model's on that device. Nothing uses them any more, and none is being loaded there. */
void resident_models_evict_all(ResidentModels *models, uint32_t device_index);
/* Executions that use the residency keep it until they go. */
void resident_models_evict(
    ResidentModels *models, TenantId tenant, const Digest *identity, uint32_t device_index);
