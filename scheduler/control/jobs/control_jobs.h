#pragma once
/* The jobs in memory: made, named, found and freed, with the inputs and the snapshot that a job
 * keeps. Called by every file of the logic that handles a job, on the control thread. */
#include "scheduler/control/state/control_job.h"
#include "scheduler/control/state/control_state.h"
#include "scheduler/policy/id_map.h"

/* For control_jobs.c and control_status.c. */
typedef struct JobTable {
    IdMap by_number;
    IdMap by_id; /* guarded by the status mutex for writing */
    uint64_t last_number;
    uint64_t kept_bytes; /* of inputs that wait in memory, though the store has them */
} JobTable;

/* Frees every job. */
void job_table_deinit(JobTable *jobs);

MUST_CHECK Error *control_job_create(Control *control, ControlJob **out_job);
/* Gives the job its id, by which others find it. Called when the job's row is stored. */
MUST_CHECK Error *control_job_name(ControlJob *job, JobId id);
/* NULL: the tenant has no such job in memory. */
ControlJob *control_job_find(Control *control, TenantId tenant, JobId id);
/* The job of the policy's number; NULL: it is gone. */
ControlJob *control_job_get(const Control *control, uint64_t number);
/* Walks over all jobs: *inout_at begins with 0. NULL: that was the last one. A job may be freed
 * during the walk; others may be met twice or not at all then. */
ControlJob *control_jobs_next(const Control *control, size_t *inout_at);
/* Gives the job its model. facts: as of control_use_model. */
struct ControlModel;
MUST_CHECK Error *control_job_set_model(
    ControlJob *job, const Digest *identity, uint64_t constant_bytes, bool device_strings);

/* Called when a job's inputs are stored and the job waits: keeps them in memory if they are small
 * and few jobs do that; drops them otherwise. */
void control_job_keep_inputs(ControlJob *job);
/* Called when a job begins or needs its inputs no more: they count no longer. */
void control_job_count_out(ControlJob *job);
/* Takes a snapshot of a job that rests; the next commit writes a checkpoint from it. An older
 * snapshot is dropped. Errors: CONFLICT the job is to end; DEVICE_LOST: there is no snapshot then.
 */
MUST_CHECK Error *control_job_take_snapshot(ControlJob *job);
void control_job_drop_snapshot(ControlJob *job);
/* True: the job has more outputs that are not stored than CONTROL_OUTPUTS_MAX and its like allow,
 * and is paused. */
bool control_job_has_many_outputs(const ControlJob *job);

/* Closes execution, inputs and model. Only of a job that rests. */
void control_job_close(ControlJob *job);
/* Frees a job that has ended once no thread and no decision needs it. Called behind everything that
 * may have ended a job. */
void control_job_settle(ControlJob *job);
