#include "tools/client/route_call.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/scheduler/http_fixtures.h"
#include "tests/tools/tools_fixtures.h"

enum { TEXT_SIZE = 16384 };

static int setup(void **state) {
    static TestServer server;
    test_server_open(&server, NULL);
    (void)setenv("LAYOVER_SERVER", server.socket, 1);
    (void)setenv("TZ", "UTC", 1);
    *state = &server;
    return 0;
}

static int teardown(void **state) {
    (void)unsetenv("LAYOVER_SERVER");
    (void)unsetenv("TZ");
    test_server_close(*state);
    return 0;
}

/* Runs a call, NULL: the verb's own, for a command line. */
static Error *call(const RouteCall *call, const char *const *words, char out[TEXT_SIZE]) {
    Capture capture;
    CommandContext *context = command_context_make(words);
    capture_start(&capture, STDOUT_FILENO);
    Error *error = call ? route_call_run(context, call) : context->command->run(context);
    capture_end(&capture, out, TEXT_SIZE);
    free(context);
    return error;
}
#define CALL(which, out, ...) call(which, (const char *const[]){__VA_ARGS__, NULL}, out)

static void submit(TestServer *server) {
    assert_int_equal(test_server_submit(server, TEST_LOCAL, "{\"model\":\"m\"}", NULL, 0), 200);
}

static uint32_t count(const char *text, const char *part) {
    uint32_t found = 0;
    for (const char *at = text; (at = strstr(at, part)); at++) found++;
    return found;
}

/* Each row of the table is a verb with help, behind a verb that there is. */
static void test_route_call_rows_are_verbs(void **state) {
    (void)state;
    static char help[TEXT_SIZE];
    uint32_t rows = 0;
    Capture capture;
    capture_start(&capture, STDOUT_FILENO);
    command_line_print_help(NULL);
    capture_end(&capture, help, sizeof help);
    for (const Command *command = commands; command->verb; command++) {
        char line[64];
        (void)snprintf(line, sizeof line, "\n  %-11s %-20s ", command->verb, command->usage);
        assert_int_equal(count(help, line), 1);
        if (!command->call) continue;
        const uint32_t words = *command->usage ? 1 + count(command->usage, " ") : 0;
        assert_int_equal(route_call_count_names(command->call), words);
        assert_ptr_equal(command->call, &route_verbs[rows++]);
        const CommandOption *option = command->options;
        const RouteField *field = command->call->fields;
        for (; option->name; option++, field++) assert_string_equal(field->option, option->name);
        assert_null(field->option);
    }
    assert_int_equal(rows, ROUTE_VERB_COUNT);
    assert_non_null(strstr(help, "\n  fork "));
    assert_true(strstr(help, "\n  cancel ") < strstr(help, "\n  fork "));
    assert_true(strstr(help, "\n  fork ") < strstr(help, "\n  migrate "));
}

static void test_route_call_prints_lists_for_people_and_machines(void **state) {
    static char out[TEXT_SIZE];
    submit(*state);
    test_server_register(*state, TEST_LOCAL, "m");
    assert_ok(CALL(NULL, out, "config", "m@1"));
    assert_string_equal(out, "m@1: up to 1 items in a run, requests wait 0 us for others\n");
    assert_ok(CALL(NULL, out, "checkpoints", "0000000000aa-1"));
    assert_string_equal(out, "    id  time                       MB      items    outputs\n"
                             "     3  1970-01-01 00:16          0.0          -          0\n");
    assert_ok(CALL(NULL, out, "checkpoints", "0000000000aa-1", "--json"));
    assert_string_equal(
        out, "{\"id\":3,\"time\":1001.0,\"bytes\":5,\"items_done\":null,\"sequence\":0}\n");
    assert_ok(CALL(NULL, out, "suspend", "0000000000aa-1"));
    assert_string_equal(out, "0000000000aa-1 suspended\n");
    assert_fails(UNSUPPORTED, CALL(NULL, out, "rebalance")); /* the server knows no nodes */
}

static void test_route_call_sends_options_in_the_body(void **state) {
    static char out[TEXT_SIZE];
    static const RouteField fields[] = {
        {"device", ROUTE_FIELD_TEXT}, {"from", ROUTE_FIELD_INTEGER}, {0}};
    const RouteCall resume = {.route = ROUTE_JOB_RESUME, .fields = fields, .line = "{state}"};
    static const RouteField flag[] = {{"partial", ROUTE_FIELD_FLAG}, {0}};
    const RouteCall flagged = {.route = ROUTE_JOB_CANCEL, .fields = flag, .line = "{state}"};
    const RouteCall cancel = {.route = ROUTE_JOB_CANCEL, .fields = fields, .line = "{state}"};
    submit(*state);
    assert_ok(CALL(NULL, out, "suspend", "0000000000aa-1"));
    assert_ok(CALL(&resume, out, "resume", "0000000000aa-1", "--device", "cpu", "--from", "2"));
    assert_string_equal(out, "queued\n");
    /* this route knows neither field, and names the one that it got */
    assert_fails_saying(
        INVALID, "from", CALL(&cancel, out, "resume", "0000000000aa-1", "--from", "2"));
    assert_fails_saying(
        INVALID, "device", CALL(&cancel, out, "resume", "0000000000aa-1", "--device", "cpu"));
    assert_fails_saying(
        INVALID, "partial", CALL(&flagged, out, "result", "0000000000aa-1", "--partial"));
    const RouteCall rebalance = {
        .route = ROUTE_REBALANCE, .fields = fields, .answer = ROUTE_ANSWER_LINES, .line = ""};
    assert_fails_saying(INVALID, "device", CALL(&rebalance, out, "resume", "x", "--device", "cpu"));
    assert_fails_saying(USAGE, "--from 0: a whole number from 1 to",
        CALL(NULL, out, "fork", "0000000000aa-1", "--from", "0"));
    assert_ok(CALL(NULL, out, "fork", "0000000000aa-1", "--from", "3", "--json"));
    assert_string_equal(out, "{\"job\":\"0000000000aa-2\",\"state\":\"queued\"}\n");
}

static void test_route_call_sends_options_of_a_get_in_the_query(void **state) {
    static char out[TEXT_SIZE];
    static const RouteField state_field[] = {{"state", ROUTE_FIELD_TEXT}, {0}};
    static const RouteField dashed[] = {{"repair-from", ROUTE_FIELD_TEXT}, {0}};
    static const RouteField flag[] = {{"repair", ROUTE_FIELD_FLAG}, {0}};
    const RouteCall list = {.route = ROUTE_JOB_LIST,
        .fields = state_field,
        .answer = ROUTE_ANSWER_LINES,
        .line = "job\n{job}"};
    const RouteCall top = {.route = ROUTE_TOP, .fields = dashed, .line = ""};
    const RouteCall fsck = {.route = ROUTE_FSCK, .fields = flag, .line = "{error_count} errors"};
    submit(*state);
    assert_ok(CALL(&list, out, "jobs", "--state", "queued"));
    assert_string_equal(out, "job\n0000000000aa-1\n");
    assert_ok(CALL(&list, out, "jobs", "--state", "suspended"));
    assert_string_equal(out, ""); /* no header, either */
    /* a dash of the option is an underline of the field */
    assert_fails_saying(INVALID, "repair_from", CALL(&top, out, "fsck", "--repair-from", "x"));
    /* a POST whose body is no JSON has a query, too */
    assert_ok(CALL(&fsck, out, "fsck", "--repair"));
    assert_string_equal(out, "0 errors\n");
}

static void test_route_call_writes_arguments_into_the_address(void **state) {
    static char out[TEXT_SIZE];
    const RouteCall show = {.route = ROUTE_MODEL_GET, .line = "{model}@{version}"};
    const RouteCall revoke = {.route = ROUTE_TOKEN_REVOKE, .skipped = 1, .line = "{id}"};
    test_server_register(*state, TEST_LOCAL, "m");
    assert_int_equal(route_call_count_names(&show), 2);
    assert_int_equal(route_call_count_names(&revoke), 1);
    assert_ok(CALL(&show, out, "alias", "m", "1", "3"));
    assert_string_equal(out, "m@1\n");
    assert_fails_saying(NOT_FOUND, "no job a/b?c", CALL(NULL, out, "cancel", "a/b?c"));
    assert_ok(CALL(&revoke, out, "token", "revoke", "1"));
    assert_string_equal(out, "1\n");
}

int test_route_call(void) {
#define WITH_SERVER(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_route_call_rows_are_verbs),
        WITH_SERVER(test_route_call_prints_lists_for_people_and_machines),
        WITH_SERVER(test_route_call_sends_options_in_the_body),
        WITH_SERVER(test_route_call_sends_options_of_a_get_in_the_query),
        WITH_SERVER(test_route_call_writes_arguments_into_the_address),
    };
    return cmocka_run_group_tests_name("route_call", tests, NULL, NULL);
}
