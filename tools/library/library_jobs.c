/* Jobs of layover_jobs.h. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/allocator.h"
#include "base/clock.h"
#include "scheduler/http/client/json_body.h"
#include "scheduler/http/client/json_fields.h"
#include "store/jobs/job_state.h"
#include "tools/library/library_client.h"
#include "tools/remote/job_follow.h"
#include "tools/remote/job_request.h"
#include "tools/remote/output_pieces.h"
#include "tools/remote/temporary_file.h"

struct LayoverJob {
    LayoverClient *client; /* retained */
    char id[];
};

void layover_job_free(LayoverJob *job) {
    if (!job) return;
    layover_client_close(job->client);
    memory_free(job);
}

const char *layover_job_id(const LayoverJob *job) { return job->id; }

static Error *make_job(LayoverClient *client, const char *id, LayoverJob **out) {
    void *memory;
    const size_t size = strlen(id) + 1;
    TRY(memory_alloc(1, sizeof(LayoverJob) + size, &memory));
    LayoverJob *job = memory;
    job->client = client;
    refcount_retain(&client->refcount);
    memcpy(job->id, id, size);
    *out = job;
    return NULL;
}

/* Makes the handle of a job that an answer describes. */
static Error *take_job(LayoverClient *client, json_object *owned_answer, LayoverJob **out) {
    OWN_JSON(answer) = owned_answer;
    const char *id = remote_text(answer, "job");
    if (!*id) FAIL(CORRUPT, "the server's answer names no job");
    return make_job(client, id, out);
}

/* ---- making jobs ---- */

static void add_text(json_object *policy, const char *name, const char *text) {
    if (text) json_fields_text(policy, name, text);
}

static void add_count(json_object *policy, const char *name, uint64_t count) {
    if (count) json_fields_int(policy, name, count > INT64_MAX ? INT64_MAX : (int64_t)count);
}

static Error *add_seconds(json_object *policy, const char *name, double seconds) {
    if (!isfinite(seconds) || seconds < 0) FAIL(INVALID, "%s: a number of seconds is wanted", name);
    if (seconds > 0) json_fields_real(policy, name, seconds);
    return NULL;
}

static Error *make_policy(
    const char *reference, const LayoverSubmission *submission, json_object *policy) {
    json_fields_text(policy, "model", reference);
    add_text(policy, "function", submission->function);
    add_text(policy, "priority", submission->priority);
    add_text(policy, "device", submission->device);
    add_text(policy, "key", submission->key);
    add_text(policy, "release", submission->release);
    add_count(policy, "checkpoint_keep", submission->checkpoint_keep);
    add_count(policy, "weight", submission->weight);
    add_count(policy, "batch", submission->batch);
    add_count(policy, "suspend_after", submission->suspend_after);
    if (submission->items) json_fields_add(policy, "items", json_object_new_boolean(1));
    json_object *shared = submission->shared_count ? json_object_new_array() : NULL;
    for (uint32_t i = 0; i < submission->shared_count; i++)
        json_object_array_add(shared, json_object_new_string(submission->shared[i]));
    if (shared) json_fields_add(policy, "shared", shared);
    TRY(add_seconds(policy, "deadline", submission->deadline_s));
    return add_seconds(policy, "checkpoint_every", submission->checkpoint_every_s);
}

static Error *submit_file(LayoverClient *client, const char *reference, const char *path,
    const LayoverSubmission *submission, LayoverJob **out) {
    static const LayoverSubmission plain;
    OWN_CALL(call) = {0};
    OWN_JSON(policy) = NULL;
    json_object *answer;
    TRY(json_fields_create(&policy));
    TRY(make_policy(reference, submission ? submission : &plain, policy));
    TRY(library_call_begin(client, &call));
    TRY(job_request_submit(call.http, policy, path, &answer));
    return take_job(client, answer, out);
}

LayoverError *layover_client_submit_file(LayoverClient *client, const char *reference,
    const char *inputs_path, const LayoverSubmission *submission, LayoverJob **out_job) {
    return library_error(submit_file(client, reference, inputs_path, submission, out_job));
}

static Error *submit(LayoverClient *client, const char *reference, const LayoverNamedValue *inputs,
    uint32_t count, const LayoverSubmission *submission, LayoverJob **out) {
    TemporaryFile OWN_TEMPORARY(file) = {0};
    Error *error = temporary_file_create(&file);
    for (uint32_t i = 0; error && i < count; i++) library_value_drop(&inputs[i].value);
    TRY(error);
    TRY(library_arrays_write(inputs, count, file.path));
    return submit_file(client, reference, file.path, submission, out);
}

LayoverError *layover_client_submit(LayoverClient *client, const char *reference,
    const LayoverNamedValue *inputs, uint32_t input_count, const LayoverSubmission *submission,
    LayoverJob **out_job) {
    return library_error(submit(client, reference, inputs, input_count, submission, out_job));
}

static Error *find_job(LayoverClient *client, const char *id, LayoverJob **out) {
    OWN_CALL(call) = {0};
    json_object *answer;
    TRY(library_call_begin(client, &call));
    TRY(remote_ask_route(call.http, ROUTE_JOB_GET, &id, &answer));
    return take_job(client, answer, out);
}

LayoverError *layover_client_find_job(LayoverClient *client, const char *id, LayoverJob **out_job) {
    return library_error(find_job(client, id, out_job));
}

static Error *restore(LayoverClient *client, const char *path, bool with_outputs,
    const char *device, LayoverJob **out) {
    OWN_CALL(call) = {0};
    json_object *answer;
    TRY(library_call_begin(client, &call));
    TRY(job_request_restore(call.http, path, with_outputs, device, &answer));
    return take_job(client, answer, out);
}

LayoverError *layover_client_restore(LayoverClient *client, const char *path, int with_outputs,
    const char *device, LayoverJob **out_job) {
    return library_error(restore(client, path, with_outputs != 0, device, out_job));
}

/* ---- watching jobs ---- */

static Error *list_jobs(LayoverClient *client, const char *state, LayoverValue *out_json) {
    OWN_CALL(call) = {0};
    TextBuilder OWN_TEXT(path) = {0};
    JobState found;
    if (state && !job_state_find_shown(state, &found)) FAIL(INVALID, "there is no state %s", state);
    TRY(library_call_begin(client, &call));
    remote_path(&path, ROUTE_JOB_LIST, NULL);
    if (state) http_client_query(&path, "state", state);
    return library_call_list(&call, &path, out_json);
}

LayoverError *layover_client_jobs(
    LayoverClient *client, const char *state, LayoverValue *out_json) {
    return library_error(list_jobs(client, state, out_json));
}

static Error *read_job(const LayoverJob *job, HttpClient *http, json_object **out) {
    const char *id = job->id;
    return remote_ask_route(http, ROUTE_JOB_GET, &id, out);
}

static Error *describe(LayoverJob *job, LayoverValue *out_json) {
    OWN_CALL(call) = {0};
    json_object *answer;
    TRY(library_call_begin(job->client, &call));
    TRY(read_job(job, call.http, &answer));
    return library_answer(answer, out_json);
}

LayoverError *layover_job_info(LayoverJob *job, LayoverValue *out_json) {
    return library_error(describe(job, out_json));
}

static bool is_late(void *end_ns) { return clock_now_ns(clock_real()) >= *(uint64_t *)end_ns; }

static Error *wait(
    LayoverJob *job, uint64_t limit_ms, bool past_suspended, const char **out_state) {
    OWN_CALL(call) = {0};
    JobState state;
    const uint64_t now_ns = clock_now_ns(clock_real());
    const bool endless = limit_ms == 0 || limit_ms > (UINT64_MAX - now_ns) / 1000000;
    uint64_t end_ns = endless ? UINT64_MAX : now_ns + limit_ms * 1000000;
    TRY(library_call_begin(job->client, &call));
    JobFollow follow = {.client = call.http,
        .job = job->id,
        .until_suspended = !past_suspended,
        .interrupted = is_late,
        .context = &end_ns};
    TRY(job_follow_run(&follow));
    const char *name = !follow.ended ? "suspended" : follow.state;
    if (!job_state_find(name, &state))
        FAIL(CORRUPT, "job %s has the state %s, which this version does not know", job->id, name);
    *out_state = job_state_info(state)->name;
    return NULL;
}

LayoverError *layover_job_wait(
    LayoverJob *job, uint64_t limit_ms, int past_suspended, const char **out_state) {
    return library_error(wait(job, limit_ms, past_suspended != 0, out_state));
}

typedef struct Watch {
    LayoverJobWatcher *watcher;
    void *context;
    bool left;
} Watch;

static Error *pass_line(void *self, json_object *line) {
    Watch *watch = self;
    const char *text = json_object_to_json_string_ext(
        line, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE);
    if (!text) FAIL(OUT_OF_MEMORY, "no memory for a line");
    watch->left = watch->watcher(watch->context, text) != 0;
    if (watch->left) FAIL(INTERRUPTED, "the watcher has ended the watch");
    return NULL;
}

static Error *watch_job(
    LayoverJob *job, int64_t *inout_since, LayoverJobWatcher *watcher, void *context) {
    OWN_CALL(call) = {0};
    Watch watch = {watcher, context, false};
    TRY(library_call_begin(job->client, &call));
    JobFollow follow = {.client = call.http,
        .job = job->id,
        .since = *inout_since,
        .visit = pass_line,
        .context = &watch};
    Error *error = job_follow_run(&follow);
    *inout_since = follow.since;
    if (!watch.left) return error;
    error_free(error); /* the watcher wanted this end */
    return NULL;
}

LayoverError *layover_job_watch(
    LayoverJob *job, int64_t *inout_since, LayoverJobWatcher *watcher, void *context) {
    return library_error(watch_job(job, inout_since, watcher, context));
}

/* ---- outputs ---- */

/* Errors: INVALID the job has not succeeded. */
static Error *read_finished(
    const LayoverJob *job, HttpClient *http, bool partial, json_object **out) {
    OWN_JSON(answer) = NULL;
    TRY(read_job(job, http, &answer));
    const char *state = remote_text(answer, "state"), *moved = remote_text(answer, "moved_state");
    const char *why = remote_text(answer, "why");
    if (*moved) state = moved;
    if (!partial && strcmp(state, "succeeded") != 0)
        FAIL(INVALID, "job %s is %s%s%s", job->id, state, *why ? ": " : "", why);
    *out = TAKE(answer);
    return NULL;
}

static Error *read_outputs(LayoverJob *job, bool partial, LayoverNamedValues **out) {
    OWN_CALL(call) = {0};
    OWN_JSON(answer) = NULL;
    ArrayList OWN_ARRAYS(arrays) = {0};
    HttpClientReply OWN_REPLY(reply) = {0};
    TRY(library_call_begin(job->client, &call));
    TRY(read_finished(job, call.http, partial, &answer));
    TRY(output_pieces_read(call.http, answer, &arrays, &reply));
    return library_arrays_give(&arrays, out);
}

LayoverError *layover_job_outputs(LayoverJob *job, int partial, LayoverNamedValues **out_outputs) {
    return library_error(read_outputs(job, partial != 0, out_outputs));
}

static Error *write_outputs(LayoverJob *job, bool partial, const char *path, uint64_t *out_bytes) {
    OWN_CALL(call) = {0};
    OWN_JSON(answer) = NULL;
    HttpClientReply OWN_REPLY(reply) = {0};
    TRY(library_call_begin(job->client, &call));
    TRY(read_finished(job, call.http, partial, &answer));
    TRY(output_pieces_fetch(call.http, answer, path, &reply));
    *out_bytes = reply.bytes;
    return NULL;
}

LayoverError *layover_job_outputs_file(
    LayoverJob *job, int partial, const char *path, uint64_t *out_bytes) {
    return library_error(write_outputs(job, partial != 0, path, out_bytes));
}

/* ---- changing jobs ---- */

/* Sends a request about the job. device, from: fields of the body, if they are given. */
static Error *change(
    const LayoverJob *job, RouteId route, const char *device, uint64_t from, json_object **out) {
    OWN_CALL(call) = {0};
    TextBuilder OWN_TEXT(path) = {0};
    OWN_JSON(body) = NULL;
    const char *id = job->id;
    TRY(library_call_begin(job->client, &call));
    if (route_info(route)->body == ROUTE_BODY_JSON) {
        TRY(json_fields_create(&body));
        add_text(body, "device", device);
        add_count(body, "from", from);
    }
    remote_path(&path, route, &id);
    return remote_ask(call.http, route_info(route)->method, &path, TAKE(body), out);
}

static LayoverError *change_only(
    LayoverJob *job, RouteId route, const char *device, uint64_t from) {
    json_object *answer;
    Error *error = change(job, route, device, from, &answer);
    if (!error) json_object_put(answer);
    return library_error(error);
}

LayoverError *layover_job_suspend(LayoverJob *job) {
    return change_only(job, ROUTE_JOB_SUSPEND, NULL, 0);
}

LayoverError *layover_job_resume(LayoverJob *job, const char *device, uint64_t from) {
    return change_only(job, ROUTE_JOB_RESUME, device, from);
}

LayoverError *layover_job_cancel(LayoverJob *job) {
    return change_only(job, ROUTE_JOB_CANCEL, NULL, 0);
}

LayoverError *layover_job_remove(LayoverJob *job) {
    return change_only(job, ROUTE_JOB_REMOVE, NULL, 0);
}

static Error *fork_job(LayoverJob *job, uint64_t from, LayoverJob **out) {
    json_object *answer;
    TRY(change(job, ROUTE_JOB_FORK, NULL, from, &answer));
    return take_job(job->client, answer, out);
}

LayoverError *layover_job_fork(LayoverJob *job, uint64_t from, LayoverJob **out_job) {
    return library_error(fork_job(job, from, out_job));
}

static Error *list_checkpoints(LayoverJob *job, LayoverValue *out_json) {
    OWN_CALL(call) = {0};
    TextBuilder OWN_TEXT(path) = {0};
    const char *id = job->id;
    TRY(library_call_begin(job->client, &call));
    remote_path(&path, ROUTE_JOB_CHECKPOINTS, &id);
    return library_call_list(&call, &path, out_json);
}

LayoverError *layover_job_checkpoints(LayoverJob *job, LayoverValue *out_json) {
    return library_error(list_checkpoints(job, out_json));
}

static Error *export_checkpoint(
    LayoverJob *job, uint64_t from, bool with_model, const char *path, uint64_t *out_bytes) {
    OWN_CALL(call) = {0};
    char number[24];
    (void)snprintf(number, sizeof number, "%llu", (unsigned long long)from);
    const JobCheckpointWish wish = {.from = from ? number : NULL, .with_model = with_model};
    TRY(library_call_begin(job->client, &call));
    return job_request_checkpoint(call.http, job->id, &wish, path, out_bytes);
}

LayoverError *layover_job_checkpoint(
    LayoverJob *job, uint64_t from, int with_model, const char *path, uint64_t *out_bytes) {
    return library_error(export_checkpoint(job, from, with_model != 0, path, out_bytes));
}
