#pragma once
/* Verifications: a job is run again from one of its checkpoints, and what comes out is compared
 * with what is stored. What runs again is a fork, its replay: a job like any other, until the
 * verification has ended and takes it along. */
#include "store/jobs/job_events.h"
#include "store/jobs/jobs.h"

typedef struct VerificationRequest {
    JobId job;
    int64_t checkpoint; /* its number; 0: the newest */
    int priority;       /* of the replay, as are the next two */
    const void *policy;
    size_t policy_size;
} VerificationRequest;

typedef enum VerificationState {
    VERIFICATION_RUNNING,
    VERIFICATION_EQUAL,
    VERIFICATION_DIFFERS,
    VERIFICATION_FAILED, /* the replay ended before it could be told: why says how */
} VerificationState;

typedef struct Verification {
    VerificationState state;
    bool has_job; /* false: it was removed meanwhile */
    Job job, replay;
    int64_t checkpoint;
    /* The job's outputs behind the checkpoint when the verification began. */
    int64_t output_begin, output_end;
    int64_t compared; /* of them */
    int64_t sequence; /* DIFFERS: the first output that does, or that only one of them has */
    char why[JOB_WHY_SIZE];
} Verification;

/* "equal". */
const char *verification_state_name(VerificationState state);

/* Stores the replay. Nobody waits for it, so it has no deadline and is in nobody's way. One step of
 * it: called again, each time as work of its own, until inout_copy is done (job_copy.h).
 *
 * Errors: NOT_FOUND no such job, no such checkpoint; CONFLICT it is a tombstone, or no output
 *         behind the checkpoint is stored; EXHAUSTED the quota store_bytes. */
MUST_CHECK Error *verifications_begin(Connection *catalog, TenantId tenant,
    const VerificationRequest *request, struct JobCopy *inout_copy);

/* How it stands. A replay that is not RUNNING any more need not go on. While it is, outputs are
 * compared by their digests; what is said then was found byte by byte.
 * Errors: NOT_FOUND no such job, or it replays none. */
MUST_CHECK Error *verifications_get(
    Store *store, TenantId tenant, JobId replay, Verification *out_verification);

/* Ends it: an event of the job tells what was found (DIVERGED if the outputs differ), the replay is
 * removed with everything of it.
 *
 * judged: by verifications_get, of a replay that has ended, and not RUNNING.
 * Errors: NOT_FOUND it has ended already; CONFLICT the replay has not. */
MUST_CHECK Error *verifications_end(
    Connection *catalog, TenantId tenant, const Verification *judged);

typedef struct VerificationName {
    int64_t row; /* where a list goes on */
    TenantId tenant;
    JobId replay;
    /* How long the home was alive (alive_time.h) since the replay ended, up to ALIVE_TIME_STEP_S
     * too long; NaN: the replay has not ended. */
    double ended_ago_s;
} VerificationName;

/* Of all tenants, from row `after` on. */
MUST_CHECK Error *verifications_list(
    Store *store, int64_t after, size_t count_max, VerificationName *out_names, size_t *out_count);
