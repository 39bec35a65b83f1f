#include "tools/client/model_access.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/file.h"
#include "scheduler/http/routes/model_json.h"
#include "serialize/container/executable_file.h"
#include "store/models/stored_executable.h"
#include "tests/tools/tools_fixtures.h"

static const char program[] = "constant @x = float32[2] {1, -2}\n"
                              "function main() -> (y: float32[2]) exported {\n Ret @x\n}\n";

typedef struct Home {
    char folder[64], home[128], assembly[128], executable[128];
    CommandContext *context;
} Home;

static int setup(void **state) {
    static Home home;
    test_folder_create(home.folder);
    (void)snprintf(home.home, sizeof home.home, "%s/home", home.folder);
    (void)snprintf(home.assembly, sizeof home.assembly, "%s/two.lva", home.folder);
    (void)snprintf(home.executable, sizeof home.executable, "%s/two.lvx", home.folder);
    assert_ok(file_write_atomic(home.assembly, program, sizeof program - 1));
    home.context = COMMAND_CONTEXT("models", "--home", home.home);
    *state = &home;
    return 0;
}

static int teardown(void **state) {
    Home *home = *state;
    free(home->context);
    tools_remove_tree(home->folder);
    return 0;
}

static void test_model_access_opens_homes_that_are_there(void **state) {
    const Home *home = *state;
    ModelAccess OWN_ACCESS(access) = {0};
    assert_fails(NOT_FOUND, model_access_open(home->context, false, &access));
    assert_null(access.store);
    assert_ok(model_access_open(home->context, true, &access));
    model_access_close(&access);
    assert_ok(model_access_open(home->context, false, &access));
    CommandContext *other = COMMAND_CONTEXT("models", "--home", home->home, "--tenant", "nobody");
    ModelAccess OWN_ACCESS(second) = {0};
    model_access_close(&access);
    assert_fails_saying(NOT_FOUND, "nobody", model_access_open(other, false, &second));
    free(other);
    CommandContext *empty = COMMAND_CONTEXT("models", "--home", "");
    assert_fails_saying(USAGE, "--home is empty", model_access_open(empty, false, &second));
    free(empty);
}

static void test_model_access_tells_formats_apart(void **state) {
    const Home *home = *state;
    const char *format;
    ModelAccess OWN_ACCESS(access) = {0};
    OWN(Executable, executable) = NULL;
    ModelFileOptions options = {0};
    assert_ok(model_access_open_files(&access));
    assert_ok(model_file_load(access.pool, home->assembly, &options, &executable));
    assert_ok(executable_write_file(executable, access.pool, home->executable));
    assert_ok(model_file_format(home->assembly, NULL, &format));
    assert_string_equal(format, "lva");
    assert_ok(model_file_format(home->executable, NULL, &format));
    assert_string_equal(format, "lvx");
    assert_ok(model_file_format("/tmp/anything", NULL, &format));
    assert_string_equal(format, "onnx");
    assert_ok(model_file_format(home->executable, "onnx", &format));
    assert_string_equal(format, "onnx");
    assert_fails(USAGE, model_file_format(home->executable, "pickle", &format));
}

static void load(ModelAccess *access, const char *path, Executable **out) {
    ModelFileOptions options = {0};
    assert_ok(model_file_load(access->pool, path, &options, out));
}

static void test_model_access_stores_and_finds_models(void **state) {
    const Home *home = *state;
    static const char *const aliases[] = {"prod"};
    ModelAccess OWN_ACCESS(access) = {0};
    OWN(Executable, executable) = NULL;
    OWN(Executable, found) = NULL;
    ModelVersion OWN_VERSION(version) = {0};
    ModelVersion OWN_VERSION(again) = {0};
    ModelVersion OWN_VERSION(loaded) = {0};
    assert_ok(model_access_open(home->context, true, &access));
    load(&access, home->assembly, &executable);
    assert_ok(model_access_register(&access, "two", executable, aliases, 1, &version));
    assert_int_equal(version.version, 1);
    /* the same model is the same version */
    assert_ok(model_access_register(&access, "two", executable, NULL, 0, &again));
    assert_int_equal(again.version, 1);
    assert_ok(model_access_load(&access, "two@prod", &loaded, &found));
    assert_int_equal(loaded.version, 1);
    assert_memory_equal(&found->identity, &executable->identity, sizeof found->identity);
    OWN(Executable, none) = NULL;
    assert_fails_saying(NOT_FOUND, "three", model_access_load(&access, "three", NULL, &none));
    assert_fails(NOT_FOUND, model_access_load(&access, "two@7", NULL, &none));
}

/* The file's chunks go into the store as they are. */
static void test_model_access_imports_executables(void **state) {
    const Home *home = *state;
    ModelAccess OWN_ACCESS(access) = {0};
    OWN(Executable, executable) = NULL;
    OWN(Executable, imported) = NULL;
    ModelVersion OWN_VERSION(version) = {0};
    assert_ok(model_access_open(home->context, true, &access));
    load(&access, home->assembly, &executable);
    assert_ok(executable_write_file(executable, access.pool, home->executable));
    assert_ok(model_access_import(&access, "two", home->executable, NULL, 0, &version, &imported));
    assert_memory_equal(&version.executable, &executable->identity, sizeof version.executable);
    OWN(Executable, unread) = NULL;
    ModelVersion OWN_VERSION(unmade) = {0};
    assert_fails(
        CORRUPT, model_access_import(&access, "two", home->assembly, NULL, 0, &unmade, &unread));
}

static void test_model_access_describes_functions_as_json(void **state) {
    const Home *home = *state;
    ModelAccess OWN_ACCESS(access) = {0};
    OWN(Executable, executable) = NULL;
    json_object *functions;
    assert_ok(model_access_open_files(&access));
    load(&access, home->assembly, &executable);
    assert_ok(model_functions_json(executable, &functions));
    const char *text = json_object_to_json_string_ext(functions, JSON_C_TO_STRING_PLAIN);
    assert_non_null(strstr(text, "\"name\":\"main\""));
    assert_non_null(strstr(text, "\"inputs\":[]"));
    assert_non_null(strstr(text, "\"name\":\"y\""));
    assert_non_null(strstr(text, "\"dtype\":\"float32\""));
    json_object_put(functions);
}

int test_model_access(void) {
#define WITH_HOME(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        WITH_HOME(test_model_access_opens_homes_that_are_there),
        WITH_HOME(test_model_access_tells_formats_apart),
        WITH_HOME(test_model_access_stores_and_finds_models),
        WITH_HOME(test_model_access_imports_executables),
        WITH_HOME(test_model_access_describes_functions_as_json),
    };
    return cmocka_run_group_tests_name("model_access", tests, NULL, NULL);
}
