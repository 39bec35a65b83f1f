#pragma once
/* Executables between the store and memory or files: loading, importing, exporting. Called by the
 * control thread's I/O tasks, the routes of models, scheduler/jobs/ and the command line. No state;
 * any thread that may wait. */
#include "base/worker_pool.h"
#include "serialize/container/container.h"
#include "store/upkeep/fsck.h"
#include "store/models/models.h"
#include "store/models/stored_executable.h"
#include "vm/code/executable.h"

/* Opens a stored executable's container; close both, the container first. Errors: NOT_FOUND;
 * CORRUPT. */
MUST_CHECK Error *model_loader_open(Store *store, TenantId tenant, const Digest *identity,
    StoredExecutable **out_stored, Container **out_container);
MUST_CHECK Error *model_loader_load(Store *store, TenantId tenant, WorkerPool *pool,
    const Digest *identity, Executable **out_executable);
/* Reads the functions and ports without any weight: executable_read_outline. */
MUST_CHECK Error *model_loader_read_outline(
    Store *store, TenantId tenant, const Digest *identity, Executable **out_outline);

/* Stores an executable as the newest version of a name; sets its identity. */
MUST_CHECK Error *model_loader_register(Store *store, TenantId tenant, WorkerPool *pool,
    const char *name, Executable *executable, const char *const *aliases, size_t alias_count,
    ModelVersion *out_version);
/* Imports an executable file's container into the store, chunks unchanged, everything checked.
 * what: the file's name in messages. */
MUST_CHECK Error *model_loader_import(Store *store, TenantId tenant, WorkerPool *pool,
    const char *name, const Container *container, const char *what, const char *const *aliases,
    size_t alias_count, ModelVersion *out_version, Executable **out_executable);
/* Writes a stored executable as a file. out_bytes: its size. */
MUST_CHECK Error *model_loader_export(Store *store, TenantId tenant, WorkerPool *pool,
    const Digest *identity, const char *path, uint64_t *out_bytes);

/* For fsck, since store cannot parse manifests: checks that a manifest is one, matches its identity
 * and refers to these chunks. */
MUST_CHECK Error *model_loader_check_manifest(void *context, const FsckExecutable *executable);
