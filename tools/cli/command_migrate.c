#include <math.h>
#include <stdio.h>
#include <time.h>

#include "tools/client/job_watch.h"
#include "tools/client/progress.h"
#include "tools/client/route_call.h"

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

static const RouteCall migrate_job = {
    .route = ROUTE_JOB_MIGRATE,
    .fields =
        (const RouteField[]){{"to", ROUTE_FIELD_TEXT}, {"bandwidth", ROUTE_FIELD_INTEGER}, {0}},
};

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
    Error *error = NULL;
    Progress progress = progress_start(context, context->arguments[0]);
    while (!error && !remote_flag(*inout_status, "over")) {
        show_progress(&progress, *inout_status);
        (void)nanosleep(&pause, NULL);
        json_object_put(*inout_status);
        *inout_status = NULL;
        error = remote_ask_route(client, ROUTE_JOB_MIGRATION, context->arguments, inout_status);
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
    if (!command_option(context, "to")) FAIL(USAGE, "migrate: --to NODE is missing");
    Error *error = route_call_ask(context, client, &migrate_job, &status);
    if (!error) error = follow(context, client, &status);
    if (error) {
        json_object_put(status);
        return error;
    }
    return remote_flag(status, "moved") ? show_moved(context, status) : fail_aborted(status);
}

static const char may_happen[] =
    "what ran there since it was sent may run here once more: outputs that the dead node has made "
    "since then, and what was done with them, happen twice; when it comes back, it gives the job "
    "up, and what it made of it alone is lost\n";

static const RouteCall adopt_job = {
    .route = ROUTE_JOB_ADOPT,
    .fields = (const RouteField[]){{"source-is-dead", ROUTE_FIELD_FLAG}, {0}},
    .line = "{job}: {state}, epoch {epoch}",
};

Error *command_adopt(CommandContext *context) {
    OWN(HttpClient, client) = NULL;
    json_object *job;
    if (!command_flag(context, "source-is-dead"))
        FAIL(USAGE, "adopt: only with --source-is-dead: if the other node lives, %.*s",
            (int)sizeof may_happen - 2, may_happen);
    TRY(remote_need(context, &client));
    if (!context->json && !context->quiet) (void)fprintf(stderr, "%s", may_happen);
    TRY(route_call_ask(context, client, &adopt_job, &job));
    return route_call_show(context, job, adopt_job.line);
}

/* ---- many jobs ---- */

const CommandOption command_drain_options[] = {
    {"to", "NODE", false, "where to; default: each job to the least loaded node"},
    {"end", NULL, false, "ends it: the node takes jobs again"},
    {0},
};

static Error *follow_drain(
    const CommandContext *context, HttpClient *client, json_object **inout_status) {
    const struct timespec pause = {.tv_nsec = POLL_MS * 1000000L};
    Error *error = NULL;
    Progress progress = progress_start(context, "drain");
    while (!error && !remote_flag(*inout_status, "over")) {
        progress_update(&progress, (uint64_t)remote_int(*inout_status, "moved"),
            (uint64_t)remote_int(*inout_status, "jobs"));
        (void)nanosleep(&pause, NULL);
        json_object_put(*inout_status);
        *inout_status = NULL;
        error = remote_ask_route(client, ROUTE_DRAIN_GET, NULL, inout_status);
    }
    progress_end(&progress);
    return error;
}

static const RouteCall begin_drain = {
    .route = ROUTE_DRAIN,
    .fields = (const RouteField[]){{"to", ROUTE_FIELD_TEXT}, {0}},
};

static const RouteCall end_drain = {.route = ROUTE_DRAIN_END, .line = "the node takes jobs again"};

Error *command_drain(CommandContext *context) {
    OWN(HttpClient, client) = NULL;
    json_object *status = NULL;
    char why[512];
    if (command_flag(context, "end")) return route_call_run(context, &end_drain);
    TRY(remote_need(context, &client));
    Error *error = route_call_ask(context, client, &begin_drain, &status);
    if (!error) error = follow_drain(context, client, &status);
    if (error) {
        json_object_put(status);
        return error;
    }
    long long stayed = (long long)remote_int(status, "stayed");
    (void)snprintf(why, sizeof why, "%s", remote_text(status, "error"));
    TRY(route_call_show(context, status, "{moved} of {jobs} jobs moved"));
    if (stayed > 0) FAIL(FAILED, "%lld jobs stayed: %s", stayed, why);
    if (*why) FAIL(FAILED, "%s", why);
    return NULL;
}
