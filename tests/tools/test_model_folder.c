#include "tools/cli/model_folder.h"

#include <stdio.h>
#include <sys/stat.h>

#include "base/file.h"
#include "tests/tools/tools_fixtures.h"

static void make_file(const char *folder, const char *name) {
    char path[PATH_MAX];
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    assert_ok(file_write_atomic(path, "x", 1));
}

static void test_model_folder_leaves_files_alone(void **state) {
    (void)state;
    char memory[PATH_MAX];
    const char *path = "/nowhere/m.onnx";
    assert_ok(model_folder_find(&path, memory));
    assert_string_equal(path, "/nowhere/m.onnx");
}

static void test_model_folder_finds_the_one_model(void **state) {
    (void)state;
    char folder[64], inner[128], memory[PATH_MAX], wanted[PATH_MAX];
    const char *path = folder;
    test_folder_create(folder);
    make_file(folder, "config.json");
    assert_fails_saying(INVALID, "without an .onnx file", model_folder_find(&path, memory));
    (void)snprintf(inner, sizeof inner, "%s/onnx", folder);
    assert_int_equal(mkdir(inner, 0700), 0);
    make_file(inner, "deep.onnx");
    assert_ok(model_folder_find(&path, memory));
    (void)snprintf(wanted, sizeof wanted, "%s/deep.onnx", inner);
    assert_string_equal(path, wanted);
    /* one in the folder itself counts before those below it */
    path = folder;
    make_file(folder, "top.onnx");
    assert_ok(model_folder_find(&path, memory));
    (void)snprintf(wanted, sizeof wanted, "%s/top.onnx", folder);
    assert_string_equal(path, wanted);
    path = folder;
    make_file(folder, "other.onnx");
    assert_fails_saying(INVALID, "a folder with 2 models", model_folder_find(&path, memory));
    tools_remove_tree(folder);
}

int test_model_folder(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_model_folder_leaves_files_alone),
        cmocka_unit_test(test_model_folder_finds_the_one_model),
    };
    return cmocka_run_group_tests_name("model_folder", tests, NULL, NULL);
}
