#include <math.h>
#include <stdio.h>

#include "scheduler/service/job_service_internal.h"
#include "store/database/alive_time.h"
#include "store/jobs/verifications.h"

enum {
    AT_ONCE = 64, /* verifications listed */
    /* Of the home's time: a client that asked for a verification looks more often. */
    CLIENT_GONE_S = 60,
};

/* ---- beginning ---- */

typedef struct Beginning {
    TenantId tenant;
    VerificationRequest request;
    JobCopy copy;
} Beginning;

static Error *do_begin(Connection *catalog, void *context) {
    Beginning *work = context;
    return verifications_begin(catalog, work->tenant, &work->request, &work->copy);
}

/* As the job's policy, but nothing stops the replay on its way, and no reader needs its
 * checkpoints. */
static Error *make_policy(JobService *service, const Job *row, ByteWriter *out) {
    ByteWriter OWN_BYTES(bytes) = {0};
    JobPolicy OWN_POLICY(policy) = {0};
    TRY(jobs_get_policy(service->store, row->tenant, row->id, &bytes));
    TRY(job_policy_read(bytes.data, bytes.size, &policy));
    policy.suspend_at = policy.suspend_after_ns = policy.checkpoint_every_ns = 0;
    policy.weight = policy.checkpoint_keep = 1;
    job_policy_write(&policy, out);
    return byte_writer_check(out);
}

/* Shows a verification; one that has ended also removes its replay. */
static Error *show(JobService *service, const Verification *it, JobsApiVerification *out) {
    const Control *control = service->control;
    JobsApiJob replay = {0};
    const char *state = job_state_info(it->replay.state)->name;
    bool running = it->state == VERIFICATION_RUNNING;
    if (running) TRY(job_service_show(service, &it->replay, &replay));
    *out = (JobsApiVerification){.state = verification_state_name(it->state),
        .checkpoint = it->checkpoint,
        .outputs = it->output_end - it->output_begin,
        .compared = it->compared,
        .sequence = it->sequence,
        .determinism_class = it->has_job ? control_find_class(control, it->job.device) : NULL,
        .replay_class = control_find_class(control, it->replay.device)};
    if (it->has_job) job_id_print(it->job.id, out->job);
    job_id_print(it->replay.id, out->replay);
    (void)snprintf(
        out->replay_state, sizeof out->replay_state, "%s", running ? replay.state : state);
    (void)snprintf(out->why, sizeof out->why, "%s", running ? replay.why : it->why);
    return NULL;
}

Error *job_service_verify(void *self, const Caller *caller, const char *job, int64_t checkpoint,
    JobsApiVerification *out_verification) {
    JobService *service = self;
    ByteWriter OWN_BYTES(policy) = {0};
    Job row;
    Verification it;
    TRY(job_service_find(service, caller, job, &row));
    TRY(job_service_check_queue(service, row.tenant));
    TRY(make_policy(service, &row, &policy));
    Beginning work = {.tenant = row.tenant,
        .request = {.job = row.id,
            .checkpoint = checkpoint,
            .priority = POLICY_LOW,
            .policy = policy.data,
            .policy_size = policy.size}};
    TRY(job_service_copy(service, do_begin, &work, &work.copy));
    TRY(control_load(service->control, row.tenant, work.copy.id));
    TRY(verifications_get(service->store, row.tenant, work.copy.id, &it));
    return show(service, &it, out_verification);
}

/* ---- ending ---- */

typedef struct Ending {
    TenantId tenant;
    const Verification *judged;
} Ending;

static Error *do_end(Connection *catalog, void *context) {
    const Ending *work = context;
    return verifications_end(catalog, work->tenant, work->judged);
}

/* Stops a replay whose result is known. */
static Error *stop_replay(JobService *service, const Job *replay) {
    if (!job_state_is_unfinished(replay->state)) return NULL;
    Error *error = control_cancel(service->control, replay->tenant, replay->id);
    if (error_code(error) != ERROR_CONFLICT) return error;
    error_free(error); /* the replay has ended by itself */
    return NULL;
}

static Error *end(JobService *service, Verification *inout) {
    TenantId tenant = inout->replay.tenant;
    TRY(stop_replay(service, &inout->replay));
    TRY(verifications_get(service->store, tenant, inout->replay.id, inout));
    Ending work = {tenant, inout};
    return catalog_run(service->catalog, do_end, &work);
}

Error *job_service_verification(
    void *self, const Caller *caller, const char *replay, JobsApiVerification *out_verification) {
    JobService *service = self;
    Job row;
    Verification it;
    TRY(job_service_find(service, caller, replay, &row));
    TRY(verifications_get(service->store, row.tenant, row.id, &it));
    if (it.state != VERIFICATION_RUNNING) TRY(end(service, &it));
    return show(service, &it, out_verification);
}

/* ---- what nobody asks about any more ---- */

static bool is_client_gone(const VerificationName *name, const Job *replay) {
    if (isnan(replay->finished)) return true; /* such a job does not end any more */
    return name->ended_ago_s >= CLIENT_GONE_S + ALIVE_TIME_STEP_S; /* NaN: ended just now */
}

static Error *settle_one(JobService *service, const VerificationName *name) {
    Verification it;
    TRY(verifications_get(service->store, name->tenant, name->replay, &it));
    if (it.state == VERIFICATION_RUNNING) return NULL;
    if (job_state_is_unfinished(it.replay.state)) return stop_replay(service, &it.replay);
    return is_client_gone(name, &it.replay) ? end(service, &it) : NULL;
}

Error *job_service_settle_verifications(JobService *service) {
    VerificationName names[AT_ONCE];
    size_t count = AT_ONCE;
    int64_t after = 0;
    while (count == AT_ONCE) {
        TRY(verifications_list(service->store, after, AT_ONCE, names, &count));
        for (size_t i = 0; i < count; i++) {
            Error *error = settle_one(service, &names[i]);
            const ErrorCode code = error_code(error);
            if (code != ERROR_NOT_FOUND && code != ERROR_CORRUPT) TRY(error);
            error_free(error); /* another thread has ended the verification, or fsck names the
                                * row that cannot be read */
            after = names[i].row;
        }
    }
    return NULL;
}
