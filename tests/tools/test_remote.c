#include "tools/client/remote.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "scheduler/http/client/daemon_record.h"
#include "serialize/arrays/npz.h"
#include "tests/scheduler/http_fixtures.h"
#include "tests/tools/tools_fixtures.h"
#include "tools/client/job_watch.h"
#include "tools/remote/job_follow.h"
#include "tools/client/nearest_model.h"

enum { TEXT_SIZE = 16384 };

/* What a verb printed, and how it ended. */
typedef struct Outcome {
    char out[TEXT_SIZE];
    char message[1024];
    ErrorCode code;
    int exit_code;
} Outcome;

static void run(Outcome *outcome, const char *const *words) {
    Capture capture;
    CommandContext *context = command_context_make(words);
    capture_start(&capture, STDOUT_FILENO);
    Error *error = context->command->run(context);
    capture_end(&capture, outcome->out, sizeof outcome->out);
    outcome->code = error_code(error);
    outcome->exit_code = error ? error_info(outcome->code)->exit_code : context->exit_code;
    (void)snprintf(outcome->message, sizeof outcome->message, "%s", error_message(error));
    error_free(error);
    free(context);
}
#define RUN(outcome, ...) run(outcome, (const char *const[]){__VA_ARGS__, NULL})

static int setup(void **state) {
    static TestServer server;
    test_server_open(&server, NULL);
    (void)setenv("LAYOVER_SERVER", server.socket, 1);
    *state = &server;
    return 0;
}

static int teardown(void **state) {
    (void)unsetenv("LAYOVER_SERVER");
    test_server_close(*state);
    return 0;
}

static void write_inputs(const TestServer *server, char out_path[192]) {
    OWN(FileOutput, output) = NULL;
    OWN(NpzWriter, writer) = NULL;
    (void)snprintf(out_path, 192, "%s/in.npz", server->folder);
    assert_ok(file_output_create(out_path, &output));
    assert_ok(npz_writer_create(output, &writer));
    assert_ok(npz_writer_finish(writer));
    assert_ok(file_output_commit(output));
}

static void test_remote_models_go_through_the_daemon(void **state) {
    TestServer *server = *state;
    static Outcome outcome;
    char file[192], out[192];
    test_server_make_executable(server, file);
    (void)snprintf(out, sizeof out, "%s/out.lvx", server->folder);
    RUN(&outcome, "register", "two", file, "--alias", "prod", "--json");
    assert_int_equal(outcome.code, ERROR_NONE);
    assert_non_null(strstr(outcome.out, "{\"model\":\"two\",\"version\":1,\"aliases\":[\"prod\"]"));
    RUN(&outcome, "register", "two", file);
    assert_non_null(strstr(outcome.out, "two@1 registered: "));
    RUN(&outcome, "models");
    assert_non_null(strstr(outcome.out, "MB stored"));
    assert_non_null(strstr(outcome.out, "prod"));
    RUN(&outcome, "show", "two@prod");
    assert_non_null(strstr(outcome.out, "output   y: float32 [2]"));
    RUN(&outcome, "alias", "two", "next", "1");
    assert_string_equal(outcome.out, "two@next is two@1\n");
    RUN(&outcome, "export", "two@next", out, "--json");
    assert_non_null(strstr(outcome.out, "\"file\":"));
    assert_int_equal(access(out, R_OK), 0);
    RUN(&outcome, "import", "three", out, "--json");
    assert_non_null(strstr(outcome.out, "\"model\":\"three\""));
    RUN(&outcome, "disasm", "two");
    assert_non_null(strstr(outcome.out, "function main"));
    RUN(&outcome, "fsck", "--json");
    assert_int_equal(outcome.exit_code, 0);
    assert_non_null(strstr(outcome.out, "\"errors\":[]"));
    RUN(&outcome, "gc");
    assert_non_null(strstr(outcome.out, "chunks deleted"));
    RUN(&outcome, "devices", "--json");
    assert_non_null(strstr(outcome.out, "\"memory_bytes\":100"));
    RUN(&outcome, "rm", "two@1", "--json");
    assert_string_equal(outcome.out, "{\"removed\":1}\n");
    RUN(&outcome, "show", "two");
    assert_int_equal(outcome.exit_code, 3);
    CommandContext *mistyped = COMMAND_CONTEXT("show", "thre@prod");
    Error *error = nearest_model_explain(mistyped, mistyped->command->run(mistyped));
    assert_string_equal(error_message(error), "no model thre@prod; the nearest is three");
    error_free(error);
    free(mistyped);
    RUN(&outcome, "models", "--tenant", "nobody");
    assert_int_equal(outcome.exit_code, 3);
    RUN(&outcome, "models", "--tenant", "alice");
    assert_string_equal(outcome.out, "");
}

static void test_remote_jobs_are_submitted_and_changed(void **state) {
    TestServer *server = *state;
    static Outcome outcome;
    char inputs[192], output[192];
    write_inputs(server, inputs);
    (void)snprintf(output, sizeof output, "%s/out", server->folder);
    const double before = clock_real().calendar_s(clock_real().self);
    RUN(&outcome, "submit", "m", "--input", inputs, "--items", "--batch", "4", "--shared", "w",
        "--priority", "low", "--weight", "2", "--deadline", "60", "--checkpoint-every", "5",
        "--checkpoint-keep", "3", "--release", "checkpoint", "--key", "k", "--json");
    assert_string_equal(outcome.out,
        "{\"job\":\"0000000000aa-1\",\"state\":\"queued\",\"deadline\":0.0,\"missed\":false,"
        "\"feasible\":null,\"earliest_end\":null}\n");
    const double after = clock_real().calendar_s(clock_real().self);
    const Submission *last = &server->jobs.last;
    const JobPolicy *policy = &last->policy;
    assert_true(policy->items && policy->batch == 4 && policy->weight == 2);
    assert_true(last->deadline >= before + 60 && last->deadline <= after + 60);
    assert_true(policy->checkpoint_every_ns == 5000000000 && policy->checkpoint_keep == 3);
    assert_true(last->inputs_size == 22); /* an .npz file without arrays */
    RUN(&outcome, "submit", "nothing", "--input", inputs);
    assert_int_equal(outcome.exit_code, 3);
    RUN(&outcome, "jobs", "--state", "queued");
    assert_non_null(strstr(outcome.out, "0000000000aa-1 "));
    RUN(&outcome, "job", "0000000000aa-1", "--json");
    assert_non_null(strstr(outcome.out, "\"events\":[{\"seq\":1,"));
    RUN(&outcome, "logs", "0000000000aa-1");
    assert_non_null(strstr(outcome.out, "queued"));
    RUN(&outcome, "resume", "0000000000aa-1");
    assert_int_equal(outcome.exit_code, 4);
    assert_non_null(strstr(outcome.message, "queued"));
    RUN(&outcome, "suspend", "0000000000aa-1", "--json");
    assert_string_equal(outcome.out, "{\"job\":\"0000000000aa-1\",\"state\":\"suspended\"}\n");
    RUN(&outcome, "resume", "0000000000aa-1", "--device", "cpu", "--from", "2");
    assert_string_equal(outcome.out, "0000000000aa-1 queued\n");
    RUN(&outcome, "checkpoints", "0000000000aa-1", "--json");
    assert_non_null(strstr(outcome.out, "{\"id\":3,"));
    RUN(&outcome, "checkpoint", "0000000000aa-1", "-o", output);
    assert_int_equal(outcome.code, ERROR_NONE);
    RUN(&outcome, "restore", output, "--with-outputs");
    assert_string_equal(outcome.out, "0000000000aa-2 queued\n");
    RUN(&outcome, "fork", "0000000000aa-1", "--json");
    assert_string_equal(outcome.out, "{\"job\":\"0000000000aa-3\",\"state\":\"queued\"}\n");
    RUN(&outcome, "result", "0000000000aa-1", "-o", output);
    assert_int_equal(outcome.exit_code, 1); /* it has not ended */
    RUN(&outcome, "result", "0000000000aa-1", "-o", output, "--partial", "--json");
    assert_non_null(strstr(outcome.out, "\"next\":7"));
    RUN(&outcome, "cancel", "0000000000aa-1");
    assert_int_equal(outcome.exit_code, 0);
    RUN(&outcome, "cancel", "0000000000aa-1");
    assert_int_equal(outcome.exit_code, 4);
    RUN(&outcome, "watch", "0000000000aa-1", "--json");
    assert_non_null(strstr(outcome.out, "\"state\":\"cancelled\""));
    assert_int_equal(outcome.exit_code, 0);
    RUN(&outcome, "submit", "m", "--input", inputs, "--items", "--key", "k", "--wait", "--json");
    assert_int_equal(outcome.exit_code, 6);
    RUN(&outcome, "rm-job", "0000000000aa-1");
    RUN(&outcome, "job", "0000000000aa-1");
    assert_int_equal(outcome.exit_code, 3);
    RUN(&outcome, "top", "--json"); /* the output is no terminal */
    assert_non_null(strstr(outcome.out, "\"tenants\":"));
}

/* Events that a long job repeats are one line of people's, and all of JSON's. */
static void test_remote_logs_tell_the_life_of_a_job(void **state) {
    static const struct {
        const char *kind, *state, *why;
    } life[] = {{"state", "queued", "submitted"}, {"running", "queued", "on sim:0"},
        {"checkpoint", "queued", ""}, {"output", "queued", "4 so far"},
        {"checkpoint", "queued", ""}, {"output", "queued", "9 so far"},
        {"restarted", "queued", "the daemon was started again"}, {"checkpoint", "queued", ""}};
    enum { COUNT = sizeof life / sizeof *life };
    TestServer *server = *state;
    static Outcome outcome;
    char inputs[192];
    write_inputs(server, inputs);
    RUN(&outcome, "submit", "m", "--input", inputs);
    MemoryJob *job = &server->jobs.jobs[server->jobs.count - 1];
    for (size_t i = 0; i < COUNT; i++) {
        JobsApiEvent *event = &job->events[i];
        *event = (JobsApiEvent){.sequence = (int64_t)i + 1, .time = 1000 + 0.5 * (double)i};
        (void)snprintf(event->kind, sizeof event->kind, "%s", life[i].kind);
        (void)snprintf(event->state, sizeof event->state, "%s", life[i].state);
        (void)snprintf(event->why, sizeof event->why, "%s", life[i].why);
    }
    job->event_count = COUNT;
    RUN(&outcome, "logs", job->shown.job);
    static const char *const lines[] = {"0.0 s  queued      submitted\n",
        "0.5 s  running     on sim:0\n", "1.0 s  checkpoint  2 times until 2.0 s\n",
        "1.5 s  output      2 times until 2.5 s: 9 so far\n",
        "3.0 s  restarted   the daemon was started again\n", "3.5 s  checkpoint\n"};
    const char *at = outcome.out;
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        const char *found = strstr(at, lines[i]);
        if (!found) fail_msg("no %s in %s", lines[i], outcome.out);
        assert_true(memchr(at, '\n', (size_t)(found - at)) == NULL);
        at = found + strlen(lines[i]);
    }
    assert_string_equal(at, "");
    RUN(&outcome, "logs", job->shown.job, "--json");
    uint32_t count = 0;
    for (at = outcome.out; (at = strchr(at, '\n')); at++) count++;
    assert_int_equal(count, COUNT);
    RUN(&outcome, "logs", "0000000000aa-99");
    assert_int_equal(outcome.exit_code, 3);
}

static void test_remote_tenants_and_tokens(void **state) {
    static Outcome outcome;
    (void)state;
    RUN(&outcome, "tenant", "add", "carol", "--weight", "3", "--quota", "depth=7", "--json");
    assert_non_null(strstr(outcome.out, "{\"tenant\":\"carol\",\"weight\":3,"));
    RUN(&outcome, "tenant", "set", "carol", "--quota", "depth=none", "--quota", "store_bytes=9");
    assert_non_null(strstr(outcome.out, "limits: store_bytes 9\n"));
    RUN(&outcome, "tenant", "list");
    assert_non_null(strstr(outcome.out, "carol"));
    RUN(&outcome, "tenant", "add", "carol");
    assert_int_equal(outcome.exit_code, 4);
    RUN(&outcome, "token", "create", "--tenant", "carol", "--role", "user");
    assert_non_null(strstr(outcome.out, "shown this once"));
    RUN(&outcome, "token", "list", "--json");
    assert_non_null(strstr(outcome.out, "\"tenant\":\"carol\""));
    RUN(&outcome, "token", "revoke", "1");
    assert_string_equal(outcome.out, "token 1 revoked\n");
    static const char *const wrong[][5] = {{"tenant", "add"}, {"tenant", "list", "x"},
        {"tenant", "drop", "x"}, {"tenant", "add", "x", "--quota", "luck=1"},
        {"tenant", "add", "x", "--quota", "depth=-1"}, {"token", "make"}, {"token", "revoke"},
        {"token", "create", "x"}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        const char *words[6] = {wrong[i][0], wrong[i][1], wrong[i][2], wrong[i][3], wrong[i][4]};
        run(&outcome, words);
        assert_int_equal(outcome.exit_code, 2);
    }
}

/* Whose token it is decides, and a daemon that is not there is exit code 5. */
static void test_remote_uses_tokens_and_addresses(void **state) {
    TestServer *server = *state;
    static Outcome outcome;
    (void)setenv("LAYOVER_SERVER", server->url, 1);
    RUN(&outcome, "models");
    assert_int_equal(outcome.code, ERROR_UNAUTHENTICATED);
    (void)setenv("LAYOVER_TOKEN", server->tokens[TEST_USER], 1);
    RUN(&outcome, "models");
    assert_int_equal(outcome.code, ERROR_NONE);
    RUN(&outcome, "tenant", "list");
    assert_int_equal(outcome.exit_code, 4);
    (void)unsetenv("LAYOVER_TOKEN");
    (void)setenv("LAYOVER_SERVER", "/nowhere/socket", 1);
    RUN(&outcome, "models");
    assert_int_equal(outcome.exit_code, 5);
    (void)unsetenv("LAYOVER_SERVER");
    RUN(&outcome, "jobs", "--home", "/nowhere");
    assert_int_equal(outcome.exit_code, 5);
    RUN(&outcome, "jobs", "--home", "/nowhere", "--embedded");
    assert_int_equal(outcome.exit_code, 2);
    /* the home's record leads to its daemon, and --embedded finds the home in use */
    assert_ok(daemon_record_write(server->home, server->socket, NULL));
    RUN(&outcome, "jobs", "--home", server->home);
    assert_int_equal(outcome.code, ERROR_NONE);
    RUN(&outcome, "models", "--home", server->home, "--embedded");
    assert_int_equal(outcome.exit_code, 4);
    assert_non_null(strstr(outcome.message, "in use by pid"));
}

static void test_remote_runs_become_jobs(void **state) {
    TestServer *server = *state;
    static Outcome outcome;
    char inputs[192], output[192];
    write_inputs(server, inputs);
    (void)snprintf(output, sizeof output, "%s/out.npz", server->folder);
    server->jobs.next_state = "succeeded";
    RUN(&outcome, "run", "m", "--input", inputs, "--output", output, "--threads", "2", "--json");
    assert_int_equal(outcome.exit_code, 0);
    assert_non_null(strstr(outcome.out, "{\"state\":\"succeeded\",\"instructions\":"));
    assert_int_equal(access(output, R_OK), 0);
    const Submission *last = &server->jobs.last;
    assert_true(last->policy.threads == 2 && last->priority == POLICY_HIGH);
    assert_true(server->jobs.jobs[0].removed);
    server->jobs.next_state = "failed";
    RUN(&outcome, "run", "m", "--input", inputs, "--output", output);
    assert_int_equal(outcome.exit_code, 1);
    server->jobs.next_state = "suspended";
    RUN(&outcome, "run", "m", "--input", inputs, "--output", output, "--suspend-after", "5",
        "--checkpoint", output, "--json");
    assert_int_equal(outcome.exit_code, 85);
    assert_int_equal(server->jobs.last.policy.suspend_at, 5);
    assert_non_null(strstr(outcome.out, "\"checkpoint_bytes\":10"));
    server->jobs.next_state = "succeeded";
    (void)snprintf(inputs, sizeof inputs, "%s/back.npz", server->folder);
    RUN(&outcome, "resume", output, "--output", inputs);
    assert_int_equal(outcome.exit_code, 0);
    assert_int_equal(access(inputs, R_OK), 0);
    RUN(&outcome, "run", "m", "--output", output, "--profile");
    assert_int_equal(outcome.exit_code, 4);
}

/* The server finds the route and the names again, whatever a name holds. */
static void test_remote_writes_the_address_of_every_route(void **state) {
    static const char *const names[] = {"a/b?c=%2f {d}", "\xc3\xa4#+&", "."};
    (void)state;
    for (RouteId route = 0; route < ROUTE_COUNT; route++) {
        RouteMatch match;
        TextBuilder OWN_TEXT(path) = {0};
        remote_path(&path, route, names);
        assert_ok(route_find(
            http_method_name(route_info(route)->method), text_builder_get(&path), &match));
        assert_int_equal(match.route, route);
        for (uint32_t i = 0; i < match.name_count; i++)
            assert_string_equal(match.names[i], names[i]);
    }
}

static void test_remote_knows_what_an_end_is(void **state) {
    (void)state;
    assert_int_equal(job_watch_exit_code("succeeded"), 0);
    assert_int_equal(job_watch_exit_code("failed"), 1);
    assert_int_equal(job_watch_exit_code("cancelled"), 6);
    assert_int_equal(job_watch_exit_code("suspended"), 85);
    assert_true(job_follow_is_end("moved") && job_follow_is_end("released"));
    assert_false(job_follow_is_end("suspended") || job_follow_is_end("running"));
}

int test_remote(void) {
#define WITH_SERVER(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        WITH_SERVER(test_remote_models_go_through_the_daemon),
        WITH_SERVER(test_remote_jobs_are_submitted_and_changed),
        WITH_SERVER(test_remote_logs_tell_the_life_of_a_job),
        WITH_SERVER(test_remote_tenants_and_tokens),
        WITH_SERVER(test_remote_uses_tokens_and_addresses),
        WITH_SERVER(test_remote_runs_become_jobs),
        cmocka_unit_test(test_remote_writes_the_address_of_every_route),
        cmocka_unit_test(test_remote_knows_what_an_end_is),
    };
    return cmocka_run_group_tests_name("remote", tests, NULL, NULL);
}
