#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "scheduler/http/client/json_body.h"
#include "scheduler/http/client/json_fields.h"
#include "tools/run/input_options.h"
#include "tools/run/job_inputs.h"
#include "tools/client/colour.h"
#include "tools/client/job_watch.h"
#include "tools/client/progress.h"

const CommandOption command_submit_options[] = {
    {"input", INPUT_FORMS, true, INPUT_HELP "; NAME=FOLDER of .npy"},
    INPUT_VALUE_OPTIONS,
    {"function", "F", false, "which function; default main"},
    {"items", NULL, false, "a batch job: the leading axis of every input is the item axis"},
    {"batch", "N", false, "with --items: items of a run (default 1)"},
    {"shared", "NAME", true, "with --items: an input that goes whole to each run"},
    {"priority", "high|normal|low", false, "default normal"},
    {"weight", "W", false, "its share among the tenant's jobs (default 1)"},
    {"deadline", "S", false, "seconds from now"},
    {"checkpoint-every", "S", false, "seconds between checkpoints"},
    {"checkpoint-keep", "K", false, "how many checkpoints stay (default 1)"},
    {"release", "log|checkpoint", false,
        "outputs are visible at once (log, the default), or behind a checkpoint"},
    {"device", "D", false, "cpu, sim:0 ...; default: any"},
    {"key", "K", false, "the same key again is the same job"},
    {"wait", NULL, false, "waits for its end; exits 0, 1, 6 or 85 as it ended"},
    {0},
};

static Error *add_number(const CommandContext *context, json_object *policy, const char *option,
    const char *field, int64_t min, int64_t max) {
    int64_t value;
    TRY(command_integer(context, option, min, max, min, &value));
    if (command_flag(context, option)) json_fields_int(policy, field, value);
    return NULL;
}

static Error *add_seconds(
    const CommandContext *context, json_object *policy, const char *option, const char *field) {
    const char *text = command_option(context, option);
    double seconds;
    if (!text) return NULL;
    if (!text_parse_f64(text, &seconds) || !(seconds >= 0 && seconds < 1e10))
        FAIL(USAGE, "--%s %s: a number of seconds is wanted", option, text);
    json_fields_real(policy, field, seconds);
    return NULL;
}

static void add_text(
    const CommandContext *context, json_object *policy, const char *option, const char *field) {
    const char *text = command_option(context, option);
    if (text) json_fields_text(policy, field, text);
}

static Error *make_policy(const CommandContext *context, json_object *policy) {
    const char *priority = command_option(context, "priority");
    const char *release = command_option(context, "release"), *name;
    if (priority && strcmp(priority, "high") && strcmp(priority, "normal") &&
        strcmp(priority, "low"))
        FAIL(USAGE, "--priority %s: high, normal or low is wanted", priority);
    if (release && strcmp(release, "log") && strcmp(release, "checkpoint"))
        FAIL(USAGE, "--release %s: log or checkpoint is wanted", release);
    if (!command_flag(context, "items") &&
        (command_flag(context, "batch") || command_flag(context, "shared")))
        FAIL(USAGE, "--batch and --shared belong to --items");
    json_fields_text(policy, "model", context->arguments[0]);
    add_text(context, policy, "function", "function");
    add_text(context, policy, "priority", "priority");
    add_text(context, policy, "release", "release");
    add_text(context, policy, "device", "device");
    add_text(context, policy, "key", "key");
    if (command_flag(context, "items"))
        json_object_object_add(policy, "items", json_object_new_boolean(true));
    TRY(add_number(context, policy, "batch", "batch", 1, 1 << 20));
    TRY(add_number(context, policy, "weight", "weight", 1, 1000000));
    TRY(add_number(context, policy, "checkpoint-keep", "checkpoint_keep", 1, 1000));
    TRY(add_seconds(context, policy, "deadline", "deadline"));
    TRY(add_seconds(context, policy, "checkpoint-every", "checkpoint_every"));
    json_object *shared = command_flag(context, "shared") ? json_object_new_array() : NULL;
    for (uint32_t i = 0; (name = command_option_at(context, "shared", i)); i++)
        json_object_array_add(shared, json_object_new_string(name));
    if (shared) json_object_object_add(policy, "shared", shared);
    return NULL;
}

static void print_submitted(json_object *job) {
    const char *why = remote_text(job, "why"); /* set if the command waited for the job */
    printf(
        "%s %s%s%s\n", remote_text(job, "job"), remote_text(job, "state"), *why ? ": " : "", why);
}

static Error *wait_for(CommandContext *context, HttpClient *client, json_object *job) {
    Progress progress = progress_start(context, "running");
    JobWatch watch = {.context = context,
        .follow = {.client = client, .job = remote_text(job, "job"), .until_suspended = true},
        .progress = &progress};
    Error *error = job_watch_run(&watch);
    progress_end(&progress);
    TRY(error);
    context->exit_code = job_watch_exit_code(watch.follow.state);
    /* replaces the state of the submission's answer */
    json_object_object_add(job, "state", json_object_new_string(watch.follow.state));
    if (watch.follow.why[0])
        json_object_object_add(job, "why", json_object_new_string(watch.follow.why));
    return NULL;
}

/* Warns of a deadline that cannot be promised; the job is admitted nevertheless. */
static void warn_of_deadline(json_object *job) {
    json_object *feasible = remote_field(job, "feasible");
    char end[32];
    if (!json_object_is_type(feasible, json_type_boolean) || json_object_get_boolean(feasible))
        return;
    remote_print_time(remote_real(job, "earliest_end"), end);
    (void)fprintf(stderr,
        "%slayover: warning:%s the deadline cannot be promised: as things stand the job ends at "
        "%s\n",
        colour_begin(STDERR_FILENO, COLOUR_YELLOW), colour_end(STDERR_FILENO), end);
}

Error *command_submit(CommandContext *context) {
    OWN(HttpClient, client) = NULL;
    OWN_JSON(policy) = NULL;
    OWN_JSON(job) = NULL;
    JobInputs OWN_INPUTS(inputs) = {0};
    TRY(json_fields_create(&policy));
    TRY(make_policy(context, policy));
    TRY(remote_need(context, &client));
    TRY(job_inputs_make(context, client, &inputs));
    TRY(job_inputs_send(client, policy, &inputs, &job));
    warn_of_deadline(job);
    if (command_flag(context, "wait")) TRY(wait_for(context, client, job));
    return remote_show(context, json_object_get(job), print_submitted);
}
