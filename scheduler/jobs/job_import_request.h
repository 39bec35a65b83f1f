#pragma once
/* Which job is restored, and how: from a checkpoint file, or from the manifest and chunks of
 * another node. Filled by job_service_checkpoints.c and arrival_service.c; read by job_import.c and
 * job_import_check.c. Pure: a structure. */
#include <stdbool.h>
#include <stdint.h>

#include "serialize/chunk/chunk.h"
#include "base/digest_set.h"
#include "store/database/job_id.h"
#include "store/database/store.h"

typedef struct JobImportRequest {
    TenantId tenant;  /* the tenant that restores */
    const char *path; /* NULL: manifest, manifest_size, source and verify instead
                       * (job_manifest.h) */
    const void *manifest;
    size_t manifest_size;
    ChunkSource source; /* of all chunks; outlives the import */
    ChunkVerify verify; /* XXH3: the chunks were verified when they came into the source */
    /* The job moves here: it comes under its own id, one epoch later, as from a file that owns it.
     * Only another node's manifest does that, and only with this id and epoch. */
    bool moves;
    JobId job;
    int64_t epoch; /* before the move */
    /* Names of inputs and outputs that were checked before, out of the same source: they are not
     * decoded again. Newly decoded ones are added. NULL: none. */
    DigestSet *checked;
    bool with_outputs;         /* of a copy; a job that its file owns brings its outputs in any
                                * case */
    const char *device;        /* NULL: any */
    uint32_t threads;          /* 0: as the file says */
    bool check_finite;         /* also true if the file says so */
    uint64_t suspend_after;    /* instructions from here; 0: never */
    uint64_t suspend_after_ns; /* 0: never */
} JobImportRequest;
