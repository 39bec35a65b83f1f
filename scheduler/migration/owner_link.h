#pragma once
/* What a node asks about a job that went from it, of the node that it went to; that one may have to
 * ask the next. The other end is route_arrivals.c. Errors: as target_link.h. */
#include "scheduler/http/client/http_client.h"
#include "scheduler/http/server/jobs_api.h"
#include "scheduler/migration/passed_answer.h"
#include "store/jobs/jobs.h"

enum { OWNER_HOPS_MAX = 8 }; /* nodes that a question passes */

typedef struct OwnedJob {
    char tenant[JOBS_API_TEXT_SIZE]; /* as it is called there; "": an older node does not say */
    char state[JOBS_API_TEXT_SIZE];  /* "running" among them */
    char why[JOBS_API_WHY_SIZE];
    int64_t epoch;
    int64_t items_done, outputs;
} OwnedJob;

/* hops: that the question has passed. */
MUST_CHECK Error *owner_link_get(HttpClient *client, JobId job, uint32_t hops, OwnedJob *out);
/* Passes them on while they come. tenant: whose the job is. out_next: what comes after them. As
 * passed_answer_open: the link is consumed. */
MUST_CHECK Error *owner_link_open_outputs(PassedAnswers *answers, HttpClient *owned_link,
    TenantId tenant, JobId job, uint32_t hops, int64_t since, int64_t *out_next,
    HttpStream *out_stream);
