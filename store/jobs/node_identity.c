#include "store/jobs/node_identity.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/allocator.h"
#include "base/file.h"
#include "base/system_random.h"
#include "store/database/catalog.h"
#include "store/database/job_id.h"
#include "store/jobs/jobs_internal.h"

enum { MACHINE_ID_SIZE_MAX = 4096, HELD_AT_ONCE = 64 };

typedef struct Claim {
    const Digest *binding;
    NodeIdentity identity;
} Claim;

/* Adds the machine's id. Machines without an id are distinguished by their homes alone. */
static Error *add_machine(DigestStream *stream) {
    uint8_t *data;
    size_t size;
    Error *error = file_read("/etc/machine-id", MACHINE_ID_SIZE_MAX, &data, &size);
    if (error_code(error) == ERROR_NOT_FOUND) {
        error_free(error); /* containers often have none */
        return NULL;
    }
    TRY(error);
    error = digest_stream_add(stream, data, size);
    memory_unmap(data, size);
    return error;
}

Error *node_identity_binding(const Store *store, Digest *out_binding) {
    OWN(DigestStream, stream) = NULL;
    struct stat status;
    char text[32];
    if (stat(store->path, &status) != 0) FAIL(IO, "look at %s: %s", store->home, strerror(errno));
    TRY(digest_stream_create(&stream));
    TRY(add_machine(stream));
    (void)snprintf(text, sizeof text, " %llu", (unsigned long long)status.st_ino);
    TRY(digest_stream_add(stream, text, strlen(text)));
    return digest_stream_finish(stream, out_binding);
}

static Error *make_node(uint64_t *out_node) {
    uint64_t node;
    do {
        TRY(system_random(&node, sizeof node));
        node &= JOB_ID_NODE_MAX;
    } while (node == 0);
    *out_node = node;
    return NULL;
}

static Error *read_home(
    Connection *catalog, uint64_t *out_node, bool *out_bound, Digest *out_binding) {
    Query OWN_QUERY(query) = query_start(catalog, STATEMENT_READ_HOME);
    bool row;
    TRY(query_next(&query, &row));
    if (!row) FAIL(CORRUPT, "catalog.db: the home's own row is gone; run fsck");
    TRY(query_size(&query, 0, out_node));
    *out_bound = !query_is_null(&query, 1);
    return *out_bound ? query_digest(&query, 1, out_binding) : NULL;
}

static Error *write_home(Connection *catalog, uint64_t node, const Digest *binding) {
    Query OWN_QUERY(query) = query_start(catalog, STATEMENT_SET_HOME);
    query_bind_i64(&query, 1, (int64_t)node);
    query_bind_digest(&query, 2, binding);
    return query_run(&query);
}

/* Whether a job has this home's node in its id. */
static Error *has_named_jobs(Connection *catalog, bool *out) {
    Query OWN_QUERY(query) = query_start(catalog, STATEMENT_READ_JOB_NUMBER);
    bool row;
    int64_t last = 0;
    TRY(query_next(&query, &row));
    if (row) TRY(query_i64(&query, 0, &last));
    *out = last > 0;
    return NULL;
}

typedef struct HeldJob {
    TenantId tenant;
    JobId id;
} HeldJob;

/* Some of the jobs in a state, collected first: changing rows under a running list lets SQLite skip
 * some. */
static Error *list_some(
    Connection *catalog, JobState state, HeldJob out_jobs[HELD_AT_ONCE], size_t *out_count) {
    Query OWN_QUERY(query) = query_start(catalog, STATEMENT_LIST_JOB_IDS);
    query_bind_i64(&query, 1, state);
    query_bind_i64(&query, 2, HELD_AT_ONCE);
    for (size_t count = 0;; count++) {
        bool row;
        TRY(query_next(&query, &row));
        if (!row) {
            *out_count = count;
            return NULL;
        }
        TRY(query_i64(&query, 0, &out_jobs[count].tenant));
        TRY(query_job_id(&query, 1, &out_jobs[count].id));
    }
}

static Error *hold_jobs(Connection *catalog, JobState state, uint64_t *inout_count) {
    HeldJob jobs[HELD_AT_ONCE];
    size_t count;
    do {
        TRY(list_some(catalog, state, jobs, &count));
        for (size_t i = 0; i < count; i++)
            TRY(jobs_transition(catalog, jobs[i].tenant, jobs[i].id, JOB_STATE_HELD,
                "the home is a copy of another one, which may run the job"));
        *inout_count += count;
    } while (count > 0);
    return NULL;
}

static Error *claim(Connection *catalog, void *context) {
    Claim *request = context;
    NodeIdentity *identity = &request->identity;
    Digest binding;
    bool bound, named;
    TRY(read_home(catalog, &identity->node, &bound, &binding));
    if (bound && digest_equal(&binding, request->binding)) return NULL;
    identity->is_copy = bound;
    TRY(has_named_jobs(catalog, &named));
    /* an unclaimed home may be a copy; no job carries its number yet, so the home takes a new
     * one */
    if (!bound && !named) TRY(make_node(&identity->node));
    if (bound) {
        TRY(make_node(&identity->node));
        TRY(hold_jobs(catalog, JOB_STATE_QUEUED, &identity->jobs_held));
        TRY(hold_jobs(catalog, JOB_STATE_SUSPENDED, &identity->jobs_held));
        TRY(hold_jobs(catalog, JOB_STATE_IN_DOUBT, &identity->jobs_held));
        /* migrations under way are the other home's */
        TRY(query_run_alone(catalog, STATEMENT_FORGET_DEPARTURES));
        TRY(query_run_alone(catalog, STATEMENT_FORGET_ARRIVALS));
    }
    return write_home(catalog, identity->node, request->binding);
}

Error *node_identity_claim(Store *store, const Digest *binding, NodeIdentity *out_identity) {
    Claim request = {.binding = binding};
    TRY(catalog_run_directly(store, claim, &request));
    *out_identity = request.identity;
    return NULL;
}
