#include "scheduler/node/upload_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/allocator.h"
#include "tests/scheduler/http_fixtures.h"

static void test_upload_file_is_the_owners_alone_and_has_all_bytes(void **state) {
    (void)state;
    static const uint8_t data[] = {1, 2, 3, 4, 5};
    TestServer OWN_SERVER(server);
    struct stat status;
    uint8_t bytes[sizeof data + 1];
    char *path;
    int descriptor;
    test_service_open(&server);
    assert_ok(upload_file_make(server.uploads, &descriptor, &path));
    assert_true(text_starts_with(path, server.uploads));
    assert_int_equal(fstat(descriptor, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0600);
    assert_ok(upload_file_write(descriptor, data, 2));
    assert_ok(upload_file_write(descriptor, data + 2, sizeof data - 2));
    assert_int_equal(pread(descriptor, bytes, sizeof bytes, 0), sizeof data);
    assert_memory_equal(bytes, data, sizeof data);
    (void)close(descriptor);
    (void)unlink(path);
    memory_free(path);
}

static void test_upload_file_says_what_failed(void **state) {
    (void)state;
    static const uint8_t data[] = {1};
    char *path;
    int descriptor;
    assert_fails_saying(IO, "a temporary file cannot be made: No such file or directory",
        upload_file_make("/nowhere", &descriptor, &path));
    descriptor = open("/dev/full", O_WRONLY | O_CLOEXEC);
    assert_true(descriptor >= 0);
    assert_fails_saying(
        EXHAUSTED, "no space left on the disk", upload_file_write(descriptor, data, sizeof data));
    (void)close(descriptor);
    assert_fails_saying(IO, "a temporary file cannot be written: Bad file descriptor",
        upload_file_write(-1, data, sizeof data));
}

int test_upload_file(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_upload_file_is_the_owners_alone_and_has_all_bytes),
        cmocka_unit_test(test_upload_file_says_what_failed),
    };
    return cmocka_run_group_tests_name("upload_file", tests, NULL, NULL);
}
