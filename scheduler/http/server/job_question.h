#pragma once
/* A question about a job whose answer waits for the job's next safepoint (JobsApiQuestion). The
 * request waits without a thread; then a handler thread writes the answer. Called by
 * route_job_changes.c and route_jobs.c, on handler threads. */
#include "scheduler/http/server/http_service.h"

typedef struct JobQuestion {
    HttpService *service;
    const HttpRequest *request; /* lives as long as its exchange */
    JobsApiQuestion what;
    JobsApiCheckpointOptions options; /* for CHECKPOINT and RELEASE */
    /* Writes the answer. owned_error: the question's result, NULL if it succeeded; suspended: the
     * question suspended the job. */
    Error *(*answer)(const struct JobQuestion *question, Error *owned_error, bool suspended,
        HttpResponse *response);
} JobQuestion;

/* Asks the question and makes the response wait. question: copied; the job is the request's first
 * name. Errors: of JobsApiClass.ask, OUT_OF_MEMORY; then nothing was asked. */
MUST_CHECK Error *job_question_ask(const JobQuestion *question, HttpResponse *response);
