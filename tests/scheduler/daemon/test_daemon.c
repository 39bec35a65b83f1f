#include "scheduler/daemon/daemon.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/text.h"
#include "tests/support/test_support.h"

static Error *say_ready(void *context, const DaemonReady *ready) {
    const int *descriptor = context;
    size_t length = strlen(ready->listen) + 1;
    if (write(*descriptor, ready->listen, length) != (ssize_t)length)
        FAIL(IO, "the test does not listen");
    return NULL;
}

static _Noreturn void run_child(const char *home, int descriptor) {
    DaemonOptions options = {
        .home = home, .listen = "127.0.0.1:0", .compiler = "/bin/false", .grace_ns = 1000000000};
    size_t left = 99;
    Error *error = daemon_run(&options, say_ready, &descriptor, &left);
    if (error) (void)fprintf(stderr, "%s\n", error_message(error));
    int code = error ? error_info(error_code(error))->exit_code : (int)left;
    error_free(error);
    _exit(code);
}

/* A daemon in a process of its own. Answers its pid once it is ready, or -1 with its exit code. */
static pid_t start(const char *home, char *out_address, size_t size, int *out_code) {
    int pipes[2];
    assert_int_equal(pipe(pipes), 0);
    pid_t child = fork();
    if (child == 0) {
        (void)close(pipes[0]);
        run_child(home, pipes[1]);
    }
    (void)close(pipes[1]);
    ssize_t got = read(pipes[0], out_address, size - 1);
    (void)close(pipes[0]);
    if (got > 0) return child;
    assert_int_equal(waitpid(child, out_code, 0), child);
    return -1;
}

static void test_daemon_owns_its_home_until_it_is_told_to_end(void **state) {
    (void)state;
    char folder[64], home[128], address[320] = "", other[320] = "";
    int code;
    test_folder_create(folder);
    (void)snprintf(home, sizeof home, "%s/home", folder);
    for (int round = 0; round < 2; round++) {
        pid_t child = start(home, address, sizeof address, &code);
        assert_true(child > 0);
        assert_int_equal(strncmp(address, "127.0.0.1:", 10), 0);
        uint64_t port;
        assert_true(text_parse_u64(address + 10, &port) && port > 0);
        assert_int_equal(start(home, other, sizeof other, &code), -1);
        assert_true(WIFEXITED(code) && WEXITSTATUS(code) == error_info(ERROR_REFUSED)->exit_code);
        assert_int_equal(kill(child, round ? SIGINT : SIGTERM), 0);
        assert_int_equal(waitpid(child, &code, 0), child);
        assert_true(WIFEXITED(code));
        assert_int_equal(WEXITSTATUS(code), 0);
    }
}

int test_daemon(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_daemon_owns_its_home_until_it_is_told_to_end),
    };
    return cmocka_run_group_tests_name("daemon", tests, NULL, NULL);
}
