#include "tools/run_profile.h"

#include <stdlib.h>
#include <unistd.h>

#include "tests/tools/tools_fixtures.h"

static const char program[] =
    "constant @x = float32[2] {1, -2}\n"
    "primitive %relu = Relu\n"
    "primitive %add = Add\n"
    "function main() exported {\n InvokePacked %add @x, @x -> r0\n InvokePacked %relu r0 -> r1\n"
    " InvokePacked %add r1, r0 -> r1\n Ret r1\n}\n";

static void profiled(const CommandContext *context, char *out, size_t size) {
    ToolsRun OWN_RUN(run) = {0};
    RunProfile OWN_PROFILE(profile) = {0};
    OWN(Execution, execution) = NULL;
    Capture capture;
    RunResult result;
    uint32_t function;
    tools_run_open(program, &run);
    assert_ok(executable_find_function(run.executable, "main", &function));
    assert_ok(execution_create(run.residency, &run.options, function, NULL, 0, &execution));
    assert_ok(run_profile_attach(&profile, execution));
    assert_ok(execution_run(execution, (Budget){0}, &result));
    assert_int_equal(result.kind, RUN_FINISHED);
    capture_start(&capture, STDERR_FILENO);
    run_profile_print(&profile, context);
    capture_end(&capture, out, size);
}

static void test_run_profile_counts_the_calls_of_every_operator(void **state) {
    (void)state;
    char out[1024];
    CommandContext *context = COMMAND_CONTEXT("run", "m", "--profile", "--json");
    profiled(context, out, sizeof out);
    const char *add = strstr(out, "{\"operator\":\"Add\",\"calls\":2,\"ms\":");
    const char *relu = strstr(out, "{\"operator\":\"Relu\",\"calls\":1,\"ms\":");
    assert_non_null(add);
    assert_non_null(relu);
    double shares = 0;
    int lines = 0;
    for (const char *at = out; (at = strstr(at, "\"share\":")); lines++) {
        at += strlen("\"share\":");
        shares += strtod(at, NULL);
    }
    assert_int_equal(lines, 2);
    assert_true(shares > 0.999 && shares < 1.001);
    free(context);
}

static void test_run_profile_prints_a_table_for_people(void **state) {
    (void)state;
    char out[1024];
    CommandContext *context = COMMAND_CONTEXT("run", "m", "--profile");
    profiled(context, out, sizeof out);
    assert_memory_equal(out, "operator ", strlen("operator "));
    assert_non_null(strstr(out, "calls"));
    assert_non_null(strstr(out, "\nRelu "));
    assert_non_null(strstr(out, "\nAdd "));
    free(context);
}

static void test_run_profile_prints_nothing_where_nothing_was_measured(void **state) {
    (void)state;
    char out[64];
    Capture capture;
    RunProfile OWN_PROFILE(profile) = {0};
    CommandContext *context = COMMAND_CONTEXT("run", "m");
    capture_start(&capture, STDERR_FILENO);
    run_profile_print(&profile, context);
    capture_end(&capture, out, sizeof out);
    assert_string_equal(out, "");
    free(context);
}

int test_run_profile(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_run_profile_counts_the_calls_of_every_operator),
        cmocka_unit_test(test_run_profile_prints_a_table_for_people),
        cmocka_unit_test(test_run_profile_prints_nothing_where_nothing_was_measured),
    };
    return cmocka_run_group_tests_name("run_profile", tests, NULL, NULL);
}
