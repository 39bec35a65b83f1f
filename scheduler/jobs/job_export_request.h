#pragma once
/* Which job is written out, at which of its checkpoints, and what goes with it. Filled by
 * job_service_checkpoints.c for a file and by departure_run.c for another node; read by
 * job_export.c and job_manifest.c. Pure: a structure. */
#include <stdbool.h>
#include <stdint.h>

#include "store/database/job_id.h"
#include "store/database/store.h"

typedef struct JobExportRequest {
    TenantId tenant;
    JobId job;
    int64_t checkpoint; /* its number; 0: the newest, or the job's beginning if there is none */
    bool with_model;
    bool owns; /* the file owns the job: the caller makes sure that nothing else does */
} JobExportRequest;
