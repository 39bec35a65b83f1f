#pragma once
/* Models as verbs need them: from the store by reference, from files, into the store. */
#include "base/worker_pool.h"
#include "compiler/passes/precision.h"
#include "serialize/container/container.h"
#include "store/models/models.h"
#include "tools/client/command.h"
#include "vm/code/executable.h"

/* Bytes of a model file that are read at most. */
#define MODEL_FILE_SIZE_MAX ((size_t)16 << 30)

typedef struct ModelAccess {
    Store *store; /* NULL until opened */
    TenantId tenant;
    WorkerPool *pool; /* all cores: hashing, encoding, packing */
} ModelAccess;

/* Opens the home named on the command line. create: makes it where there is none. */
MUST_CHECK Error *model_access_open(
    const CommandContext *context, bool create, ModelAccess *out_access);
/* Only the worker pool: for verbs that work on files. */
MUST_CHECK Error *model_access_open_files(ModelAccess *out_access);
void model_access_close(ModelAccess *access);
#define OWN_ACCESS(name) __attribute__((cleanup(model_access_close))) name

/* version may be NULL. */
MUST_CHECK Error *model_access_load(ModelAccess *access, const char *reference,
    ModelVersion *out_version, Executable **out_executable);
MUST_CHECK Error *model_access_load_identity(
    ModelAccess *access, const Digest *identity, Executable **out_executable);

/* What a model file is: "onnx", "lva", "lvx" (by --format, else by its first bytes and ending). */
MUST_CHECK Error *model_file_format(const char *path, const char *wanted, const char **out_format);
typedef struct ModelFileOptions {
    const char *format;      /* NULL: found out */
    const char *precision;   /* NULL: fp32 */
    PrecisionReport *report; /* NULL, or what the precision came to is added to it */
    const char *dump_after;
    TextBuilder *dump;
    bool self_contained;   /* data in other files is refused */
    bool follow_links;     /* external data may be anywhere that links lead to */
    TextBuilder *warnings; /* NULL, or what the compiler has to say is added to it, as lines */
} ModelFileOptions;
/* Compiles, assembles or reads. The identity is set for lvx; writing or registering sets the
 * others'.
 */
MUST_CHECK Error *model_file_load(ModelAccess *access, const char *path,
    const ModelFileOptions *options, Executable **out_executable);

/* Warnings of the compiler: to stderr, or with --json as the array "warnings" of the object,
 * which may be NULL where that is not asked for. */
void model_file_tell_warnings(
    const CommandContext *context, const TextBuilder *warnings, json_object *inout_object);

/* Stores an executable as the newest version of a name; sets its identity. */
MUST_CHECK Error *model_access_register(ModelAccess *access, const char *name,
    Executable *executable, const char *const *aliases, size_t alias_count,
    ModelVersion *out_version);
/* An .lvx file into the store, chunks as they are, everything checked. */
MUST_CHECK Error *model_access_import(ModelAccess *access, const char *name, const char *path,
    const char *const *aliases, size_t alias_count, ModelVersion *out_version,
    Executable **out_executable);
