#pragma once
/* Models, their versions and aliases: names for executables. Callers: the HTTP routes of models,
 * scheduler/node (loading) and, without a daemon, tools/client. Threads: any; one at a time per
 * upload.
 *
 * A reference is NAME (the newest version), NAME@3 or NAME@alias. Names and aliases satisfy
 * text_is_name; an alias that is a number is refused. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "serialize/chunk/chunk.h"
#include "serialize/container/container.h"
#include "store/chunks/chunk_upload.h"
#include "store/database/store.h"
#include "store/models/model_reference.h"

enum {
    MODEL_ALIASES_MAX = 64,           /* aliases that one registration may give */
    MODEL_VERSION_ALIASES_MAX = 1024, /* aliases that may name one version */
};

enum { MODEL_BATCH_MAX = 65536, MODEL_QUEUE_DELAY_US_MAX = 10000000 };

/* How requests of a version are joined to runs. */
typedef struct ModelBatching {
    int64_t items_max; /* of a run, 1 … MODEL_BATCH_MAX; 1: each request is a run of its own */
    int64_t queue_delay_us; /* how long a request waits for others, 0 … MODEL_QUEUE_DELAY_US_MAX */
} ModelBatching;

/* An executable to be stored. The caller keeps ownership of everything. */
typedef struct ExecutableContent {
    Digest identity;        /* SHA-256 of the manifest, uncompressed */
    const void *manifest;   /* as it is stored; the caller has compressed it */
    size_t manifest_size;   /* 1 … EXECUTABLE_MANIFEST_SIZE_MAX */
    const ChunkRef *chunks; /* in the manifest's order; a chunk may stand more than once */
    size_t chunk_count;
    uint64_t manifest_raw_size; /* uncompressed size, counted in bytes_raw */
} ExecutableContent;

typedef struct ModelVersion {
    char model[MODEL_NAME_SIZE];
    int64_t version;   /* 1, 2, …; no number is reused while the model has a version */
    Digest executable; /* the executable's identity */
    uint64_t
        bytes_raw; /* manifest and data, uncompressed; a chunk that stands twice counts twice */
    uint64_t bytes_stored;            /* manifest and chunks as stored; a chunk counts once */
    double created;                   /* seconds since 1970 */
    char (*aliases)[MODEL_NAME_SIZE]; /* in order of their names */
    size_t alias_count;
    ModelBatching batching; /* of this version's inference requests */
    bool unloaded;          /* inference requests of the model are refused */
} ModelVersion;

void model_version_deinit(ModelVersion *version);
#define OWN_VERSION(name) __attribute__((cleanup(model_version_deinit))) name

typedef struct ModelList {
    ModelVersion *items; /* in order of name, version */
    size_t count;
    bool more; /* more versions follow these */
} ModelList;

void model_list_release(ModelList *list);
DEFINE_OWN(ModelList, model_list_release);

/* Makes everything in the upload durable. Then one transaction adds the executable as the newest
 * version of the model and gives that version the aliases. A version of the model with the same
 * identity is reused; aliases move away from other versions of the model.
 *
 * upload:      the upload that the executable's chunks went through; it has the model's tenant.
 * aliases:     alias_count names, may be NULL for none.
 * out_version: release with model_version_deinit.
 * out_created: false when the version existed; may be NULL.
 * Errors:      INVALID a name; CORRUPT a chunk that was never uploaded; EXHAUSTED the disk is full,
 *              the tenant's quota store_bytes is used up, or the version would have more than
 *              MODEL_VERSION_ALIASES_MAX aliases; IO. The catalog is unchanged after an error. */
MUST_CHECK Error *models_register(ChunkUpload *upload, const char *name,
    const ExecutableContent *content, const char *const *aliases, size_t alias_count,
    ModelVersion *out_version, bool *out_created);

/* Registers the executable that a container holds, like models_register. */
MUST_CHECK Error *models_register_container(ChunkUpload *upload, const char *name,
    const Container *container, const char *const *aliases, size_t alias_count,
    ModelVersion *out_version);

/* Finds the version that a reference names. Errors: INVALID the reference cannot be parsed;
 * NOT_FOUND. */
MUST_CHECK Error *models_find(
    Store *store, TenantId tenant, const char *reference, ModelVersion *out_version);

MUST_CHECK Error *models_list(Store *store, TenantId tenant, ModelList **out_list);
/* upper bound on a page's aliases, without those of its last version */
enum { MODELS_PAGE_ALIASES_MAX = 10000 };
/* Lists the versions behind version after_version of after_model ("", 0: from the first on), at
 * most count_max of them. */
MUST_CHECK Error *models_list_page(Store *store, TenantId tenant, const char *after_model,
    int64_t after_version, size_t count_max, ModelList **out_list);

/* Removes versions. NAME removes the model with all its versions; NAME@3 and NAME@alias remove one
 * version with its aliases. A model disappears with its last version. Executables without a version
 * are deleted, unless they are open or a job needs them; their chunks stay until gc. out_count: the
 * number of removed versions; may be NULL. Errors: INVALID; NOT_FOUND. */
MUST_CHECK Error *models_remove(
    Store *store, TenantId tenant, const char *reference, uint64_t *out_count);

/* Makes the alias name this version only. Errors: INVALID a name; NOT_FOUND no such model or
 * version; EXHAUSTED the alias is new and the tenant's quota store_bytes is used up, or the version
 * has MODEL_VERSION_ALIASES_MAX aliases. */
MUST_CHECK Error *models_set_alias(
    Store *store, TenantId tenant, const char *name, const char *alias, int64_t version);
