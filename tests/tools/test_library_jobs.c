/* Clients and jobs of the public library, over a server that keeps jobs and never runs them. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "include/layover_jobs.h"
#include "tests/scheduler/http_fixtures.h"
#include "tests/tools/library_checks.h"

static int setup(void **state) {
    static TestServer server;
    test_server_open(&server, NULL);
    *state = &server;
    return 0;
}

static int teardown(void **state) {
    test_server_close(*state);
    return 0;
}

static LayoverClient *open_client(const TestServer *server) {
    LayoverClient *client = NULL;
    ok(layover_client_open(&(LayoverServer){.server = server->socket}, &client));
    assert_string_equal(layover_client_server(client), server->socket);
    return client;
}

static void has(LayoverValue *answer, const char *text) {
    assert_int_equal(answer->kind, LAYOVER_STRING);
    if (!strstr(answer->text, text)) fail_msg("%s is not in %s", text, answer->text);
    layover_value_release(answer);
}

/* A tensor of two floats that counts how often it was deleted. */
typedef struct Given {
    DLManagedTensor managed;
    int64_t dims[1];
    float data[2];
    int deleted;
} Given;

static void deleted(DLManagedTensor *managed) { ((Given *)managed->manager_ctx)->deleted++; }

static DLManagedTensor *give(Given *given) {
    *given = (Given){.dims = {2}, .data = {1, 2}};
    given->managed = (DLManagedTensor){
        .dl_tensor = {.data = given->data,
            .device = {kDLCPU, 0},
            .ndim = 1,
            .dtype = {kDLFloat, 32, 1},
            .shape = given->dims},
        .manager_ctx = given,
        .deleter = deleted,
    };
    return &given->managed;
}

static LayoverJob *submit(LayoverClient *client) {
    LayoverJob *job = NULL;
    ok(layover_client_submit(client, "m", NULL, 0, NULL, &job));
    return job;
}

static void test_library_jobs_reach_models(void **state) {
    TestServer *server = *state;
    static const char *const aliases[] = {"prod"};
    char file[192], out[192];
    uint64_t bytes;
    LayoverValue answer;
    LayoverClient *client = open_client(server);
    test_server_make_executable(server, file);
    (void)snprintf(out, sizeof out, "%s/out.lvx", server->folder);
    const LayoverRegistration wanted = {.aliases = aliases, .alias_count = 1};
    ok(layover_client_register(client, "two", file, &wanted, &answer));
    has(&answer, "\"aliases\":[\"prod\"]");
    ok(layover_client_models(client, &answer));
    has(&answer, "[{\"model\":\"two\"");
    ok(layover_client_show(client, "two@prod", &answer));
    has(&answer, "\"functions\":[");
    ok(layover_client_export(client, "two", out, &bytes));
    assert_true(bytes > 0 && access(out, R_OK) == 0);
    ok(layover_client_remove(client, "two@1", &answer));
    has(&answer, "{\"removed\":1}");
    fails("NOT_FOUND", "two", layover_client_show(client, "two", &answer));
    const LayoverRegistration linked = {.follow_links = 1};
    fails("INVALID", "one file", layover_client_register(client, "two", file, &linked, &answer));
    layover_client_close(client);
}

/* The tensors are deleted once each, whether the call succeeds or not. */
static void test_library_jobs_take_their_inputs(void **state) {
    TestServer *server = *state;
    static const char *const shared[] = {"w"};
    Given x, w;
    LayoverJob *job = NULL;
    LayoverClient *client = open_client(server);
    LayoverNamedValue inputs[] = {{"x", {LAYOVER_TENSOR, {.tensor = give(&x)}}},
        {"w", {LAYOVER_TENSOR, {.tensor = give(&w)}}}};
    const LayoverSubmission submission = {.items = 1,
        .batch = 4,
        .shared = shared,
        .shared_count = 1,
        .priority = "low",
        .weight = 2,
        .checkpoint_every_s = 5,
        .checkpoint_keep = 3,
        .deadline_s = 60,
        .key = "k"};
    ok(layover_client_submit(client, "m", inputs, 2, &submission, &job));
    assert_string_equal(layover_job_id(job), "0000000000aa-1");
    assert_true(x.deleted == 1 && w.deleted == 1);
    const JobPolicy *policy = &server->jobs.last.policy;
    assert_true(policy->items && policy->batch == 4 && policy->weight == 2);
    assert_true(policy->checkpoint_every_ns == 5000000000 && policy->checkpoint_keep == 3);
    assert_true(server->jobs.last.inputs_size > 2 * sizeof x.data);
    layover_job_free(job);
    inputs[0].value.tensor = give(&x);
    inputs[1] = (LayoverNamedValue){"w", {LAYOVER_INT, {.integer = 1}}};
    fails("INVALID", "input 1 (w): ", layover_client_submit(client, "m", inputs, 2, NULL, &job));
    assert_int_equal(x.deleted, 1);
    inputs[0] = (LayoverNamedValue){NULL, {LAYOVER_TENSOR, {.tensor = give(&x)}}};
    inputs[1] = (LayoverNamedValue){"w", {LAYOVER_TENSOR, {.tensor = give(&w)}}};
    fails("INVALID", "input 0 (): ", layover_client_submit(client, "m", inputs, 2, NULL, &job));
    assert_true(x.deleted == 1 && w.deleted == 1);
    fails("INVALID", "deadline",
        layover_client_submit(client, "m", NULL, 0, &(LayoverSubmission){.deadline_s = -1}, &job));
    fails("NOT_FOUND", "nothing", layover_client_submit(client, "nothing", NULL, 0, NULL, &job));
    layover_client_close(client);
}

static void test_library_jobs_are_changed(void **state) {
    TestServer *server = *state;
    char path[192];
    uint64_t bytes;
    LayoverValue answer;
    LayoverJob *same, *other;
    LayoverClient *client = open_client(server);
    LayoverJob *job = submit(client);
    const char *shown = "";
    (void)snprintf(path, sizeof path, "%s/job.lvc", server->folder);
    ok(layover_client_find_job(client, layover_job_id(job), &same));
    assert_string_equal(layover_job_id(same), layover_job_id(job));
    layover_job_free(same);
    fails("NOT_FOUND", "", layover_client_find_job(client, "0000000000aa-9", &same));
    layover_client_close(client); /* the job keeps what it needs */
    ok(layover_job_suspend(job));
    ok(layover_job_wait(job, 0, 0, &shown));
    assert_string_equal(shown, "suspended");
    fails("INTERRUPTED", "", layover_job_wait(job, 1, 1, &shown));
    ok(layover_job_resume(job, "cpu", 2));
    ok(layover_job_info(job, &answer));
    has(&answer, "\"state\":\"queued\"");
    ok(layover_job_checkpoints(job, &answer));
    has(&answer, "[{\"id\":");
    ok(layover_job_checkpoint(job, 3, 1, path, &bytes));
    assert_true(bytes > 0);
    ok(layover_job_fork(job, 0, &other));
    assert_string_not_equal(layover_job_id(other), layover_job_id(job));
    layover_job_free(other);
    LayoverNamedValues *outputs;
    fails("INVALID", "is queued", layover_job_outputs(job, 0, &outputs));
    ok(layover_job_outputs_file(job, 1, path, &bytes));
    assert_true(bytes > 0);
    ok(layover_job_cancel(job));
    fails("CONFLICT", "", layover_job_cancel(job));
    ok(layover_job_wait(job, 0, 0, &shown));
    assert_string_equal(shown, "cancelled");
    ok(layover_job_remove(job));
    fails("NOT_FOUND", "", layover_job_info(job, &answer));
    layover_job_free(job);
}

static void test_library_jobs_are_listed_and_restored(void **state) {
    TestServer *server = *state;
    char path[192];
    uint64_t bytes;
    LayoverValue answer;
    LayoverJob *restored;
    LayoverClient *client = open_client(server);
    LayoverJob *job = submit(client);
    (void)snprintf(path, sizeof path, "%s/job.lvc", server->folder);
    ok(layover_client_jobs(client, "queued", &answer));
    has(&answer, "\"job\":\"0000000000aa-1\"");
    fails("INVALID", "no state", layover_client_jobs(client, "asleep", &answer));
    ok(layover_job_checkpoint(job, 0, 0, path, &bytes));
    ok(layover_client_restore(client, path, 1, NULL, &restored));
    assert_string_equal(layover_job_id(restored), "0000000000aa-2");
    layover_job_free(restored);
    layover_job_free(job);
    layover_client_close(client);
}

static int count_lines(void *context, const char *json) {
    assert_non_null(strstr(json, "\"seq\":"));
    return ++*(int *)context == 1;
}

static void *cancel(void *job) {
    ok(layover_job_cancel(job));
    return NULL;
}

/* One thread waits, another one cancels the job through the same client. */
static void test_library_jobs_are_watched_while_another_thread_acts(void **state) {
    TestServer *server = *state;
    int seen = 0;
    int64_t since = 0;
    pthread_t thread;
    const char *shown = "";
    LayoverClient *client = open_client(server);
    LayoverJob *job = submit(client);
    ok(layover_job_watch(job, &since, count_lines, &seen));
    assert_true(seen == 1 && since > 0);
    assert_int_equal(pthread_create(&thread, NULL, cancel, job), 0);
    ok(layover_job_wait(job, 0, 1, &shown));
    assert_string_equal(shown, "cancelled");
    assert_int_equal(pthread_join(thread, NULL), 0);
    layover_job_free(job);
    layover_client_close(client);
}

/* A child asks over a connection of its own; the parent's stays whole. */
static void test_library_jobs_of_a_forked_process(void **state) {
    TestServer *server = *state;
    int status = -1;
    LayoverValue answer;
    LayoverClient *client = open_client(server);
    ok(layover_client_models(client, &answer));
    layover_value_release(&answer);
    const pid_t child = fork();
    if (child == 0) {
        LayoverError *error = layover_client_models(client, &answer);
        layover_client_close(client);
        _exit(error ? 1 : 0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    ok(layover_client_models(client, &answer));
    layover_value_release(&answer);
    layover_client_close(client);
}

static void test_library_jobs_refuse_servers_that_make_no_sense(void **state) {
    const TestServer *server = *state;
    LayoverClient *client;
    LayoverValue answer;
    fails("INVALID", "address is empty",
        layover_client_open(&(LayoverServer){.server = ""}, &client));
    fails("INVALID", "server ftp://",
        layover_client_open(&(LayoverServer){.server = "ftp://a"}, &client));
    fails("UNREACHABLE", "no daemon holds",
        layover_client_open(&(LayoverServer){.home = server->folder}, &client));
    ok(layover_client_open(&(LayoverServer){.server = "/nowhere/socket"}, &client));
    fails("UNREACHABLE", "", layover_client_models(client, &answer));
    layover_client_close(client);
    const LayoverServer wrong = {.server = server->url, .token = server->tokens[TEST_WRONG]};
    ok(layover_client_open(&wrong, &client));
    fails("UNAUTHENTICATED", "", layover_client_models(client, &answer));
    layover_client_close(client);
}

#define WITH_SERVER(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int test_library_jobs(void) {
    const struct CMUnitTest tests[] = {
        WITH_SERVER(test_library_jobs_reach_models),
        WITH_SERVER(test_library_jobs_take_their_inputs),
        WITH_SERVER(test_library_jobs_are_changed),
        WITH_SERVER(test_library_jobs_are_listed_and_restored),
        WITH_SERVER(test_library_jobs_are_watched_while_another_thread_acts),
        WITH_SERVER(test_library_jobs_of_a_forked_process),
        WITH_SERVER(test_library_jobs_refuse_servers_that_make_no_sense),
    };
    return cmocka_run_group_tests_name("library_jobs", tests, NULL, NULL);
}
