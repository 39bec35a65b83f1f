#pragma once
/* Gathers inference requests of one tenant for one executable whose inputs agree but for their
 * leading axis, runs them as one transient job, and gives each request its part of the outputs.
 * Called by job_service_runs.c, on handler threads; results come on the control thread.
 *
 * A joined run is open, then under way, then ended. An open run takes in requests. It begins as
 * soon as it has all the items that it may have; or when one of its requests has waited for its
 * delay and fewer runs of its kind are under way than there are devices.
 *
 * Requests of different tenants are never joined: a run is charged to one tenant, and its memory
 * holds the inputs of all its requests. A joined run that fails is done again request by request,
 * so a request fails for its own inputs only. */
#include "scheduler/control/control.h"
#include "scheduler/http/server/jobs_api.h"
#include "store/models/models.h"

typedef struct RunJoiner RunJoiner;
struct JoinedRun;

/* One request, a member of the owner's object. The joiner uses it from run_joiner_add until it
 * calls ended or run_alone. */
typedef struct JoinMember {
    /* ---- Set by the owner. ---- */
    const Executable *outline;
    Submission *submission; /* complete, with the batch; its members are left as they are unless
                             * the request runs alone */
    int64_t items;          /* batch_join_items of the batch, at least 1 */
    ModelBatching batching;
    /* Called once when the run has ended; NULL: run_joiner_take gives the outputs. Must not wait.
     * Threads: any. */
    void (*ended)(struct JoinMember *member, Error *owned_error);
    /* Called instead, to submit the request by itself; the joiner is out of it then. Threads: any,
     * under the joiner's mutex. */
    Error *(*run_alone)(struct JoinMember *member);

    /* ---- The joiner's. ---- */
    struct JoinedRun *joined; /* NULL: in none */
    int64_t first_item;
    uint64_t begin_ns;
    JobsApiRunTimes times; /* set before a call of ended */
    bool was_cut;
    Error *error; /* of run_alone */
} JoinMember;

MUST_CHECK Error *run_joiner_create(RunJoiner **out_joiner);
/* Called before the first request. control: borrowed. */
void run_joiner_set_control(RunJoiner *joiner, Control *control);
/* No request may be in it. */
void run_joiner_release(RunJoiner *joiner);
DEFINE_OWN(RunJoiner, run_joiner_release);

/* Adds a request. Errors: OUT_OF_MEMORY: nothing is called then. */
MUST_CHECK Error *run_joiner_add(RunJoiner *joiner, JoinMember *member);
/* Ends a request that is not wanted any more: at once while it waits for others; the run is
 * cancelled when none of its requests is wanted. Returns false when the request runs alone or has
 * failed. Threads: any. */
bool run_joiner_cut(RunJoiner *joiner, JoinMember *member);
/* Moves a request's outputs out, after a call of ended without an error. Errors: OUT_OF_MEMORY. */
MUST_CHECK Error *run_joiner_take(JoinMember *member, ArrayList *out_outputs);
/* Gives the outputs back that were not taken. */
void run_joiner_drop(JoinMember *member);
/* How many requests of a tenant wait for others. */
size_t run_joiner_count_waiting(RunJoiner *joiner, TenantId tenant);
