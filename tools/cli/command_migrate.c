#include <math.h>
#include <stdio.h>
#include <time.h>

#include "tools/client/job_watch.h"
#include "tools/client/progress.h"
#include "scheduler/http/client/json_fields.h"

enum { POLL_MS = 50 };

const CommandOption command_migrate_options[] = {
    {"to", "NODE", false, "the node, as node list calls it"},
    {"bandwidth", "BYTES_PER_S", false, "sends no faster than that"},
    {0},
};
const CommandOption command_adopt_options[] = {
    {"source-is-dead", NULL, false, "you know that the node which it came from does not run it"},
    {0},
};

static Error *begin(const CommandContext *context, HttpClient *client, json_object **out) {
    TextBuilder OWN_TEXT(path) = {0};
    json_object *body;
    int64_t bandwidth;
    const char *to = command_option(context, "to");
    if (!to) FAIL(USAGE, "migrate: --to NODE is missing");
    TRY(command_integer(context, "bandwidth", 1, INT64_MAX, 0, &bandwidth));
    TRY(json_fields_create(&body));
    json_fields_text(body, "to", to);
    if (bandwidth > 0) json_fields_int(body, "bandwidth", bandwidth);
    job_watch_path(&path, context->arguments[0], "migrate");
    return remote_ask(client, HTTP_METHOD_POST, &path, body, out);
}

static void show_progress(Progress *progress, json_object *status) {
    char note[96];
    (void)snprintf(note, sizeof note, "%s, round %lld, %.1f MB sent", remote_text(status, "phase"),
        (long long)remote_int(status, "rounds"), (double)remote_int(status, "bytes_sent") / 1e6);
    progress_note(progress, note);
    progress_update(progress, (uint64_t)remote_int(status, "round_sent"),
        (uint64_t)remote_int(status, "round_bytes"));
}

/* Shows the migration until it is over. */
static Error *follow(
    const CommandContext *context, HttpClient *client, json_object **inout_status) {
    const struct timespec pause = {.tv_nsec = POLL_MS * 1000000L};
    TextBuilder OWN_TEXT(path) = {0};
    Error *error = NULL;
    Progress progress = progress_start(context, context->arguments[0]);
    job_watch_path(&path, context->arguments[0], "migration");
    while (!error && !remote_flag(*inout_status, "over")) {
        show_progress(&progress, *inout_status);
        (void)nanosleep(&pause, NULL);
        json_object_put(*inout_status);
        *inout_status = NULL;
        error = remote_ask(client, HTTP_METHOD_GET, &path, NULL, inout_status);
    }
    progress_end(&progress);
    return error;
}

static void print_migration(json_object *status) {
    printf("%s is %s's now: %lld rounds, %.1f MB sent in %.2f s, stopped for %.1f ms\n",
        remote_text(status, "job"), remote_text(status, "node"),
        (long long)remote_int(status, "rounds"), (double)remote_int(status, "bytes_sent") / 1e6,
        remote_real(status, "seconds"), remote_real(status, "downtime_ms"));
}

/* The job continues on the source node. */
static Error *fail_aborted(json_object *owned_status) {
    char text[512];
    (void)snprintf(text, sizeof text, "job %s did not migrate to %s: %s",
        remote_text(owned_status, "job"), remote_text(owned_status, "node"),
        remote_text(owned_status, "error"));
    json_object_put(owned_status);
    FAIL(FAILED, "%s", text);
}

static Error *show_moved(const CommandContext *context, json_object *owned_status) {
    static const char *const unshown[] = {
        "phase", "over", "moved", "round_bytes", "round_sent", "error"};
    for (size_t i = 0; context->json && i < sizeof unshown / sizeof *unshown; i++)
        json_object_object_del(owned_status, unshown[i]);
    return remote_show(context, owned_status, print_migration);
}

Error *command_migrate(CommandContext *context) {
    OWN(HttpClient, client) = NULL;
    json_object *status = NULL;
    TRY(remote_need(context, &client));
    Error *error = begin(context, client, &status);
    if (!error) error = follow(context, client, &status);
    if (error) {
        json_object_put(status);
        return error;
    }
    return remote_flag(status, "moved") ? show_moved(context, status) : fail_aborted(status);
}

static void print_adopted(json_object *job) {
    printf("%s: %s, epoch %lld\n", remote_text(job, "job"), remote_text(job, "state"),
        (long long)remote_int(job, "epoch"));
}

static const char may_happen[] =
    "what ran there since it was sent may run here once more: outputs that the dead node has made "
    "since then, and what was done with them, happen twice; when it comes back, it gives the job "
    "up, and what it made of it alone is lost\n";

Error *command_adopt(CommandContext *context) {
    OWN(HttpClient, client) = NULL;
    TextBuilder OWN_TEXT(path) = {0};
    json_object *body;
    if (!command_flag(context, "source-is-dead"))
        FAIL(USAGE, "adopt: only with --source-is-dead: if the other node lives, %.*s",
            (int)sizeof may_happen - 2, may_happen);
    TRY(remote_need(context, &client));
    if (!context->json && !context->quiet) (void)fprintf(stderr, "%s", may_happen);
    TRY(json_fields_create(&body));
    json_object_object_add(body, "source_is_dead", json_object_new_boolean(1));
    job_watch_path(&path, context->arguments[0], "adopt");
    return remote_do(context, client, HTTP_METHOD_POST, &path, body, print_adopted);
}

/* ---- many jobs ---- */

const CommandOption command_drain_options[] = {
    {"to", "NODE", false, "where to; default: each job to the least loaded node"},
    {"end", NULL, false, "ends it: the node takes jobs again"},
    {0},
};
const CommandOption command_rebalance_options[] = {{0}};

static void print_drained(json_object *status) {
    printf("%lld of %lld jobs moved\n", (long long)remote_int(status, "moved"),
        (long long)remote_int(status, "jobs"));
}

static void print_ended(json_object *status) {
    (void)status;
    printf("the node takes jobs again\n");
}

static Error *follow_drain(
    const CommandContext *context, HttpClient *client, json_object **inout_status) {
    const struct timespec pause = {.tv_nsec = POLL_MS * 1000000L};
    TextBuilder OWN_TEXT(path) = {0};
    Error *error = NULL;
    Progress progress = progress_start(context, "drain");
    text_append(&path, "/v1/drain");
    while (!error && !remote_flag(*inout_status, "over")) {
        progress_update(&progress, (uint64_t)remote_int(*inout_status, "moved"),
            (uint64_t)remote_int(*inout_status, "jobs"));
        (void)nanosleep(&pause, NULL);
        json_object_put(*inout_status);
        *inout_status = NULL;
        error = remote_ask(client, HTTP_METHOD_GET, &path, NULL, inout_status);
    }
    progress_end(&progress);
    return error;
}

static Error *drain(const CommandContext *context, HttpClient *client, json_object **out) {
    TextBuilder OWN_TEXT(path) = {0};
    json_object *body;
    text_append(&path, "/v1/drain");
    TRY(json_fields_create(&body));
    if (command_option(context, "to")) json_fields_text(body, "to", command_option(context, "to"));
    TRY(remote_ask(client, HTTP_METHOD_POST, &path, body, out));
    return follow_drain(context, client, out);
}

Error *command_drain(CommandContext *context) {
    OWN(HttpClient, client) = NULL;
    TextBuilder OWN_TEXT(path) = {0};
    json_object *status = NULL;
    char why[512];
    TRY(remote_need(context, &client));
    text_append(&path, "/v1/drain");
    if (command_flag(context, "end"))
        return remote_do(context, client, HTTP_METHOD_DELETE, &path, NULL, print_ended);
    Error *error = drain(context, client, &status);
    if (error) {
        json_object_put(status);
        return error;
    }
    long long stayed = (long long)remote_int(status, "stayed");
    (void)snprintf(why, sizeof why, "%s", remote_text(status, "error"));
    TRY(remote_show(context, status, print_drained));
    if (stayed > 0) FAIL(FAILED, "%lld jobs stayed: %s", stayed, why);
    if (*why) FAIL(FAILED, "%s", why);
    return NULL;
}

static void print_mover(json_object *line) {
    printf("%s goes to %s\n", remote_text(line, "job"), remote_text(line, "node"));
}

Error *command_rebalance(CommandContext *context) {
    OWN(HttpClient, client) = NULL;
    TextBuilder OWN_TEXT(path) = {0};
    TRY(remote_need(context, &client));
    text_append(&path, "/v1/rebalance");
    return remote_post_list(context, client, &path, print_mover);
}
