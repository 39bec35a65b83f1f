#pragma once
/* Verifications: a job runs again from one of its checkpoints, and its outputs are compared with
 * the stored ones. The run is a fork, called the replay: a job like any other until the
 * verification ends and removes it. Caller: job_service_verifications.c. Threads: functions with a
 * Connection run in catalog work (catalog.h), the others in any thread. */
#include "store/jobs/job_events.h"
#include "store/jobs/jobs.h"

typedef struct VerificationRequest {
    JobId job;
    int64_t checkpoint; /* the checkpoint's number; 0: the newest */
    int priority;       /* of the replay, like the next two */
    const void *policy;
    size_t policy_size;
} VerificationRequest;

typedef enum VerificationState {
    VERIFICATION_RUNNING,
    VERIFICATION_EQUAL,
    VERIFICATION_DIFFERS,
    VERIFICATION_FAILED, /* the replay ended before a comparison was possible; why says how */
} VerificationState;

typedef struct Verification {
    VerificationState state;
    bool has_job; /* false: the job was removed during the verification */
    Job job, replay;
    int64_t checkpoint;
    /* The job's outputs behind the checkpoint when the verification began. */
    int64_t output_begin, output_end;
    int64_t compared; /* how many of these outputs were compared */
    int64_t sequence; /* DIFFERS: the first output that differs, or that only one job has */
    char why[JOB_WHY_SIZE];
} Verification;

/* The state's name, such as "equal". */
const char *verification_state_name(VerificationState state);

/* Stores the replay. No user waits for a replay, so it has no deadline. One call is one step; the
 * caller repeats it, each time as a piece of catalog work of its own, until inout_copy is done
 * (job_copy.h).
 *
 * Errors: NOT_FOUND no such job or checkpoint; CONFLICT the job is a tombstone, or no output behind
 *         the checkpoint is stored; EXHAUSTED the quota store_bytes. */
MUST_CHECK Error *verifications_begin(Connection *catalog, TenantId tenant,
    const VerificationRequest *request, struct JobCopy *inout_copy);

/* Reads the state of a verification. A replay whose verification is not RUNNING need not continue.
 * While the state is RUNNING, outputs were compared by their digests; any other state was decided
 * by their bytes, too.
 * Errors: NOT_FOUND no such job, or the job is no replay. */
MUST_CHECK Error *verifications_get(
    Store *store, TenantId tenant, JobId replay, Verification *out_verification);

/* Ends a verification. An event of the job tells the result (DIVERGED if the outputs differ), and
 * the replay is removed.
 *
 * judged: the result of verifications_get for a replay that has ended; not RUNNING.
 * Errors: NOT_FOUND the verification has ended already; CONFLICT the replay has not ended. */
MUST_CHECK Error *verifications_end(
    Connection *catalog, TenantId tenant, const Verification *judged);

typedef struct VerificationName {
    int64_t row; /* a list continues behind this number */
    TenantId tenant;
    JobId replay;
    /* How long the home has been alive (alive_time.h) since the replay ended, at most
     * ALIVE_TIME_STEP_S too long; NaN: the replay has not ended. */
    double ended_ago_s;
} VerificationName;

/* Lists verifications of all tenants behind row `after`. */
MUST_CHECK Error *verifications_list(
    Store *store, int64_t after, size_t count_max, VerificationName *out_names, size_t *out_count);
