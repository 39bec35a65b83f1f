#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "scheduler/http/client/json_body.h"
#include "tests/tools/tools_fixtures.h"
#include "tools/client/remote.h"
#include "tools/run/image_decode.h"

enum { TEXT_SIZE = 8192 };

static json_object *examine(const char *home, int exit_code) {
    char text[TEXT_SIZE];
    Capture capture;
    json_object *answer;
    CommandContext *context = COMMAND_CONTEXT("doctor", "--home", home, "--json");
    capture_start(&capture, STDOUT_FILENO);
    Error *error = context->command->run(context);
    capture_end(&capture, text, sizeof text);
    assert_ok(error);
    assert_int_equal(context->exit_code, exit_code);
    free(context);
    assert_ok(remote_parse(text, &answer));
    assert_true(remote_flag(answer, "ok") == (exit_code == 0));
    return answer;
}

/* The finding of a check has this state, and its words contain these. */
static void found(json_object *answer, const char *check, const char *state, const char *words) {
    json_object *list = remote_field(answer, "checks");
    for (size_t i = 0; i < json_object_array_length(list); i++) {
        json_object *finding = json_object_array_get_idx(list, i);
        if (strcmp(remote_text(finding, "check"), check) != 0) continue;
        assert_string_equal(remote_text(finding, "state"), state);
        assert_non_null(strstr(remote_text(finding, "found"), words));
        assert_true((*remote_text(finding, "help") != 0) == (strcmp(state, "ok") != 0));
        return;
    }
    fail_msg("no check %s", check);
}

/* What nobody made yet is no fault, and is not made. */
static void test_doctor_of_a_new_machine(void **state) {
    struct stat status;
    OWN_JSON(answer) = examine("/nowhere/layover", 0);
    (void)state;
    found(answer, "home", "ok", "/nowhere/layover");
    found(answer, "daemon", "missing", "no daemon");
    found(answer, "device cpu", "ok", "cpu");
    found(answer, "PNG", image_decode_reads("PNG") ? "ok" : "missing", "PNG");
    found(answer, "libcrypto", "ok", "SHA-256");
    assert_int_not_equal(stat("/nowhere/layover", &status), 0);
}

static void test_doctor_of_a_damaged_home(void **state) {
    char folder[64], path[128];
    (void)state;
    test_folder_create(folder);
    (void)snprintf(path, sizeof path, "%s/catalog.db", folder);
    assert_ok(file_write_atomic(path, "no database", 11));
    OWN_JSON(answer) = examine(folder, 1);
    found(answer, "home", "failed", "catalog.db");
    test_folder_remove(folder);
}

static void test_doctor_of_a_server_that_does_not_answer(void **state) {
    (void)state;
    (void)setenv("LAYOVER_SERVER", "/nowhere/socket", 1);
    OWN_JSON(answer) = examine("/nowhere/layover", 1);
    (void)unsetenv("LAYOVER_SERVER");
    found(answer, "daemon", "failed", "/nowhere/socket");
}

int test_doctor(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_doctor_of_a_new_machine),
        cmocka_unit_test(test_doctor_of_a_damaged_home),
        cmocka_unit_test(test_doctor_of_a_server_that_does_not_answer),
    };
    return cmocka_run_group_tests_name("doctor", tests, NULL, NULL);
}
