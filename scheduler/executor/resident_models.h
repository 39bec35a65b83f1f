#pragma once
/* Executables in memory, each once for all jobs and tenants that use it, and its residency on each
 * device. If tenants are isolated, each tenant has its own executables and residencies, so no
 * tenant's first run is faster because another tenant has the same model. Called by the control
 * thread's I/O tasks and by the command line's run_machine.c.
 *
 * A model stays while a job holds it or it is resident on a device; after that it stays in host
 * memory as long as there is room. If weight images are kept, the model in memory is an outline
 * without weights: weights come from the image, whose bytes the system's page cache holds. The
 * stored executable is decoded only to make an image, and its weights stay in memory only if no
 * image can be kept. Threads: any. */
#include "base/worker_pool.h"
#include "store/database/store.h"
#include "vm/residency/residency.h"
#include "vm/residency/weight_image.h"

typedef struct ResidentModels ResidentModels;

enum { RESIDENT_DEVICES_MAX = 64 };

/* A model that the caller holds. */
typedef struct ResidentModel {
    Digest identity;
    Executable *executable; /* possibly an outline without weights */
    uint64_t constant_bytes;
} ResidentModel;

/* All members are borrowed. */
typedef struct ResidentModelsOptions {
    Store *store;
    Device *host;               /* slot 0 of all residencies */
    WorkerPool *pool;           /* for decoding and packing; may be NULL */
    const WeightImages *images; /* NULL: no images are kept */
    bool isolate;               /* tenants share no model, residency or image */
    uint64_t idle_bytes_max;    /* upper bound on host memory for models that no job needs now */
    /* Called once for each model whose image could not be kept, with the reason. NULL: no warnings.
     * Threads: those of resident_models_load. */
    void (*warn)(void *context, const char *text);
    void *warn_context;
} ResidentModelsOptions;

MUST_CHECK Error *resident_models_create(
    const ResidentModelsOptions *options, ResidentModels **out_models);
/* No model may be held any more. */
void resident_models_destroy(ResidentModels *models);
DEFINE_OWN(ResidentModels, resident_models_destroy);

/* Holds a tenant's executable; reads it from the store unless it is in memory. A model in memory
 * stays the tenant's: a job that needs it keeps it in the store. Errors: NOT_FOUND the tenant has
 * no model of this identity, even if another tenant has; CORRUPT, IO. Blocks: while the model is
 * read. */
MUST_CHECK Error *resident_models_hold(ResidentModels *models, TenantId tenant,
    const Digest *identity, const ResidentModel **out_model);
/* Holds the model and its residency, retained, if both are in memory and known to be the tenant's;
 * never waits. */
bool resident_models_try_hold(ResidentModels *models, TenantId tenant, const Digest *identity,
    uint32_t device_index, const ResidentModel **out_model, Residency **out_residency);
void resident_models_let_go(ResidentModels *models, const ResidentModel *model);

/* Makes a tenant's executable resident. Errors: EXHAUSTED the device has no room; as
 * resident_models_hold. Blocks: while the model is read, copied and packed, and while its first
 * image is written. */
MUST_CHECK Error *resident_models_load(ResidentModels *models, TenantId tenant,
    const Digest *identity, uint32_t device_index, Device *device);
/* Makes the model's weight image for the device, unless there is one or none are kept, so that the
 * first run packs nothing. Does not make the model resident. Errors and blocking: as
 * resident_models_load. */
MUST_CHECK Error *resident_models_prepare(
    ResidentModels *models, TenantId tenant, const Digest *identity, Device *device);
/* The model's residency on the device, retained; NULL: not resident. tenant: used only if tenants
 * are isolated, here and in resident_models_evict. */
Residency *resident_models_get(
    ResidentModels *models, TenantId tenant, const Digest *identity, uint32_t device_index);
/* Evicts every model of the device. No execution uses them any more, and no load is under way
 * there. */
void resident_models_evict_all(ResidentModels *models, uint32_t device_index);
/* Evicts the model. Executions that use the residency keep it until they end. */
void resident_models_evict(
    ResidentModels *models, TenantId tenant, const Digest *identity, uint32_t device_index);
