#include "tools/client/job_watch.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "scheduler/http/client/json_body.h"
#include "scheduler/http/client/json_fields.h"
#include "store/jobs/job_state.h"
#include "tools/client/progress.h"

enum { MOVED_PAUSE_MS = 200 };

bool job_watch_is_end(const char *state) {
    JobState found;
    return job_state_find(state, &found) && !job_state_is_unfinished(found);
}

int job_watch_exit_code(const char *state) {
    if (strcmp(state, "succeeded") == 0) return 0;
    if (strcmp(state, "suspended") == 0) return 85;
    return error_info(strcmp(state, "cancelled") == 0 ? ERROR_CANCELLED : ERROR_FAILED)->exit_code;
}

static void print_change(json_object *line) {
    char time[32];
    remote_print_time(remote_real(line, "time"), time);
    const char *state = remote_text(line, "state"), *why = remote_text(line, "why");
    const char *kind = remote_text(line, "kind"); /* "" for a change of state, and for progress */
    if (*state)
        printf("%6lld  %s  %-10s %s\n", (long long)remote_int(line, "seq"), time,
            *kind ? kind : state, why);
    else if (remote_field(line, "items_done"))
        printf("%6lld  %s  %lld of %lld items\n", (long long)remote_int(line, "seq"), time,
            (long long)remote_int(line, "items_done"), (long long)remote_int(line, "items_total"));
    else
        printf("%6lld  %s  %lld outputs\n", (long long)remote_int(line, "seq"), time,
            (long long)remote_int(line, "outputs"));
    (void)fflush(stdout);
}

/* Items, items a second, device-time and the checkpoint's age behind the bar. */
static void draw(JobWatch *watch, json_object *line) {
    int64_t done = remote_int(line, "items_done"), total = remote_int(line, "items_total");
    char words[128];
    double age = remote_real(line, "checkpoint_age"), used = remote_real(line, "device_seconds");
    int size = snprintf(words, sizeof words, "%lld of %lld", (long long)done, (long long)total);
    double rate = progress_rate(watch->progress, (uint64_t)(done > 0 ? done : 0));
    if (isfinite(rate) && size > 0 && (size_t)size < sizeof words)
        size += snprintf(words + size, sizeof words - (size_t)size, ", %.1f/s", rate);
    if (isfinite(used) && size > 0 && (size_t)size < sizeof words)
        size += snprintf(words + size, sizeof words - (size_t)size, ", %.1f s on devices", used);
    if (isfinite(age) && size > 0 && (size_t)size < sizeof words)
        (void)snprintf(words + size, sizeof words - (size_t)size, ", checkpoint %.0f s ago", age);
    progress_note(watch->progress, words);
    if (done >= 0 && total > 0) progress_update(watch->progress, (uint64_t)done, (uint64_t)total);
}

static Error *take_line(void *self, const char *text) {
    JobWatch *watch = self;
    OWN_JSON(line) = NULL;
    TRY(remote_parse(text, &line));
    int64_t sequence = remote_int(line, "seq");
    const char *state = remote_text(line, "state");
    if (sequence > watch->since) watch->since = sequence;
    if (*state) {
        /* a line of progress repeats the state without the reason; other events have their own
         * reasons */
        bool told = !*remote_text(line, "kind") &&
                    (remote_field(line, "why") || strcmp(watch->state, state) != 0);
        if (told) (void)snprintf(watch->why, sizeof watch->why, "%s", remote_text(line, "why"));
        (void)snprintf(watch->state, sizeof watch->state, "%s", state);
        watch->ended = job_watch_is_end(state);
    }
    bool bar = watch->progress && watch->progress->shown;
    if (bar && remote_field(line, "items_done")) draw(watch, line);
    if (watch->show && watch->context->json)
        TRY(command_print_json(json_object_get(line)));
    else if (watch->show && !bar)
        print_change(line);
    watch->stopped = watch->ended || (watch->until_suspended && strcmp(state, "suspended") == 0);
    if (watch->stopped && !watch->ended) FAIL(INTERRUPTED, "it is suspended");
    return NULL;
}

static bool is_interrupted(void *self) {
    JobWatch *watch = self;
    return watch->interrupted(watch);
}

/* Follows one stream, from watch->since on. */
static Error *follow(JobWatch *watch) {
    TextBuilder OWN_TEXT(path) = {0};
    HttpClientReply OWN_REPLY(reply) = {0};
    char number[24];
    remote_path(&path, ROUTE_JOB_WATCH, &watch->job);
    (void)snprintf(number, sizeof number, "%lld", (long long)watch->since);
    http_client_query(&path, "since", number);
    TRY(text_builder_check(&path));
    HttpClientCall call = {
        .path = text_builder_get(&path),
        .visit = take_line,
        .visit_context = watch,
        .interrupted = watch->interrupted ? is_interrupted : NULL,
        .interrupted_context = watch,
    };
    Error *error = http_client_call(watch->client, &call, &reply);
    if (watch->stopped) {
        error_free(error); /* this side closed the stream after the last line it needed */
        return NULL;
    }
    TRY(error);
    FAIL(UNREACHABLE, "the daemon stopped telling about job %s; --since %lld goes on from here",
        watch->job, (long long)watch->since);
}

static Error *read_job(const JobWatch *watch, json_object **out) {
    return remote_ask_route(watch->client, ROUTE_JOB_GET, &watch->job, out);
}

/* Asks for the present state: the first lines of a watch tell of changes long ago. */
static Error *check_suspended(JobWatch *watch) {
    OWN_JSON(job) = NULL;
    TRY(read_job(watch, &job));
    watch->stopped = strcmp(remote_text(job, "state"), "suspended") == 0;
    return NULL;
}

/* A line of progress may show the end before the line that has the reason. */
static Error *find_why(JobWatch *watch) {
    OWN_JSON(job) = NULL;
    if (watch->why[0] || !watch->ended || strcmp(watch->state, "succeeded") == 0) return NULL;
    TRY(read_job(watch, &job));
    (void)snprintf(watch->why, sizeof watch->why, "%s", remote_text(job, "why"));
    return NULL;
}

/* ---- a job that moved to another node: this node is asked for its progress now and then ---- */

/* Prints a line when state or outputs have changed. */
static Error *tell_moved(JobWatch *watch, json_object *job, int64_t outputs) {
    json_object *line;
    if (!watch->show) return NULL;
    TRY(json_fields_create(&line));
    json_fields_int(line, "seq", watch->since);
    json_fields_real(line, "time", clock_real().calendar_s(clock_real().self));
    json_fields_text(line, "state", watch->state);
    json_fields_text(line, "node", remote_text(job, "migrating"));
    json_fields_int(line, "outputs", outputs);
    if (watch->context->json) return command_print_json(line);
    print_change(line);
    json_object_put(line);
    return NULL;
}

static Error *look_there(JobWatch *watch, int64_t *inout_outputs) {
    OWN_JSON(job) = NULL;
    TRY(read_job(watch, &job));
    const char *state = remote_text(job, "moved_state");
    int64_t outputs = remote_int(job, "outputs");
    if (!*state || (strcmp(state, watch->state) == 0 && outputs == *inout_outputs)) return NULL;
    (void)snprintf(watch->state, sizeof watch->state, "%s", state);
    (void)snprintf(watch->why, sizeof watch->why, "%s", remote_text(job, "why"));
    *inout_outputs = outputs;
    watch->ended = job_watch_is_end(state);
    watch->stopped = watch->ended || (watch->until_suspended && strcmp(state, "suspended") == 0);
    return tell_moved(watch, job, outputs);
}

static Error *follow_moved(JobWatch *watch) {
    const struct timespec pause = {.tv_nsec = MOVED_PAUSE_MS * 1000000L};
    int64_t outputs = -1;
    watch->ended = watch->stopped = false;
    for (;;) {
        TRY(look_there(watch, &outputs));
        if (watch->stopped) return NULL;
        if (watch->interrupted && watch->interrupted(watch)) FAIL(INTERRUPTED, "interrupted");
        (void)nanosleep(&pause, NULL);
    }
}

Error *job_watch_run(JobWatch *watch) {
    do {
        TRY(follow(watch));
        if (!watch->ended) TRY(check_suspended(watch));
    } while (!watch->stopped);
    if (strcmp(watch->state, "moved") == 0) return follow_moved(watch);
    return find_why(watch);
}
