#include "tools/run/remote_run.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include <json-c/linkhash.h>

#include "scheduler/http/client/json_body.h"
#include "scheduler/http/client/json_fields.h"
#include "tools/client/job_checkpoint.h"
#include "tools/run/job_inputs.h"
#include "tools/client/job_watch.h"
#include "tools/remote/output_pieces.h"
#include "tools/client/progress.h"
#include "tools/run/run_report.h"
#include "tools/run/run_signals.h"

static Error *check_options(const CommandContext *context) {
    static const char *const local[] = {"profile", "packed", "native", "native-preload", "model"};
    for (size_t i = 0; i < sizeof local / sizeof *local; i++)
        if (command_flag(context, local[i]))
            FAIL(REFUSED,
                "--%s: only embedded runs have it, and a daemon holds this home; use "
                "another --home",
                local[i]);
    return NULL;
}

/* Adds the options that run and resume share to the policy. */
static Error *add_numbers(const CommandContext *context, json_object *policy) {
    static const struct {
        const char *option, *field;
        int64_t min, max;
    } numbers[] = {{"threads", "threads", 1, 64}, {"suspend-after", "suspend_after", 1, INT64_MAX},
        {"suspend-after-ms", "suspend_after_ms", 0, INT32_MAX}};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        int64_t value;
        TRY(command_integer(
            context, numbers[i].option, numbers[i].min, numbers[i].max, numbers[i].min, &value));
        if (command_flag(context, numbers[i].option))
            json_fields_int(policy, numbers[i].field, value);
    }
    if (command_flag(context, "check-finite"))
        json_object_object_add(policy, "check_finite", json_object_new_boolean(true));
    return NULL;
}

static RunSignal caught; /* read and written by this file's thread only */

static bool was_signalled(void *self) {
    (void)self;
    if (caught == RUN_SIGNAL_NONE) caught = run_signals_take();
    return caught != RUN_SIGNAL_NONE;
}

/* Sends a request about the job. The answer is not needed. */
static Error *change(HttpClient *client, RouteId route, const char *job) {
    OWN_JSON(answer) = NULL;
    return remote_ask_route(client, route, &job, &answer);
}

/* Turns a signal to this process into a change of the job. *out_over: there is nothing to wait
 * for. */
static Error *pass_signal(
    const CommandContext *context, JobWatch *watch, RunSignal signal, bool *out_over) {
    *out_over = false;
    if (signal == RUN_SIGNAL_PAUSE) {
        TRY(change(watch->follow.client, ROUTE_JOB_SUSPEND, watch->follow.job));
        (void)raise(SIGSTOP); /* returns after SIGCONT */
        return change(watch->follow.client, ROUTE_JOB_RESUME, watch->follow.job);
    }
    *out_over = true;
    if (!command_flag(context, "checkpoint")) {
        TRY(change(watch->follow.client, ROUTE_JOB_CANCEL, watch->follow.job));
        FAIL(INTERRUPTED, "stopped by a signal; --checkpoint FILE would have kept what was done");
    }
    (void)snprintf(watch->follow.state, sizeof watch->follow.state, "suspended");
    return change(watch->follow.client, ROUTE_JOB_SUSPEND, watch->follow.job);
}

static Error *follow(const CommandContext *context, JobWatch *watch) {
    TRY(run_signals_install());
    for (bool over = false; !over;) {
        caught = RUN_SIGNAL_NONE;
        Error *error = job_watch_run(watch);
        if (!error || caught == RUN_SIGNAL_NONE) return error;
        error_free(error); /* the watch was left for the signal */
        TRY(pass_signal(context, watch, caught, &over));
    }
    return NULL;
}

/* The job was only made for this run. */
static void forget(HttpClient *client, const char *id) {
    error_free(change(client, ROUTE_JOB_REMOVE, id)); /* on failure the job expires later */
}

static ExecutionTraffic read_traffic(json_object *job) {
    json_object *from = remote_field(job, "traffic");
    if (!from) return (ExecutionTraffic){0};
    return (ExecutionTraffic){.copies_to_host = (uint64_t)remote_int(from, "copies_to_host"),
        .bytes_to_host = (uint64_t)remote_int(from, "bytes_to_host"),
        .copies_to_device = (uint64_t)remote_int(from, "copies_to_device"),
        .bytes_to_device = (uint64_t)remote_int(from, "bytes_to_device"),
        .waits = (uint64_t)remote_int(from, "waits")};
}

/* outputs: to be printed, or NULL. */
static Error *print_answer(const CommandContext *context, json_object *job, bool suspended,
    uint64_t checkpoint_bytes, const ArrayList *outputs) {
    const double took = remote_real(job, "finished") - remote_real(job, "started");
    const double seconds = isfinite(took) ? took : remote_real(job, "device_seconds");
    return run_report_print(context, &(RunReport){.suspended = suspended,
                                         .instructions = remote_int(job, "instructions"),
                                         .kernel_calls = remote_int(job, "kernel_calls"),
                                         .peak_bytes = remote_int(job, "peak_bytes"),
                                         .checkpoint_bytes = checkpoint_bytes,
                                         .traffic = read_traffic(job),
                                         .seconds = isfinite(seconds) ? seconds : 0,
                                         .outputs = outputs});
}

/* Follows the new job, fetches its outputs or checkpoint, and forgets the job. */
static Error *finish(CommandContext *context, HttpClient *client, const char *id) {
    OWN_JSON(job) = NULL;
    HttpClientReply OWN_REPLY(reply) = {0};
    ArrayList OWN_ARRAYS(outputs) = {0};
    const char *file = output_file(context);
    uint64_t bytes = 0;
    Progress progress = progress_start(context, "running");
    progress_update(&progress, 0, 0);
    JobWatch watch = {.context = context,
        .follow = {.client = client, .job = id, .until_suspended = true},
        .interrupted = was_signalled,
        .progress = &progress};
    Error *error = follow(context, &watch);
    progress_end(&progress);
    TRY(error);
    TRY(remote_ask_route(client, ROUTE_JOB_GET, &id, &job));
    bool suspended = strcmp(watch.follow.state, "suspended") == 0;
    if (suspended && command_flag(context, "checkpoint")) {
        TRY(job_checkpoint_fetch(
            client, context, id, command_option(context, "checkpoint"), true, &bytes));
        forget(client, id);
        context->exit_code = job_watch_exit_code(watch.follow.state);
    } else if (strcmp(watch.follow.state, "succeeded") == 0) {
        TRY(file ? output_pieces_fetch(client, job, file, &reply)
                 : output_pieces_read(client, job, &outputs, &reply));
        forget(client, id);
    } else {
        bool cancelled = strcmp(watch.follow.state, "cancelled") == 0;
        if (!suspended) forget(client, id);
        return error_make(cancelled ? ERROR_CANCELLED : ERROR_FAILED, __FILE__, __LINE__,
            "job %s %s%s%s", id, watch.follow.state, watch.follow.why[0] ? ": " : "",
            watch.follow.why);
    }
    return print_answer(context, job, suspended, bytes, suspended || file ? NULL : &outputs);
}

Error *remote_run_model(CommandContext *context, HttpClient *client) {
    OWN_JSON(policy) = NULL;
    OWN_JSON(job) = NULL;
    JobInputs OWN_INPUTS(inputs) = {0};
    const char *function = command_option(context, "function");
    const char *device = command_option(context, "device");
    TRY(check_options(context));
    TRY(json_fields_create(&policy));
    json_fields_text(policy, "model", context->arguments[0]);
    json_fields_text(policy, "priority", "high");
    if (function) json_fields_text(policy, "function", function);
    if (device) json_fields_text(policy, "device", device);
    TRY(add_numbers(context, policy));
    TRY(job_inputs_make(context, client, &inputs));
    TRY(job_inputs_send(client, policy, &inputs, &job));
    return finish(context, client, remote_text(job, "job"));
}

Error *remote_run_file(CommandContext *context, HttpClient *client) {
    OWN_JSON(fields) = NULL;
    OWN_JSON(job) = NULL;
    TextBuilder OWN_TEXT(path) = {0};
    const char *device = command_option(context, "device");
    TRY(check_options(context));
    TRY(json_fields_create(&fields));
    TRY(add_numbers(context, fields));
    remote_path(&path, ROUTE_CHECKPOINT_RESTORE, NULL);
    http_client_query(&path, "with_outputs", "1"); /* the run's yields so far */
    if (device) http_client_query(&path, "device", device);
    json_object_object_foreach(fields, name, value) {
        http_client_query(&path, name, json_object_get_string(value));
    }
    TRY(remote_send_file(client, &path, context->arguments[0], &job));
    return finish(context, client, remote_text(job, "job"));
}
