#pragma once
/* Finding a checkpoint inside the caller's transaction. */
#include <stdbool.h>

#include "store/job_checkpoints.h"
#include "store/store_internal.h"

/* number: 0 for the newest. */
MUST_CHECK Error *job_checkpoints_find(Connection *catalog, int64_t job, int64_t number,
    bool *out_found, JobCheckpoint *out_checkpoint);
