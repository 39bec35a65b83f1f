#pragma once
/* Answers of other nodes that are passed on while they arrive: the outputs of a job that has moved.
 * Nothing is written to the disk, and of each answer no more than a piece is in memory. The other
 * node sends as fast as the client reads. Called by job_service_moved.c through owner_link.c, on
 * handler threads.
 *
 * Each answer has a thread of its own, which asks the other node, so a node that does not answer
 * blocks none of the server's threads while the answer is sent. */
#include "scheduler/http/client/http_client.h"
#include "scheduler/http/server/http_response.h"
#include "store/database/store.h"

enum {
    PASSED_ANSWERS_MAX = 32,          /* at once */
    PASSED_ANSWERS_OF_TENANT_MAX = 8, /* at once, for one tenant's jobs */
};

/* The set of all answers of a server. */
typedef struct PassedAnswers PassedAnswers;

MUST_CHECK Error *passed_answers_create(PassedAnswers **out_answers);
/* Cancels the answers' threads. Every stream must be closed. Blocks: until the threads have ended,
 * a second or so. */
void passed_answers_release(PassedAnswers *answers);
DEFINE_OWN(PassedAnswers, passed_answers_release);

/* Asks GET path over the link, and waits for the answer's first bytes.
 *
 * tenant:     the owner of the job.
 * out_next:   Layover-Next of the answer; -1: it has none.
 * out_stream: fails where the connection to the other node breaks.
 * Errors:     EXHAUSTED too many answers are passed on already; as http_client_call.
 * Ownership:  the link is consumed, on failure, too.
 * Threads:    any. Blocks: until the other node answers. */
MUST_CHECK Error *passed_answer_open(PassedAnswers *answers, HttpClient *owned_link,
    TenantId tenant, const char *path, int64_t *out_next, HttpStream *out_stream);
