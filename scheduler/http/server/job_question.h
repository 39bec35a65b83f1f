#pragma once
/* A question about a job whose answer waits for the job's next safepoint (JobsApiQuestion), for the
 * routes that ask one: the request waits without a thread, then a handler thread writes the answer.
 */
#include "scheduler/http/server/http_service.h"

typedef struct JobQuestion {
    HttpService *service;
    const HttpRequest *request; /* lives as long as its exchange */
    JobsApiQuestion what;
    JobsApiCheckpointOptions options; /* of CHECKPOINT and RELEASE */
    /* Writes the answer. owned_error: what came of the question, NULL if it was done; suspended: it
     * suspended the job. */
    Error *(*answer)(const struct JobQuestion *question, Error *owned_error, bool suspended,
        HttpResponse *response);
} JobQuestion;

/* Asks; the response waits. question: copied; the job is the request's first name. Errors: of
 * JobsApiClass.ask, OUT_OF_MEMORY; then nothing was asked. */
MUST_CHECK Error *job_question_ask(const JobQuestion *question, HttpResponse *response);
