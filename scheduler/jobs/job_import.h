#pragma once
/* A job out of a checkpoint file, or out of what another node sent. Nothing in it is believed: what
 * it holds is checked against itself and against the model before anything of it is stored. */
#include "scheduler/control/control.h"
#include "serialize/checkpoint/job_file.h"
#include "store/jobs/arrivals.h"
#include "store/database/digest_set.h"

typedef struct JobImport {
    TenantId tenant;  /* of the restorer */
    const char *path; /* NULL: the next four instead, as a manifest gives them (job_manifest.h) */
    const void *manifest;
    size_t manifest_size;
    ChunkSource source; /* of all chunks; outlives the import */
    ChunkVerify verify; /* XXH3: they were verified when they came into the source */
    /* The job moves here: it comes under its own id, one epoch later, as from a file that owns it.
     * Only a manifest's manifest does that, and only with this id and epoch. */
    bool moves;
    JobId job;
    int64_t epoch; /* before */
    /* Names of inputs and outputs that were checked before, out of the same source: they are not
     * decoded again, and those that are now are added. NULL: none. */
    DigestSet *checked;
    bool with_outputs;         /* of a copy; a job that the file owns brings them along anyway */
    const char *device;        /* NULL: any */
    uint32_t threads;          /* 0: as the file says */
    bool check_finite;         /* or as the file says */
    uint64_t suspend_after;    /* instructions from here; 0: never */
    uint64_t suspend_after_ns; /* 0: never */
} JobImport;

/* A copy becomes a new job; a file that owns its job gives it back, once in this home, one epoch
 * later, under its id where it went from here. Either is queued. A checkpoint that is no job's
 * becomes a job of a single run. A model that the tenant lacks is imported when the file carries
 * it. Durable on return.
 *
 * Errors: NOT_FOUND the tenant lacks the executable; CORRUPT, INVALID the file, what and where;
 *         CONFLICT the file's job is here already; EXHAUSTED a quota, with its figure. */
MUST_CHECK Error *job_import_restore(
    Control *control, Store *store, WorkerPool *pool, const JobImport *wanted, JobId *out_id);

/* ---- The same in steps. Threads: one at a time. ---- */
typedef struct JobImportState JobImportState;

/* Checks everything that can be told without running the job; nothing is stored. What the chunks of
 * its execution hold is not looked at.
 *
 * wanted: what it borrows lives as long as the state. */
MUST_CHECK Error *job_import_open(
    Store *store, WorkerPool *pool, const JobImport *wanted, JobImportState **out_state);
void job_import_close(JobImportState *state);
DEFINE_OWN(JobImportState, job_import_close);

/* What was read, borrowed. execution: NULL between two runs. */
const JobFile *job_import_get_file(const JobImportState *state);
const Container *job_import_get_execution(const JobImportState *state);
/* Imports the model if the tenant lacks it, and makes durable what the job will consist of; its
 * chunks are safe from gc until the state is closed. Those that the store has are not read. The
 * second time it does nothing; after a failure the state can only be closed. */
MUST_CHECK Error *job_import_stage(JobImportState *state);
/* What a run of a job that moves is opened from. batch: the caller's; NULL where the inputs were
 * decoded by an earlier import. name: equal for equal policies, functions, models and inputs. */
Batch *job_import_take_batch(JobImportState *state);
const JobPolicy *job_import_get_policy(const JobImportState *state);
uint32_t job_import_get_function(const JobImportState *state);
MUST_CHECK Error *job_import_name_run(const JobImportState *state, Digest *out_name);
/* Of a staged one: where the job goes on (job_point.h). NULL: at its beginning. */
const void *job_import_get_point(const JobImportState *state, size_t *out_size);
/* Whoever may know says that the job that the file owns is the tenant's: it may come under its id
 * where it was not before (jobs_restore). */
void job_import_vouch(JobImportState *state);
/* Stages what is not staged, and stores and queues the job: once. */
MUST_CHECK Error *job_import_submit(JobImportState *state, Control *control, JobId *out_id);
/* The same of a job that moves here: it is in doubt until the arrival's source gave it up.
 *
 * owned_run: where it goes on, opened; NULL: it is opened when it runs. */
MUST_CHECK Error *job_import_arrive(
    JobImportState *state, Control *control, const Arrival *arrival, ControlArrival *owned_run);
