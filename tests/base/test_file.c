#include "base/file.h"

#include <dirent.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/allocator.h"
#include "tests/support/test_support.h"

static char folder[64];
static char path[96];

static int setup(void **state) {
    (void)state;
    test_folder_create(folder);
    (void)snprintf(path, sizeof path, "%s/file", folder);
    return 0;
}

static int teardown(void **state) {
    (void)state;
    test_folder_remove(folder);
    return 0;
}

static size_t count_files(void) {
    DIR *open_folder = opendir(folder);
    assert_non_null(open_folder);
    size_t count = 0;
    while (readdir(open_folder)) count++;
    (void)closedir(open_folder);
    return count - 2; /* . and .. */
}

static void file_is(const char *content) {
    uint8_t *data = NULL;
    size_t size = 0;
    assert_ok(file_read(path, 1000, &data, &size));
    assert_int_equal(size, strlen(content));
    if (size) assert_memory_equal(data, content, size);
    memory_unmap(data, size);
}

static void test_file_write_atomic_replaces(void **state) {
    (void)state;
    assert_ok(file_write_atomic(path, "one", 3));
    file_is("one");
    assert_ok(file_write_atomic(path, "second", 6));
    file_is("second");
    assert_ok(file_write_atomic(path, NULL, 0));
    file_is("");
    assert_int_equal(count_files(), 1);
}

/* Nothing appears, and the old content stays, until the commit; without one no trace is left. */
static void test_file_output_appears_with_commit_only(void **state) {
    (void)state;
    static Error *(*const ends[])(FileOutput *) = {NULL, file_output_publish, file_output_commit};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        OWN(FileOutput, output) = NULL;
        assert_ok(file_write_atomic(path, "old", 3));
        assert_ok(file_output_create(path, &output));
        assert_ok(file_output_write(output, "abcdef", 6));
        assert_ok(file_output_write(output, "ghi", 3));
        assert_ok(file_output_write_at(output, 1, "BC", 2));
        assert_ok(file_output_write_at(output, 11, "z", 1));
        assert_int_equal(file_output_size(output), 12);
        file_is("old");
        assert_int_equal(count_files(), 2);
        if (ends[i]) assert_ok(ends[i](output));
        file_output_release(TAKE(output));
        assert_int_equal(count_files(), 1);
        if (!ends[i]) {
            file_is("old");
            continue;
        }
        uint8_t *written = NULL;
        size_t written_size = 0;
        assert_ok(file_read(path, 1000, &written, &written_size));
        assert_int_equal(written_size, 12);
        assert_memory_equal(written, "aBCdefghi\0\0z", 12);
        memory_unmap(written, written_size);
    }
    struct stat status;
    mode_t mask = umask(0);
    (void)umask(mask);
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0666 & ~mask);
}

static void test_file_read_refuses_in_words(void **state) {
    (void)state;
    uint8_t *data = NULL;
    size_t size = 0;
    char gone[128];
    (void)snprintf(gone, sizeof gone, "%s/gone", folder);
    assert_fails_saying(NOT_FOUND, "gone", file_read(gone, 10, &data, &size));
    (void)snprintf(gone, sizeof gone, "%s/below", path);
    assert_fails(NOT_FOUND, file_read(gone, 10, &data, &size));
    assert_fails_saying(INVALID, "not a regular file", file_read(folder, 10, &data, &size));
    assert_fails_saying(INVALID, "not a regular file", file_read("/dev/null", 10, &data, &size));
    assert_ok(file_write_atomic(path, "12345", 5));
    assert_fails_saying(INVALID, "at most 4", file_read(path, 4, &data, &size));
    (void)snprintf(gone, sizeof gone, "%s/fifo", folder);
    assert_int_equal(mkfifo(gone, 0600), 0);
    assert_fails(INVALID, file_read(gone, 10, &data, &size)); /* and does not wait for a writer */
    assert_null(data);
}

static void test_file_output_refuses_in_words(void **state) {
    (void)state;
    OWN(FileOutput, output) = NULL;
    char gone[128];
    (void)snprintf(gone, sizeof gone, "%s/no/file", folder);
    assert_fails_saying(IO, "no/file", file_output_create(gone, &output));
    assert_null(output);
    char long_path[5000];
    memset(long_path, 'x', sizeof long_path - 1);
    long_path[sizeof long_path - 1] = 0;
    assert_fails(INVALID, file_output_create(long_path, &output));
    assert_fails_saying(INVALID, "is empty", file_output_create("", &output));
    assert_fails_saying(INVALID, "no regular file", file_write_atomic(folder, "x", 1));
    (void)snprintf(gone, sizeof gone, "%s/fifo", folder);
    assert_int_equal(mkfifo(gone, 0600), 0);
    assert_fails_saying(INVALID, "no regular file", file_write_atomic(gone, "x", 1));
}

/* A link is followed, rights stay, a device is written to: nothing is replaced by a file. */
static void test_file_output_leaves_what_is_there(void **state) {
    (void)state;
    struct stat status;
    char link[128];
    (void)snprintf(link, sizeof link, "%s/link", folder);
    assert_ok(file_write_atomic(path, "old", 3));
    assert_int_equal(chmod(path, 0640), 0);
    assert_int_equal(symlink(path, link), 0);
    assert_ok(file_write_atomic(link, "new", 3));
    file_is("new");
    assert_int_equal(lstat(link, &status), 0);
    assert_true(S_ISLNK(status.st_mode));
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0640);
    (void)snprintf(link, sizeof link, "%s/null", folder);
    assert_int_equal(symlink("/dev/null", link), 0);
    assert_ok(file_write_atomic(link, "away", 4));
    assert_int_equal(stat(link, &status), 0);
    assert_true(S_ISCHR(status.st_mode));
}

static void test_file_map_reads_as_file_read(void **state) {
    (void)state;
    MappedFile *file;
    assert_fails(NOT_FOUND, file_map(path, 100, &file));
    assert_ok(file_write_atomic(path, "", 0));
    assert_ok(file_map(path, 100, &file));
    assert_null(file);
    assert_ok(file_write_atomic(path, "content", 7));
    assert_fails_saying(INVALID, "7 bytes, at most 6", file_map(path, 6, &file));
    assert_ok(file_map(path, 7, &file));
    assert_int_equal(mapped_file_size(file), 7);
    assert_memory_equal(mapped_file_data(file), "content", 7);
    mapped_file_release(file);
    assert_fails_saying(INVALID, "not a regular file", file_map(folder, 100, &file));
}

int test_file(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_file_write_atomic_replaces, setup, teardown),
        cmocka_unit_test_setup_teardown(test_file_output_appears_with_commit_only, setup, teardown),
        cmocka_unit_test_setup_teardown(test_file_read_refuses_in_words, setup, teardown),
        cmocka_unit_test_setup_teardown(test_file_map_reads_as_file_read, setup, teardown),
        cmocka_unit_test_setup_teardown(test_file_output_refuses_in_words, setup, teardown),
        cmocka_unit_test_setup_teardown(test_file_output_leaves_what_is_there, setup, teardown),
    };
    return cmocka_run_group_tests_name("file", tests, NULL, NULL);
}
