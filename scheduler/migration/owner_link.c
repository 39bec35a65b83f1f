#include "scheduler/migration/owner_link.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "scheduler/http/client/json_body.h"
#include "scheduler/migration/node_link.h"

enum { QUICK_MS = 5000 };

static Error *make_path(TextBuilder *path, JobId job, const char *what, uint32_t hops) {
    char name[JOB_ID_TEXT_SIZE];
    if (hops >= OWNER_HOPS_MAX) FAIL(INVALID, "the job went on more than %d times", OWNER_HOPS_MAX);
    job_id_print(job, name);
    text_appendf(path, "/v1/peer/jobs/%s%s?hops=%u", name, what, hops + 1);
    return text_builder_check(path);
}

/* Reads a text that fits; a longer one counts as missing. */
static Error *read_text(json_object *answer, const char *name, char *out, size_t size) {
    const char *text = "";
    TRY(json_body_text(answer, name, &text));
    if (strlen(text) >= size) FAIL(INVALID, "%s: %zu bytes at most", name, size - 1);
    (void)snprintf(out, size, "%s", text);
    return NULL;
}

static Error *read_job(json_object *answer, OwnedJob *out) {
    OwnedJob job = {0};
    TRY(read_text(answer, "tenant", job.tenant, sizeof job.tenant));
    TRY(read_text(answer, "state", job.state, sizeof job.state));
    TRY(read_text(answer, "why", job.why, sizeof job.why));
    TRY(json_body_number(answer, "epoch", 0, INT64_MAX, &job.epoch));
    TRY(json_body_number(answer, "items_done", 0, INT64_MAX, &job.items_done));
    TRY(json_body_number(answer, "outputs", 0, INT64_MAX, &job.outputs));
    *out = job;
    return NULL;
}

Error *owner_link_get(HttpClient *client, JobId job, uint32_t hops, OwnedJob *out) {
    TextBuilder OWN_TEXT(path) = {0};
    OWN_JSON(answer) = NULL;
    TRY(make_path(&path, job, "", hops));
    TRY(node_link_ask_within(
        client, HTTP_METHOD_GET, text_builder_get(&path), NULL, QUICK_MS, &answer));
    return error_recode(error_wrap(read_job(answer, out), "its answer"), ERROR_CORRUPT);
}

Error *owner_link_open_outputs(PassedAnswers *answers, HttpClient *owned_link, TenantId tenant,
    JobId job, uint32_t hops, int64_t since, int64_t *out_next, HttpStream *out_stream) {
    OWN(HttpClient, link) = owned_link;
    TextBuilder OWN_TEXT(path) = {0};
    int64_t next;
    TRY(make_path(&path, job, "/outputs", hops));
    text_appendf(&path, "&since=%" PRId64, since);
    TRY(text_builder_check(&path));
    TRY(passed_answer_open(
        answers, TAKE(link), tenant, text_builder_get(&path), &next, out_stream));
    if (next >= since) {
        *out_next = next;
        return NULL;
    }
    out_stream->close(out_stream->self);
    *out_stream = (HttpStream){.pull = NULL};
    FAIL(CORRUPT, "its answer does not say what comes next");
}
