#include "scheduler/http/client/daemon_record.h"

#include <stdio.h>
#include <unistd.h>

#include "base/allocator.h"
#include "base/file.h"
#include "scheduler/http/server/listen_socket.h"
#include "tests/support/test_support.h"

static void test_daemon_record_finds_a_daemon_that_answers(void **state) {
    (void)state;
    char folder[64], path[128], *found;
    int listener;
    test_folder_create(folder);
    (void)snprintf(path, sizeof path, "%s/s", folder);
    assert_ok(daemon_record_find(folder, &found));
    assert_null(found);
    assert_ok(listen_socket_open_unix(path, &listener));
    assert_ok(daemon_record_write(folder, path, "http://127.0.0.1:1"));
    assert_ok(daemon_record_find(folder, &found));
    assert_string_equal(found, path);
    memory_free(found);
    /* the file in a copy of the home leads nobody to the original's daemon */
    char copy[64], from[128], to[128];
    uint8_t *data;
    size_t size;
    test_folder_create(copy);
    (void)snprintf(from, sizeof from, "%s/daemon", folder);
    (void)snprintf(to, sizeof to, "%s/daemon", copy);
    assert_ok(file_read(from, 1 << 13, &data, &size));
    assert_ok(file_write_atomic(to, data, size));
    memory_unmap(data, size);
    assert_ok(daemon_record_find(copy, &found));
    assert_null(found);
    test_folder_remove(copy);
    (void)close(listener); /* killed */
    assert_ok(daemon_record_find(folder, &found));
    assert_null(found);
    daemon_record_remove(folder);
    daemon_record_remove(folder);
    test_folder_remove(folder);
}

static void test_daemon_record_passes_over_what_it_cannot_read(void **state) {
    (void)state;
    static const char *const texts[] = {"", "12", "12\n", "12\n\n", "12\n/nowhere/s\n",
        "12\naaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
        "a"
        "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\n"};
    char folder[64], path[128], *found;
    test_folder_create(folder);
    (void)snprintf(path, sizeof path, "%s/daemon", folder);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        assert_ok(file_write_atomic(path, texts[i], strlen(texts[i])));
        assert_ok(daemon_record_find(folder, &found));
        assert_null(found);
    }
    test_folder_remove(folder);
}

int test_daemon_record(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_daemon_record_finds_a_daemon_that_answers),
        cmocka_unit_test(test_daemon_record_passes_over_what_it_cannot_read),
    };
    return cmocka_run_group_tests_name("daemon_record", tests, NULL, NULL);
}
