#pragma once
/* Questions about a job that moved, sent to the node that it moved to; that node may have to ask
 * the next one. The other end is route_arrivals.c. Called by job_service_moved.c, on handler
 * threads. Errors: as target_link.h. */
#include "scheduler/http/client/http_client.h"
#include "scheduler/http/server/jobs_api.h"
#include "scheduler/migration/passed_answer.h"
#include "store/jobs/jobs.h"

enum { OWNER_HOPS_MAX = 8 }; /* upper bound on the nodes that a question passes */

typedef struct OwnedJob {
    char tenant[JOBS_API_TEXT_SIZE]; /* the tenant's name there; "": an older node does not say */
    char state[JOBS_API_TEXT_SIZE];  /* "running" and the other states */
    char why[JOBS_API_WHY_SIZE];
    int64_t epoch;
    int64_t items_done, outputs;
} OwnedJob;

/* hops: how many nodes the question has passed. */
MUST_CHECK Error *owner_link_get(HttpClient *client, JobId job, uint32_t hops, OwnedJob *out);
/* Opens the job's outputs as a stream that passes them on while they come. tenant: the job's owner.
 * out_next: the sequence number after them. The link is consumed, as by passed_answer_open. */
MUST_CHECK Error *owner_link_open_outputs(PassedAnswers *answers, HttpClient *owned_link,
    TenantId tenant, JobId job, uint32_t hops, int64_t since, int64_t *out_next,
    HttpStream *out_stream);
