#pragma once
/* Models for verbs without a daemon: read from the store by reference, stored.
 * Callers: tools/cli and tools/client. Threads: the main thread. */
#include "base/worker_pool.h"
#include "serialize/container/container.h"
#include "store/models/models.h"
#include "tools/client/command.h"
#include "tools/models/model_file.h"
#include "vm/code/executable.h"

typedef struct ModelAccess {
    Store *store; /* NULL until opened */
    TenantId tenant;
    WorkerPool *pool; /* uses all cores: hashing, encoding, packing */
} ModelAccess;

/* Opens the home of the command line. create: makes a missing home. */
MUST_CHECK Error *model_access_open(
    const CommandContext *context, bool create, ModelAccess *out_access);
/* Makes only the worker pool, for verbs that work on files. */
MUST_CHECK Error *model_access_open_files(ModelAccess *out_access);
void model_access_close(ModelAccess *access);
#define OWN_ACCESS(name) __attribute__((cleanup(model_access_close))) name

/* Loads a model. out_version may be NULL. */
MUST_CHECK Error *model_access_load(ModelAccess *access, const char *reference,
    ModelVersion *out_version, Executable **out_executable);
MUST_CHECK Error *model_access_load_identity(
    ModelAccess *access, const Digest *identity, Executable **out_executable);

/* Stores an executable as the newest version of a name, and sets its identity. */
MUST_CHECK Error *model_access_register(ModelAccess *access, const char *name,
    Executable *executable, const char *const *aliases, size_t alias_count,
    ModelVersion *out_version);
/* Imports an .lvx file into the store, chunks unchanged, everything checked. */
MUST_CHECK Error *model_access_import(ModelAccess *access, const char *name, const char *path,
    const char *const *aliases, size_t alias_count, ModelVersion *out_version,
    Executable **out_executable);
