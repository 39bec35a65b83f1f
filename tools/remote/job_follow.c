#include "tools/remote/job_follow.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "scheduler/http/client/json_body.h"
#include "scheduler/http/client/json_fields.h"
#include "store/jobs/job_state.h"

enum { MOVED_PAUSE_MS = 200 };

bool job_follow_is_end(const char *state) {
    JobState found;
    return job_state_find(state, &found) && !job_state_is_unfinished(found);
}

static void take_state(JobFollow *follow, json_object *line, const char *state) {
    /* a line of progress repeats the state without the reason; other events have their own
     * reasons */
    const bool told = !*remote_text(line, "kind") &&
                      (remote_field(line, "why") || strcmp(follow->state, state) != 0);
    if (told) (void)snprintf(follow->why, sizeof follow->why, "%s", remote_text(line, "why"));
    (void)snprintf(follow->state, sizeof follow->state, "%s", state);
    follow->ended = job_follow_is_end(state);
}

static Error *take_line(void *self, const char *text) {
    JobFollow *follow = self;
    OWN_JSON(line) = NULL;
    TRY(remote_parse(text, &line));
    const int64_t sequence = remote_int(line, "seq");
    const char *state = remote_text(line, "state");
    if (sequence > follow->since) follow->since = sequence;
    if (*state) take_state(follow, line, state);
    if (follow->visit) TRY(follow->visit(follow->context, line));
    follow->stopped = follow->ended || (follow->until_suspended && strcmp(state, "suspended") == 0);
    if (follow->stopped && !follow->ended) FAIL(INTERRUPTED, "it is suspended");
    return NULL;
}

static bool is_interrupted(void *self) {
    const JobFollow *follow = self;
    return follow->interrupted(follow->context);
}

/* Follows one stream, from follow->since on. */
static Error *read_stream(JobFollow *follow) {
    TextBuilder OWN_TEXT(path) = {0};
    HttpClientReply OWN_REPLY(reply) = {0};
    char number[24];
    remote_path(&path, ROUTE_JOB_WATCH, &follow->job);
    (void)snprintf(number, sizeof number, "%lld", (long long)follow->since);
    http_client_query(&path, "since", number);
    TRY(text_builder_check(&path));
    HttpClientCall call = {
        .path = text_builder_get(&path),
        .visit = take_line,
        .visit_context = follow,
        .interrupted = follow->interrupted ? is_interrupted : NULL,
        .interrupted_context = follow,
    };
    Error *error = http_client_call(follow->client, &call, &reply);
    if (follow->stopped) {
        error_free(error); /* this side closed the stream after the last line it needed */
        return NULL;
    }
    TRY(error);
    FAIL(UNREACHABLE, "the daemon stopped telling about job %s; --since %lld goes on from here",
        follow->job, (long long)follow->since);
}

static Error *read_job(const JobFollow *follow, json_object **out) {
    return remote_ask_route(follow->client, ROUTE_JOB_GET, &follow->job, out);
}

/* Asks for the present state: the first lines of a watch tell of changes long ago. */
static Error *check_suspended(JobFollow *follow) {
    OWN_JSON(job) = NULL;
    TRY(read_job(follow, &job));
    follow->stopped = strcmp(remote_text(job, "state"), "suspended") == 0;
    return NULL;
}

/* A line of progress may show the end before the line that has the reason. */
static Error *find_why(JobFollow *follow) {
    OWN_JSON(job) = NULL;
    if (follow->why[0] || !follow->ended || strcmp(follow->state, "succeeded") == 0) return NULL;
    TRY(read_job(follow, &job));
    (void)snprintf(follow->why, sizeof follow->why, "%s", remote_text(job, "why"));
    return NULL;
}

/* ---- a job that moved to another node: this node is asked for its progress now and then ---- */

/* Visits a line that says what has changed there. */
static Error *tell_moved(JobFollow *follow, json_object *job, int64_t outputs) {
    OWN_JSON(line) = NULL;
    if (!follow->visit) return NULL;
    TRY(json_fields_create(&line));
    json_fields_int(line, "seq", follow->since);
    json_fields_real(line, "time", clock_real().calendar_s(clock_real().self));
    json_fields_text(line, "state", follow->state);
    json_fields_text(line, "node", remote_text(job, "migrating"));
    json_fields_int(line, "outputs", outputs);
    return follow->visit(follow->context, line);
}

static Error *look_there(JobFollow *follow, int64_t *inout_outputs) {
    OWN_JSON(job) = NULL;
    TRY(read_job(follow, &job));
    const char *state = remote_text(job, "moved_state");
    int64_t outputs = remote_int(job, "outputs");
    if (!*state || (strcmp(state, follow->state) == 0 && outputs == *inout_outputs)) return NULL;
    (void)snprintf(follow->state, sizeof follow->state, "%s", state);
    (void)snprintf(follow->why, sizeof follow->why, "%s", remote_text(job, "why"));
    *inout_outputs = outputs;
    follow->ended = job_follow_is_end(state);
    follow->stopped = follow->ended || (follow->until_suspended && strcmp(state, "suspended") == 0);
    return tell_moved(follow, job, outputs);
}

static Error *follow_moved(JobFollow *follow) {
    const struct timespec pause = {.tv_nsec = MOVED_PAUSE_MS * 1000000L};
    int64_t outputs = -1;
    follow->ended = follow->stopped = false;
    for (;;) {
        TRY(look_there(follow, &outputs));
        if (follow->stopped) return NULL;
        if (follow->interrupted && follow->interrupted(follow->context))
            FAIL(INTERRUPTED, "interrupted");
        (void)nanosleep(&pause, NULL);
    }
}

Error *job_follow_run(JobFollow *follow) {
    do {
        TRY(read_stream(follow));
        if (!follow->ended) TRY(check_suspended(follow));
    } while (!follow->stopped);
    if (strcmp(follow->state, "moved") == 0) return follow_moved(follow);
    return find_why(follow);
}
