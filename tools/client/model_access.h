#pragma once
/* Models for verbs without a daemon: read from the store by reference, read from files, stored.
 * Callers: tools/cli and tools/client. Threads: the main thread. */
#include "base/worker_pool.h"
#include "compiler/passes/precision.h"
#include "serialize/container/container.h"
#include "store/models/models.h"
#include "tools/client/command.h"
#include "vm/code/executable.h"

/* Largest model file that is read. */
#define MODEL_FILE_SIZE_MAX ((size_t)16 << 30)

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

/* Finds a file's format: "onnx", "lva", "lvx", "relax", "relay", "nnvm" (by --format, else by its
 * first bytes and ending). */
MUST_CHECK Error *model_file_format(const char *path, const char *wanted, const char **out_format);
typedef struct ModelFileOptions {
    const char *format;      /* NULL: found by model_file_format */
    const char *precision;   /* NULL: fp32 */
    PrecisionReport *report; /* NULL, or a report to which the effect of the precision is added */
    const char *dump_after;
    TextBuilder *dump;
    bool self_contained; /* refuses data in other files */
    bool follow_links;   /* external data may be wherever links lead to */
    /* NULL, or a text to which messages of the compiler are added, as lines */
    TextBuilder *warnings;
    const char *params;  /* NULL, or the file of the weights of a graph of NNVM */
    const char *library; /* NULL, or the library of a graph of TVM's graph executor */
} ModelFileOptions;
/* Compiles, assembles or reads a file. The identity is set for lvx; writing or registering sets
 * that of others. */
MUST_CHECK Error *model_file_load(ModelAccess *access, const char *path,
    const ModelFileOptions *options, Executable **out_executable);

/* Prints warnings of the compiler to stderr, or with --json adds them as the array "warnings" to
 * the object, which may be NULL without --json. */
void model_file_tell_warnings(
    const CommandContext *context, const TextBuilder *warnings, json_object *inout_object);

/* Stores an executable as the newest version of a name, and sets its identity. */
MUST_CHECK Error *model_access_register(ModelAccess *access, const char *name,
    Executable *executable, const char *const *aliases, size_t alias_count,
    ModelVersion *out_version);
/* Imports an .lvx file into the store, chunks unchanged, everything checked. */
MUST_CHECK Error *model_access_import(ModelAccess *access, const char *name, const char *path,
    const char *const *aliases, size_t alias_count, ModelVersion *out_version,
    Executable **out_executable);
