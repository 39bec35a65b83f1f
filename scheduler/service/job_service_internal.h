#pragma once
/* The job service as the files of service/ see it. Its functions run on HTTP handler threads. */
#include <pthread.h>
#include <stdatomic.h>

#include "scheduler/node/memory_budget.h"
#include "scheduler/service/job_service.h"
#include "scheduler/service/run_joiner.h"
#include "scheduler/migration/passed_answer.h"
#include "store/database/catalog.h"
#include "store/jobs/job_copy.h"

typedef struct JobWatch JobWatch;

struct JobService {
    SettingsCache *settings;
    Store *store; /* of settings */
    Catalog *catalog;
    WorkerPool *pool;
    Control *control;
    RunJoiner *joiner;
    MemoryBudget *intake; /* memory for inputs that are being taken in */
    pthread_mutex_t watches_mutex;
    JobWatch *watches;              /* open streams */
    void (*removed)(void *context); /* NULL: not set */
    void *removed_context;
    PassedAnswers *passed; /* outputs of moved jobs that are being passed on */
    atomic_uint asking;    /* threads that wait for another node's answer about a job */
};

/* Finds the row of the job that a caller names. An admin may name any tenant's job. */
MUST_CHECK Error *job_service_find(
    JobService *service, const Caller *caller, const char *text, Job *out_job);
/* Fills in the job as it is shown, with the state that only the control thread knows. */
MUST_CHECK Error *job_service_show(JobService *service, const Job *row, JobsApiJob *out_job);
/* Says which quota a job that does not run waits for, if it waits for one. */
void job_service_explain_wait(JobService *service, const Tenant *tenant, JobsApiJob *inout_job);
/* For one job whose wait has no explanation yet: says which jobs have the devices that it could
 * use. */
void job_service_explain_turn(JobService *service, const Job *row, JobsApiJob *inout_job);
MUST_CHECK Error *job_service_devices(
    void *self, const Caller *caller, JobsApiDeviceVisitor *visit, void *context);
MUST_CHECK Error *job_service_tenants(void *self, const Caller *caller, const char *after,
    size_t count_max, JobsApiTenantVisitor *visit, void *context);
void job_service_use(void *self, TenantId tenant, JobsApiUse *out_use);
void job_service_tenant_changed(void *self, TenantId tenant);
MUST_CHECK Error *job_service_outputs(void *self, const Caller *caller, const char *job,
    int64_t since, HttpStream *out_stream, JobsApiOutputs *out);
MUST_CHECK Error *job_service_ask(
    void *self, const Caller *caller, const char *job, JobsApiQuestion what, JobsApiWait *out_wait);
MUST_CHECK Error *job_service_find_model(
    void *self, const Caller *caller, const char *reference, JobsApiModel *out_model);
MUST_CHECK Error *job_service_run(void *self, const Caller *caller, const JobsApiModel *model,
    Submission *inout_submission, ArrayList *inout_inputs, JobsApiRun *out_run);
/* ---- job_service_moved.c: jobs that went to another node ---- */
/* Adds the state that the job's new node reports; adds nothing if the node does not answer. */
void job_service_show_moved(
    JobService *service, const Caller *caller, const Job *row, JobsApiJob *inout_job);
MUST_CHECK Error *job_service_pass_outputs(JobService *service, const Caller *caller,
    const Job *row, int64_t since, HttpStream *out_stream, JobsApiOutputs *out);

/* Checks that no node that this home knows has restored the file's job already, since a file gives
 * its job once. A node that does not answer is skipped. Jobs of other tenants do not exist for a
 * user.
 *
 * out_vouched: a node released the job, and the job belongs there to the tenant with the caller's
 *              tenant's name; or an administrator asks.
 * Errors:      CONFLICT. */
MUST_CHECK Error *job_service_check_elsewhere(
    JobService *service, const Caller *caller, JobId job, int64_t epoch, bool *out_vouched);

MUST_CHECK Error *job_service_checkpoint(void *self, const Caller *caller, const char *job,
    const JobsApiCheckpointOptions *options, const char *path, HttpStream *out_stream);
MUST_CHECK Error *job_service_restore(void *self, const Caller *caller, const char *path,
    const JobsApiRestoreOptions *options, JobsApiJob *out_job);
/* Makes a suspended job continue from an older checkpoint when it is resumed. */
MUST_CHECK Error *job_service_go_back(JobService *service, const Job *row, int64_t checkpoint);
MUST_CHECK Error *job_service_verify(void *self, const Caller *caller, const char *job,
    int64_t checkpoint, JobsApiVerification *out_verification);
MUST_CHECK Error *job_service_verification(
    void *self, const Caller *caller, const char *replay, JobsApiVerification *out_verification);
/* Runs work, one step of inout_copy, until the copy is done. A copy that fails is given up. */
MUST_CHECK Error *job_service_copy(
    JobService *service, CatalogWork work, void *context, JobCopy *inout_copy);
/* Checks that one more job may wait. Errors: EXHAUSTED the tenant's queued_jobs. */
MUST_CHECK Error *job_service_check_queue(JobService *service, TenantId tenant);
MUST_CHECK Error *job_service_watch(
    void *self, const Caller *caller, const char *job, int64_t since, HttpStream *out_stream);
