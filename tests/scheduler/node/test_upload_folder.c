#include "scheduler/node/upload_folder.h"

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/allocator.h"
#include "base/file.h"
#include "tests/support/test_support.h"

static void make_file(const char *folder, const char *name) {
    char path[256];
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    assert_ok(file_write_atomic(path, "left", 4));
}

static void test_upload_folder_is_empty_at_the_start(void **state) {
    (void)state;
    char home[64], inside[160], link[160], *path, *again;
    struct stat status;
    test_folder_create(home);
    assert_ok(upload_folder_open(home, &path));
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0700);
    make_file(home, "precious");
    make_file(path, "upload.abc");
    (void)snprintf(inside, sizeof inside, "%s/model.abc", path);
    assert_int_equal(mkdir(inside, 0700), 0);
    make_file(inside, "model.onnx");
    (void)snprintf(link, sizeof link, "%s/model.abc/link", path);
    assert_int_equal(symlink(home, link), 0);
    assert_ok(upload_folder_open(home, &again));
    assert_string_equal(path, again);
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(rmdir(path), 0); /* nothing is in it */
    (void)snprintf(inside, sizeof inside, "%s/precious", home);
    assert_int_equal(access(inside, F_OK), 0);
    memory_free(path);
    memory_free(again);
    test_folder_remove(home);
}

static void test_upload_folder_is_no_link_to_elsewhere(void **state) {
    (void)state;
    char home[64], elsewhere[64], path[128], *found;
    test_folder_create(home);
    test_folder_create(elsewhere);
    make_file(elsewhere, "precious");
    (void)snprintf(path, sizeof path, "%s/uploads", home);
    assert_int_equal(symlink(elsewhere, path), 0);
    assert_fails_saying(IO, "no directory", upload_folder_open(home, &found));
    (void)snprintf(path, sizeof path, "%s/precious", elsewhere);
    assert_int_equal(access(path, F_OK), 0);
    test_folder_remove(home);
    test_folder_remove(elsewhere);
}

int test_upload_folder(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_upload_folder_is_empty_at_the_start),
        cmocka_unit_test(test_upload_folder_is_no_link_to_elsewhere),
    };
    return cmocka_run_group_tests_name("upload_folder", tests, NULL, NULL);
}
