#include <stdio.h>
#include <string.h>

#include "scheduler/service/job_service_internal.h"
#include "scheduler/migration/node_link.h"
#include "scheduler/migration/owner_link.h"
#include "store/jobs/departures.h"
#include "store/accounts/nodes.h"

enum { ASKING_MAX = 4 };

static Error *open_owner(JobService *service, const Job *row, HttpClient **out) {
    uint64_t target;
    Node node;
    TRY(departures_find_target(service->store, row->tenant, row->id, &target));
    TRY_WRAP(node_link_open_number(service->store, target, &node, out), "the job is at %s",
        row->migrating);
    return NULL;
}

static Error *ask_owner(
    JobService *service, const Caller *caller, const Job *row, OwnedJob *out_there) {
    OWN(HttpClient, link) = NULL;
    TRY(open_owner(service, row, &link));
    return owner_link_get(link, row->id, caller->hops, out_there);
}

/* Shows the state that the other node reports, if it answers and not too many threads wait for that
 * already, which would keep the server's threads from other requests; else the tombstone's. */
void job_service_show_moved(
    JobService *service, const Caller *caller, const Job *row, JobsApiJob *inout_job) {
    OwnedJob there;
    Error *error = NULL;
    if (row->state != JOB_STATE_MOVED) return;
    const bool asks = atomic_fetch_add(&service->asking, 1) < ASKING_MAX;
    if (asks) error = ask_owner(service, caller, row, &there);
    (void)atomic_fetch_sub(&service->asking, 1);
    if (!asks) return;
    if (error) {
        error_free(error);
        return;
    }
    (void)snprintf(inout_job->moved_state, sizeof inout_job->moved_state, "%s", there.state);
    if (*there.why) (void)snprintf(inout_job->why, sizeof inout_job->why, "%s", there.why);
    inout_job->items_done = there.items_done;
    inout_job->outputs = there.outputs;
}

Error *job_service_pass_outputs(JobService *service, const Caller *caller, const Job *row,
    int64_t since, HttpStream *out_stream, JobsApiOutputs *out) {
    OWN(HttpClient, link) = NULL;
    TRY(open_owner(service, row, &link));
    TRY_WRAP(owner_link_open_outputs(service->passed, TAKE(link), row->tenant, row->id,
                 caller->hops, since, &out->next, out_stream),
        "the job is at %s", row->migrating);
    out->count = out->next - since;
    return NULL;
}

/* tenant: NULL: any. */
static Error *check_node(
    const Node *node, const char *tenant, JobId job, int64_t epoch, bool *inout_vouched) {
    OWN(HttpClient, link) = NULL;
    OwnedJob there;
    char name[JOB_ID_TEXT_SIZE];
    Error *error = node_link_open(node, &link);
    if (!error) error = owner_link_get(link, job, 0, &there);
    if (error) { /* the other node has no such job, or cannot say */
        error_free(error);
        return NULL;
    }
    if (tenant && strcmp(there.tenant, tenant) != 0) return NULL;
    if (there.epoch <= epoch) { /* the other node wrote the file, or knows who did */
        *inout_vouched |= strcmp(there.state, job_state_info(JOB_STATE_RELEASED)->name) == 0;
        return NULL;
    }
    job_id_print(job, name);
    FAIL(CONFLICT, "job %s is at node %s already, and %s; a file gives its job once", name,
        node->name, there.state);
}

Error *job_service_check_elsewhere(
    JobService *service, const Caller *caller, JobId job, int64_t epoch, bool *out_vouched) {
    OWN(NodeList, list) = NULL;
    Tenant tenant;
    bool sees_all = caller->role == CALLER_ADMIN, vouched = sees_all;
    TRY(settings_cache_get_tenant(service->settings, caller->tenant, &tenant));
    TRY(nodes_list(service->store, &list));
    for (size_t i = 0; i < list->count; i++)
        TRY(check_node(&list->items[i], sees_all ? NULL : tenant.name, job, epoch, &vouched));
    *out_vouched = vouched;
    return NULL;
}
