#pragma once
/* Restores a job from a checkpoint file, or from the manifest and chunks that another node sent.
 * The content is not trusted: it is checked against itself and against the model before any of it
 * is stored. Called by job_service_checkpoints.c (handler threads) and arrival_service.c. */
#include "scheduler/control/control.h"
#include "scheduler/jobs/job_import_request.h"
#include "serialize/checkpoint/job_file.h"
#include "store/jobs/arrivals.h"

/* Restores a job; it is queued. A copy becomes a new job. A file that owns its job gives the job
 * back, once in this home, one epoch later, under its old id if it left from here. A checkpoint of
 * an execution that is no job becomes a job of a single run. A model that the tenant lacks is
 * imported if the file carries it. Durable on return.
 *
 * Errors: NOT_FOUND the tenant lacks the executable; CORRUPT, INVALID the file, what and where;
 *         CONFLICT the file's job is here already; EXHAUSTED a quota, with its figure. */
MUST_CHECK Error *job_import_restore(Control *control, Store *store, WorkerPool *pool,
    const JobImportRequest *wanted, JobId *out_id);

/* ---- The same in steps. Threads: one at a time. ---- */
typedef struct JobImportState JobImportState;

/* Checks everything that can be told without running the job; stores nothing. The contents of its
 * execution's chunks are not checked.
 *
 * wanted: the objects that it borrows live as long as the state. */
MUST_CHECK Error *job_import_open(
    Store *store, WorkerPool *pool, const JobImportRequest *wanted, JobImportState **out_state);
void job_import_close(JobImportState *state);
DEFINE_OWN(JobImportState, job_import_close);

/* The parsed parts, borrowed. execution: NULL between two runs. */
const JobFile *job_import_get_file(const JobImportState *state);
const Container *job_import_get_execution(const JobImportState *state);
/* Imports the model if the tenant lacks it, and makes the job's parts durable; their chunks are
 * safe from gc until the state is closed. Chunks that the store has are not read. A second call
 * does nothing; after a failure the state can only be closed. */
MUST_CHECK Error *job_import_stage(JobImportState *state);
/* The parts from which a run of an arriving job is opened, before the job is submitted. batch:
 * becomes the caller's; NULL if an earlier import decoded the inputs. name: equal for equal
 * policies, functions, models and inputs. */
Batch *job_import_take_batch(JobImportState *state);
const JobPolicy *job_import_get_policy(const JobImportState *state);
uint32_t job_import_get_function(const JobImportState *state);
MUST_CHECK Error *job_import_name_run(const JobImportState *state, Digest *out_name);
/* The point at which a staged job continues (job_point.h). NULL: at its beginning. */
const void *job_import_get_point(const JobImportState *state, size_t *out_size);
/* Records that another node or an administrator confirmed that the tenant owns the file's job: the
 * job may come under its id to a home where it never was (jobs_restore). */
void job_import_vouch(JobImportState *state);
/* Stages the import if that is not done, then stores and queues the job, once. */
MUST_CHECK Error *job_import_submit(JobImportState *state, Control *control, JobId *out_id);
/* Does the same for an arriving job: it is in doubt until the arrival's source has given it up.
 *
 * owned_run: the opened run; NULL: the run is opened when the job runs. */
MUST_CHECK Error *job_import_arrive(
    JobImportState *state, Control *control, const Arrival *arrival, ControlArrival *owned_run);
