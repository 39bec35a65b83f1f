#include "tools/run/run_profile.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/tools/tools_fixtures.h"

static const char program[] =
    "constant @x = float32[2] {1, -2}\n"
    "primitive %relu = Relu\n"
    "primitive %add = Add\n"
    "primitive %flat = Flatten {axis=0}\n"
    "packed value.kind(1)\n"
    "function main() exported {\n InvokePacked %add @x, @x -> r0\n InvokePacked %relu r0 -> r1\n"
    " InvokePacked %add r1, r0 -> r1\n InvokePacked %flat r1 -> r2\n Call &value.kind, r2 -> r0\n"
    " Ret r2\n}\n";

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
    assert_ok(run_profile_attach(&profile, execution, 1));
    assert_ok(execution_run(execution, (Budget){0}, &result));
    assert_int_equal(result.kind, RUN_FINISHED);
    capture_start(&capture, STDERR_FILENO);
    run_profile_print(&profile, context);
    capture_end(&capture, out, size);
}

static void check_row(const char *out, const char *name, const char *kernel, int calls) {
    char begin[128];
    (void)snprintf(
        begin, sizeof begin, "{\"operator\":\"%s\",\"kernel\":\"%s\",\"share\":", name, kernel);
    const char *row = strstr(out, begin);
    if (!row) fail_msg("no %s in %s", begin, out);
    const char *count = strstr(row, "\"calls\":");
    assert_int_equal(strtol(count + strlen("\"calls\":"), NULL, 10), calls);
    /* views move nothing; an addition does something, if little */
    const char *rate = strstr(row, "\"gbytes_per_s\":");
    const bool moves = strtod(rate + strlen("\"gbytes_per_s\":"), NULL) > 0;
    assert_int_equal(moves, strcmp(kernel, "cpu.elementwise") == 0);
}

static void test_run_profile_counts_the_calls_of_every_operator(void **state) {
    (void)state;
    char out[4096];
    CommandContext *context = COMMAND_CONTEXT("run", "m", "--profile", "--json");
    profiled(context, out, sizeof out);
    check_row(out, "Add", "cpu.elementwise", 2);
    check_row(out, "Relu", "cpu.elementwise", 1);
    check_row(out, "Flatten", "view", 1);
    check_row(out, "value.kind", "packed function", 1);
    const char *end = strstr(out, "{\"total\":{\"calls\":5,");
    assert_non_null(end);
    assert_non_null(strstr(end, "\"limits\":{\"threads\":1,\"gflops\":"));
    double shares = 0;
    int lines = 0;
    for (const char *at = out; (at = strstr(at, "\"share\":")); lines++) {
        at += strlen("\"share\":");
        shares += strtod(at, NULL);
    }
    assert_int_equal(lines, 4);
    assert_true(shares > 0.999 && shares < 1.001);
    free(context);
}

static void test_run_profile_prints_a_table_for_people(void **state) {
    (void)state;
    char out[4096];
    CommandContext *context = COMMAND_CONTEXT("run", "m", "--profile");
    profiled(context, out, sizeof out);
    assert_memory_equal(out, "operator ", strlen("operator "));
    assert_non_null(strstr(out, "calls"));
    assert_non_null(strstr(out, "\nRelu "));
    assert_non_null(strstr(out, "\nAdd "));
    assert_non_null(strstr(out, "\ntotal "));
    assert_non_null(strstr(out, "\nlimits of this machine on 1 thread: "));
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
