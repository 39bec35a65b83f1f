/* Homes as a program sees them: every function, what it refuses, and what a forked process may do.
 */
#include <fcntl.h>
#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "include/layover.h"
#include "tests/tools/library_checks.h"
#include "tests/tools/test_library_home.h"

enum { PATH_SIZE = 256 };

static char folder[PATH_SIZE];

static int make_folder(void **state) {
    (void)state;
    (void)snprintf(folder, sizeof folder, "/tmp/layover_home_XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *where) {
    (void)status, (void)kind, (void)where;
    return remove(path);
}

static int remove_folder(void **state) {
    (void)state;
    return nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static LayoverHome *open_home(const char *tenant) {
    char path[PATH_SIZE + 8];
    LayoverHome *home = NULL;
    (void)snprintf(path, sizeof path, "%s/home", folder);
    ok(layover_home_open(path, tenant, &home));
    assert_string_equal(layover_home_path(home), path);
    return home;
}

static void has(LayoverValue *answer, const char *text) {
    assert_int_equal(answer->kind, LAYOVER_STRING);
    if (!strstr(answer->text, text)) fail_msg("%s is not in %s", text, answer->text);
    layover_value_release(answer);
}

static void add_model(LayoverHome *home, const char *name) {
    static const char *const aliases[] = {"prod"};
    const LayoverRegistration wanted = {.aliases = aliases, .alias_count = 1};
    LayoverValue answer;
    ok(layover_home_register(home, name, LIBRARY_MODEL, &wanted, &answer));
    has(&answer, "\"aliases\":[\"prod\"]");
}

static void test_library_home_stores_shows_and_removes(void **state) {
    (void)state;
    char file[PATH_SIZE + 16];
    LayoverValue answer;
    LayoverHome *home = open_home(NULL);
    ok(layover_home_models(home, &answer));
    has(&answer, "[]");
    add_model(home, "sums");
    ok(layover_home_register(home, "again", LIBRARY_MODEL, NULL, &answer));
    has(&answer, "\"version\":1");
    ok(layover_home_models(home, &answer));
    has(&answer, "\"model\":\"sums\"");
    ok(layover_home_show(home, "sums@prod", &answer));
    has(&answer, "\"name\":\"pair\"");
    ok(layover_home_alias(home, "sums", "old", 1, &answer));
    has(&answer, "\"aliases\":[\"old\",\"prod\"]");
    ok(layover_home_disasm(home, "sums", 0, &answer));
    has(&answer, "AllocADT");
    (void)snprintf(file, sizeof file, "%s/sums.lvx", folder);
    ok(layover_home_export(home, "sums@old", file, &answer));
    has(&answer, "\"bytes\":");
    ok(layover_home_fsck(home, 0, NULL, &answer));
    has(&answer, "\"error_count\":0");
    ok(layover_home_fsck(home, 1, file, &answer));
    has(&answer, "\"repaired\":0");
    ok(layover_home_remove(home, "sums", &answer));
    has(&answer, "{\"removed\":1}");
    ok(layover_home_remove(home, "again@1", &answer));
    has(&answer, "{\"removed\":1}");
    ok(layover_home_gc(home, &answer));
    has(&answer, "\"executables\":");
    layover_home_close(home);
}

static void test_library_home_opens_models(void **state) {
    (void)state;
    uint32_t inputs, outputs;
    LayoverHome *home = open_home(NULL);
    LayoverModel *model = NULL;
    add_model(home, "sums");
    ok(layover_home_open_model(home, "sums@prod", "sim:0", &model));
    layover_home_close(home);
    ok(layover_model_function(model, "pair", &inputs, &outputs));
    assert_int_equal(inputs + outputs, 4);
    layover_model_close(model);
}

static void test_library_home_says_what_is_wrong(void **state) {
    (void)state;
    LayoverValue answer = {.kind = LAYOVER_NIL};
    LayoverModel *model = NULL;
    LayoverHome *home = NULL;
    static const char *const aliases[] = {"a b"};
    LayoverRegistration wanted = {.aliases = aliases, .alias_count = 1};
    fails("INVALID", "is empty", layover_home_open("", NULL, &home));
    home = open_home(NULL);
    fails("NOT_FOUND", "other", layover_home_show(home, "other", &answer));
    fails("NOT_FOUND", "other", layover_home_open_model(home, "other", "cpu", &model));
    fails("NOT_FOUND", "other", layover_home_alias(home, "other", "prod", 1, &answer));
    fails("INVALID", "a/b is no model name",
        layover_home_register(home, "a/b", LIBRARY_MODEL, NULL, &answer));
    fails("INVALID", "a b", layover_home_register(home, "sums", LIBRARY_MODEL, &wanted, &answer));
    wanted.alias_count = 65;
    fails("INVALID", "65 aliases",
        layover_home_register(home, "sums", LIBRARY_MODEL, &wanted, &answer));
    fails("NOT_FOUND", "missing.onnx",
        layover_home_register(home, "sums", "/tmp/missing.onnx", NULL, &answer));
    fails("NOT_FOUND", "missing.lvx", layover_home_fsck(home, 0, "/tmp/missing.lvx", &answer));
    layover_home_close(home);
    home = open_home("nobody");
    fails("NOT_FOUND", "nobody", layover_home_models(home, &answer));
    layover_home_close(home);
    assert_int_equal(answer.kind, LAYOVER_NIL);
}

/* As a daemon that runs would. */
static void test_library_home_refuses_a_home_that_has_an_owner(void **state) {
    (void)state;
    char lock[PATH_SIZE + 16];
    LayoverValue answer;
    LayoverHome *home = open_home(NULL);
    ok(layover_home_models(home, &answer));
    layover_value_release(&answer);
    (void)snprintf(lock, sizeof lock, "%s/home/lock", folder);
    const int descriptor = open(lock, O_RDWR | O_CLOEXEC);
    assert_int_equal(flock(descriptor, LOCK_EX), 0);
    fails("REFUSED", "home", layover_home_models(home, &answer));
    assert_int_equal(close(descriptor), 0);
    ok(layover_home_models(home, &answer));
    layover_value_release(&answer);
    layover_home_close(home);
}

/* The child of a process with threads: it may not run the parent's models, may open its own, and
 * ends. */
static int run_in_child(LayoverModel *parents, LayoverHome *home) {
    LayoverExecution *execution = NULL;
    LayoverModel *own = NULL;
    LayoverError *error = layover_execution_create(parents, &execution);
    if (!error || strcmp(layover_error_code(error), "CONFLICT") != 0) return 1;
    if (!strstr(layover_error_message(error), "forked")) return 2;
    layover_error_free(error);
    layover_model_close(parents);
    if (layover_home_open_model(home, "sums", "cpu", &own)) return 3;
    if (layover_execution_create(own, &execution)) return 4;
    layover_execution_free(execution);
    layover_model_close(own);
    return 0;
}

static void test_library_models_belong_to_the_process_that_opened_them(void **state) {
    (void)state;
    int status;
    LayoverHome *home = open_home(NULL);
    LayoverModel *model = NULL;
    add_model(home, "sums");
    ok(layover_home_open_model(home, "sums", "cpu", &model));
    const pid_t child = fork();
    if (child == 0) _exit(run_in_child(model, home));
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    layover_model_close(model);
    layover_home_close(home);
}

int test_library_home(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(
            test_library_home_stores_shows_and_removes, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(test_library_home_opens_models, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(
            test_library_home_says_what_is_wrong, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(
            test_library_home_refuses_a_home_that_has_an_owner, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(
            test_library_models_belong_to_the_process_that_opened_them, make_folder, remove_folder),
    };
    return cmocka_run_group_tests_name("library_home", tests, NULL, NULL);
}
