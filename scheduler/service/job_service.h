#pragma once
/* Answers the HTTP server's questions about jobs from the store and the control thread, as an
 * implementation of JobsApi (jobs_api.h). Made by daemon.c; its functions run on HTTP handler
 * threads. */
#include "scheduler/control/control.h"
#include "scheduler/http/server/jobs_api.h"

typedef struct JobService JobService;

/* Makes the service. The control thread's options must name job_service_changed and the service as
 * their listener, so the service is made first and gets the control thread by
 * job_service_set_control. Borrows all arguments. */
MUST_CHECK Error *job_service_create(
    SettingsCache *settings, Catalog *catalog, WorkerPool *pool, JobService **out_service);
void job_service_set_control(JobService *service, Control *control);
/* removed: called from any thread when a job was removed and rows of it may be left to delete. */
void job_service_set_removed(JobService *service, void (*removed)(void *context), void *context);
/* No stream of the service may be open any more. */
void job_service_release(JobService *service);
DEFINE_OWN(JobService, job_service_release);
JobsApi job_service_api(JobService *service);
void job_service_changed(void *service, JobId job);
/* Ends verifications whose outcome no request has fetched in a minute or two of the home's time
 * (store/database/alive_time.h). */
MUST_CHECK Error *job_service_settle_verifications(JobService *service);
