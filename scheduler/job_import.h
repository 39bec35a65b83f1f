#pragma once
/* A job out of a checkpoint file. Nothing in the file is believed: what it holds is checked against
 * itself and against the model before anything of it is stored. */
#include "scheduler/control.h"

typedef struct JobImport {
    TenantId tenant; /* of the restorer */
    const char *path;
    bool with_outputs;         /* of a copy; a job that the file owns brings them along anyway */
    const char *device;        /* NULL: any */
    uint32_t threads;          /* 0: as the file says */
    bool check_finite;         /* or as the file says */
    uint64_t suspend_after;    /* instructions from here; 0: never */
    uint64_t suspend_after_ns; /* 0: never */
} JobImport;

/* A copy becomes a new job; a file that owns its job gives it back under its id, once in this home,
 * one epoch later. Either is queued. A checkpoint that is no job's becomes a job of a single run. A
 * model that the tenant lacks is imported when the file carries it. Durable on return.
 *
 * Errors: NOT_FOUND the tenant lacks the executable; CORRUPT, INVALID the file, what and where;
 *         CONFLICT the file's job is here already; EXHAUSTED a quota, with its figure. */
MUST_CHECK Error *job_import_restore(
    Control *control, Store *store, WorkerPool *pool, const JobImport *wanted, JobId *out_id);
