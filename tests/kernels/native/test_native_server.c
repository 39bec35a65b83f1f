#include "kernels/native/native_server.h"

#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/test_support.h"

static void test_a_server_without_its_parent_says_so(void **state) {
    (void)state;
    char *program = getenv("LAYOVER_WORKER"), said[256] = "";
    int ends[2];
    assert_non_null(program);
    assert_int_equal(pipe(ends), 0);
    pid_t pid = fork();
    if (pid == 0) {
        (void)dup2(ends[1], 2);
        (void)close(3);
        (void)close(4);
        (void)execl(program, "layover", "native-worker", "sample", (char *)NULL);
        _exit(99);
    }
    (void)close(ends[1]);
    int status;
    assert_true(read(ends[0], said, sizeof said - 1) > 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(WEXITSTATUS(status), 2);
    assert_non_null(strstr(said, "layover itself starts it"));
    (void)close(ends[0]);
}

int test_native_server(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_a_server_without_its_parent_says_so)};
    return cmocka_run_group_tests_name("native_server", tests, NULL, NULL);
}
