#pragma once
/* What the HTTP server asks about jobs, answered from the store and the control thread. */
#include "scheduler/control/control.h"
#include "scheduler/http/server/jobs_api.h"

typedef struct JobService JobService;

/* The control thread's options must name job_service_changed and the service as its listener, so
 * the service is made first and told of the control thread then. Everything is borrowed. */
MUST_CHECK Error *job_service_create(
    SettingsCache *settings, Catalog *catalog, WorkerPool *pool, JobService **out_service);
void job_service_set_control(JobService *service, Control *control);
/* Called when a job was removed, from any thread: rows of it may be left to delete. */
void job_service_set_removed(JobService *service, void (*removed)(void *context), void *context);
/* No stream of it is open any more. */
void job_service_release(JobService *service);
DEFINE_OWN(JobService, job_service_release);
JobsApi job_service_api(JobService *service);
void job_service_changed(void *service, JobId job);
/* Ends verifications whose outcome nobody has fetched in a minute or two of the home's time
 * (store/database/alive_time.h). */
MUST_CHECK Error *job_service_settle_verifications(JobService *service);
