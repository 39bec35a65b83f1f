#include <math.h>
#include <stdio.h>

#include "store/jobs/job_state.h"
#include "tools/client/answer_line.h"
#include "tools/client/job_watch.h"
#include "tools/client/progress.h"
#include "tools/client/route_call.h"

const CommandOption command_jobs_options[] = {
    {"state", "S", false, "only jobs in this state"},
    {0},
};
const CommandOption command_job_options[] = {{0}};
const CommandOption command_watch_options[] = {
    {"since", "SEQ", false, "goes on behind this line"},
    {0},
};

static void print_header(void) {
    printf("%-24s %-20s %-10s %-10s %14s %-8s %-6s %10s  %s\n", "job", "model", "tenant", "state",
        "items", "device", "class", "device s", "submitted");
}

static void print_row(json_object *job) {
    char items[32] = "-", submitted[32];
    double used = remote_real(job, "device_seconds");
    if (remote_int(job, "items_total") >= 0)
        (void)snprintf(items, sizeof items, "%lld/%lld", (long long)remote_int(job, "items_done"),
            (long long)remote_int(job, "items_total"));
    remote_print_time(remote_real(job, "submitted"), submitted);
    printf("%-24s %-20s %-10s %-10s %14s %-8s %-6s %10.3f  %s%s\n", remote_text(job, "job"),
        remote_text(job, "model"), remote_text(job, "tenant"), remote_text(job, "state"), items,
        remote_text(job, "device"), remote_text(job, "priority"), isfinite(used) ? used : 0,
        submitted, json_object_get_boolean(remote_field(job, "missed")) ? "  missed" : "");
}

Error *command_jobs(CommandContext *context) {
    OWN(HttpClient, client) = NULL;
    TextBuilder OWN_TEXT(path) = {0};
    const char *state = command_option(context, "state");
    JobState found;
    if (state && !job_state_find_shown(state, &found))
        FAIL(USAGE, "--state: there is no state %s", state);
    TRY(remote_need(context, &client));
    remote_path(&path, ROUTE_JOB_LIST, NULL);
    if (state) http_client_query(&path, "state", state);
    return remote_list(context, client, &path, print_header, print_row);
}

/* Prints nothing for a job without a deadline. */
static void print_deadline(json_object *job) {
    char deadline[32], end[32];
    json_object *feasible = remote_field(job, "feasible");
    if (!isfinite(remote_real(job, "deadline"))) return;
    remote_print_time(remote_real(job, "deadline"), deadline);
    printf("deadline %s%s", deadline,
        json_object_get_boolean(remote_field(job, "missed")) ? ", missed" : "");
    if (feasible) {
        remote_print_time(remote_real(job, "earliest_end"), end);
        printf("; the earliest end that was promised: %s", end);
    }
    printf("\n");
}

static void print_job(json_object *job) {
    json_object *events = remote_field(job, "events");
    size_t count =
        json_object_is_type(events, json_type_array) ? json_object_array_length(events) : 0;
    print_header();
    print_row(job);
    print_deadline(job);
    for (size_t i = 0; i < count; i++)
        answer_line_print("{seq:6}  {time:t}  {kind:-10} {state:-10} {why}",
            json_object_array_get_idx(events, i));
}

Error *command_job(CommandContext *context) {
    OWN(HttpClient, client) = NULL;
    TextBuilder OWN_TEXT(path) = {0};
    TRY(remote_need(context, &client));
    remote_path(&path, ROUTE_JOB_GET, context->arguments);
    return remote_do(context, client, HTTP_METHOD_GET, &path, NULL, print_job);
}

Error *command_watch(CommandContext *context) {
    OWN(HttpClient, client) = NULL;
    int64_t since;
    TRY(command_integer(context, "since", 0, INT64_MAX, 0, &since));
    TRY(remote_need(context, &client));
    Progress progress = progress_start(context, context->arguments[0]);
    JobWatch watch = {.context = context,
        .follow = {.client = client, .job = context->arguments[0], .since = since},
        .show = true,
        .progress = &progress};
    Error *error = job_watch_run(&watch);
    progress_end(&progress);
    if (!error && progress.shown)
        printf("%s %s %s\n", watch.follow.job, watch.follow.state, watch.follow.why);
    return error;
}
