#include "scheduler/http/server/listen_socket.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "tests/support/test_support.h"

static void test_listen_socket_replaces_what_a_killed_daemon_left(void **state) {
    (void)state;
    char folder[64], path[128];
    struct stat status;
    int first, second;
    test_folder_create(folder);
    (void)snprintf(path, sizeof path, "%s/s", folder);
    assert_ok(listen_socket_open_unix(path, &first));
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0600);
    assert_fails_saying(REFUSED, "answers", listen_socket_open_unix(path, &second));
    (void)close(first); /* as a killed one does: the file stays */
    assert_ok(listen_socket_open_unix(path, &second));
    uint64_t inode = listen_socket_inode(path);
    assert_true(inode != 0);
    listen_socket_remove(path, inode + 1);
    assert_int_equal(access(path, F_OK), 0);
    listen_socket_remove(path, inode);
    assert_int_not_equal(access(path, F_OK), 0);
    (void)close(second);
    test_folder_remove(folder);
}

static void test_listen_socket_refuses_paths_that_are_none(void **state) {
    (void)state;
    char folder[64], path[128], longest[300];
    int listener;
    test_folder_create(folder);
    (void)snprintf(path, sizeof path, "%s/file", folder);
    assert_ok(file_write_atomic(path, "x", 1));
    assert_fails_saying(REFUSED, "no socket", listen_socket_open_unix(path, &listener));
    assert_int_equal(access(path, F_OK), 0);
    assert_fails(INVALID, listen_socket_open_unix("", &listener));
    memset(longest, 'a', sizeof longest - 1);
    longest[sizeof longest - 1] = 0;
    assert_fails_saying(INVALID, "107", listen_socket_open_unix(longest, &listener));
    (void)snprintf(path, sizeof path, "%s/nowhere/s", folder);
    assert_fails(IO, listen_socket_open_unix(path, &listener));
    test_folder_remove(folder);
}

static void test_listen_socket_picks_a_port(void **state) {
    (void)state;
    static const char *const wrong[] = {"", "127.0.0.1", ":80", "127.0.0.1:", "127.0.0.1:x",
        "127.0.0.1:65536", "127.0.0.1:-1", "::1:80", "[]:80"};
    char address[LISTEN_ADDRESS_SIZE], again[LISTEN_ADDRESS_SIZE];
    int listener, second;
    assert_ok(listen_socket_open_tcp("127.0.0.1:0", &listener, address));
    assert_true(strncmp(address, "127.0.0.1:", 10) == 0 && strcmp(address, "127.0.0.1:0") != 0);
    assert_fails_saying(REFUSED, "in use", listen_socket_open_tcp(address, &second, again));
    (void)close(listener);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_fails(USAGE, listen_socket_open_tcp(wrong[i], &listener, address));
    assert_fails(REFUSED, listen_socket_open_tcp("192.0.2.1:0", &listener, address));
}

int test_listen_socket(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_listen_socket_replaces_what_a_killed_daemon_left),
        cmocka_unit_test(test_listen_socket_refuses_paths_that_are_none),
        cmocka_unit_test(test_listen_socket_picks_a_port),
    };
    return cmocka_run_group_tests_name("listen_socket", tests, NULL, NULL);
}
