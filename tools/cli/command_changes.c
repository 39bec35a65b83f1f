#include <stdio.h>
#include <string.h>

#include "scheduler/http/client/json_body.h"
#include "scheduler/http/client/json_fields.h"
#include "tools/client/job_checkpoint.h"
#include "tools/client/job_watch.h"
#include "tools/remote/output_pieces.h"
#include "tools/client/output_show.h"
#include "tools/client/route_call.h"
#include "tools/remote/job_request.h"

const CommandOption command_result_options[] = {
    OUTPUT_OPTION,
    {"partial", NULL, false, "the outputs so far of a job that has not succeeded"},
    {0},
};
const CommandOption command_checkpoint_options[] = {
    {"output", "FILE.lvc", false, "the checkpoint file to write (also -o)"},
    {"from", "ID", false, "which checkpoint; default the newest"},
    {"with-model", NULL, false, "the executable goes along"},
    {"release", NULL, false, "the file owns the job; the first restore in a home gives it back"},
    {0},
};
const CommandOption command_restore_options[] = {
    {"with-outputs", NULL, false,
        "brings the outputs so far along; else the new job begins with the next item"},
    {"device", "D", false, "cpu, sim:0 ...; default: any"},
    {0},
};

/* Errors: INVALID the job has not succeeded and --partial is not given. */
static Error *check_state(const CommandContext *context, json_object *job) {
    const char *state = remote_text(job, "state"), *why = remote_text(job, "why");
    /* the state on the node to which the job moved */
    const char *moved = remote_text(job, "moved_state");
    if (*moved) state = moved;
    if (strcmp(state, "succeeded") == 0 || command_flag(context, "partial")) return NULL;
    FAIL(INVALID, "job %s is %s%s%s; --partial writes its outputs so far", context->arguments[0],
        state, *why ? ": " : "", why);
}

Error *command_result(CommandContext *context) {
    OWN(HttpClient, client) = NULL;
    HttpClientReply OWN_REPLY(reply) = {0};
    ArrayList OWN_ARRAYS(outputs) = {0};
    OWN_JSON(job) = NULL;
    const char *id = context->arguments[0], *file = output_file(context);
    TRY(remote_need(context, &client));
    TRY(remote_ask_route(client, ROUTE_JOB_GET, &id, &job));
    TRY(check_state(context, job));
    TRY(file ? output_pieces_fetch(client, job, file, &reply)
             : output_pieces_read(client, job, &outputs, &reply));
    if (!output_is_json(context)) {
        if (!file) return output_show(&outputs);
        printf("%s: %s, %.1f MB\n", file, remote_text(job, "state"), (double)reply.bytes / 1e6);
        return NULL;
    }
    json_object_object_del(job, "events");
    if (file) json_fields_text(job, "file", file);
    json_fields_int(job, "next", reply.next);
    return output_show_json(context, json_object_get(job), file ? NULL : &outputs);
}

/* The file is durable, so the daemon need not keep the job's data for another restore. */
static void drop_data(HttpClient *client, const char *job) {
    OWN_JSON(answer) = NULL;
    error_free(remote_ask_route(client, ROUTE_JOB_REMOVE, &job, &answer)); /* rm-job does */
}

Error *command_checkpoint(CommandContext *context) {
    OWN(HttpClient, client) = NULL;
    json_object *object;
    int64_t ignored;
    uint64_t bytes;
    const char *job = context->arguments[0], *output = command_option(context, "output");
    if (!output) FAIL(USAGE, "checkpoint: -o FILE is missing");
    TRY(command_integer(context, "from", 1, INT64_MAX, 1, &ignored));
    TRY(remote_need(context, &client));
    bool release = command_flag(context, "release");
    TRY(job_checkpoint_fetch(client, context, job, output, release, &bytes));
    if (release) drop_data(client, job);
    if (!context->json) {
        printf("%s: job %s, %.1f MB\n", output, job, (double)bytes / 1e6);
        return NULL;
    }
    TRY(json_fields_create(&object));
    json_fields_text(object, "job", job);
    json_fields_text(object, "file", output);
    json_fields_int(object, "bytes", (int64_t)bytes);
    return command_print_json(object);
}

/* Warns when the job got a new id because no node confirmed that the old one is this tenant's. */
static void tell_new_name(const CommandContext *context, json_object *job) {
    const char *was = remote_text(job, "was");
    if (!*was || context->json || context->quiet) return;
    (void)fprintf(stderr,
        "layover: restored under a new name: nobody here knows that job %s is this tenant's\n",
        was);
}

Error *command_restore(CommandContext *context) {
    OWN(HttpClient, client) = NULL;
    json_object *job;
    TRY(remote_need(context, &client));
    TRY(job_request_restore(client, context->arguments[0], command_flag(context, "with-outputs"),
        command_option(context, "device"), &job));
    tell_new_name(context, job);
    return route_call_show(context, job, "{job} {state}");
}
