#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "scheduler/http/client/json_body.h"
#include "tools/client/job_watch.h"
#include "tools/client/progress.h"
#include "tools/client/route_call.h"
#include "tools/run/run_signals.h"

const CommandOption command_verify_options[] = {
    {"from", "ID", false, "the checkpoint to replay from; default the newest"},
    {0},
};

enum { PAUSE_MS_MIN = 20, PAUSE_MS_MAX = 500 };

static void print_outcome(json_object *found) {
    const char *state = remote_text(found, "state");
    json_object *classes = remote_field(found, "determinism_class");
    printf("%s %s: ", remote_text(found, "job"), state);
    if (strcmp(state, "equal") == 0)
        printf("%lld outputs from checkpoint %lld on came out the same again\n",
            (long long)remote_int(found, "compared"), (long long)remote_int(found, "from"));
    else if (strcmp(state, "differs") == 0)
        printf("output %lld came out differently from checkpoint %lld\n",
            (long long)remote_int(found, "sequence"), (long long)remote_int(found, "from"));
    else
        printf("%s\n", remote_text(found, "why"));
    const char *made = remote_text(classes, "job"), *replayed = remote_text(classes, "replay");
    if (*made && *replayed && strcmp(made, replayed) != 0)
        printf("made in determinism class %s, replayed in %s: they may differ in their last bits\n",
            made, replayed);
}

static const RouteCall verify_job = {
    .route = ROUTE_JOB_VERIFY,
    .fields = (const RouteField[]){{"from", ROUTE_FIELD_INTEGER}, {0}},
};

/* Replaces *inout_found by the present state. */
static Error *look(HttpClient *client, const char *replay, json_object **inout_found) {
    json_object *found;
    TRY(remote_ask_route(client, ROUTE_JOB_VERIFICATION, &replay, &found));
    json_object_put(*inout_found);
    *inout_found = found;
    return NULL;
}

/* Cancels the replay, so that it does not run on without a reader. */
static Error *give_up(HttpClient *client, const char *replay, json_object **inout_found) {
    OWN_JSON(answer) = NULL;
    /* fails if the replay has ended */
    error_free(remote_ask_route(client, ROUTE_JOB_CANCEL, &replay, &answer));
    /* on failure the daemon removes the replay within a minute */
    error_free(look(client, replay, inout_found));
    FAIL(INTERRUPTED, "stopped by a signal; the replay is cancelled");
}

static Error *wait_for_end(HttpClient *client, Progress *progress, json_object **inout_found) {
    char replay[64];
    long pause_ms = PAUSE_MS_MIN;
    (void)snprintf(replay, sizeof replay, "%s", remote_text(*inout_found, "replay"));
    while (strcmp(remote_text(*inout_found, "state"), "running") == 0) {
        const struct timespec pause = {.tv_nsec = pause_ms * 1000000};
        progress_note(progress, remote_text(*inout_found, "replay_state"));
        progress_update(progress, (uint64_t)remote_int(*inout_found, "compared"),
            (uint64_t)remote_int(*inout_found, "outputs"));
        (void)nanosleep(&pause, NULL); /* a signal ends the pause */
        RunSignal caught = run_signals_take();
        if (caught == RUN_SIGNAL_SUSPEND) return give_up(client, replay, inout_found);
        if (caught == RUN_SIGNAL_PAUSE) (void)raise(SIGSTOP);
        if (pause_ms < PAUSE_MS_MAX) pause_ms *= 2;
        if (pause_ms > PAUSE_MS_MAX) pause_ms = PAUSE_MS_MAX;
        TRY(look(client, replay, inout_found));
    }
    return NULL;
}

Error *command_verify(CommandContext *context) {
    OWN(HttpClient, client) = NULL;
    OWN_JSON(found) = NULL;
    TRY(remote_need(context, &client));
    TRY(run_signals_install());
    TRY(route_call_ask(context, client, &verify_job, &found));
    Progress progress = progress_start(context, "replaying");
    Error *error = wait_for_end(client, &progress, &found);
    progress_end(&progress);
    if (error_code(error) == ERROR_UNREACHABLE || error_code(error) == ERROR_NOT_FOUND)
        return error_wrap(error,
            "the replay goes on without us, or has ended; layover logs %s tells what was found",
            context->arguments[0]);
    TRY(error);
    if (strcmp(remote_text(found, "state"), "equal") != 0) context->exit_code = 1;
    return remote_show(context, json_object_get(found), print_outcome);
}
