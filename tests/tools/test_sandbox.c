#include "tools/client/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/test_support.h"

static void *nothing(void *argument) { return argument; }

/* In a sandbox: 0 when everything is as it should be, else which step was not. */
static int try_everything(const SandboxLimits *limits) {
    static const int families[] = {AF_INET, AF_UNIX};
    pthread_t thread;
    Error *error = sandbox_enter(limits);
    error_free(error);
    if (error) return 1;
    for (int i = 0; i < 2; i++)
        if (socket(families[i], SOCK_STREAM, 0) >= 0 || errno != EPERM) return 2;
    if (fork() >= 0 || errno != EPERM) return 3;
    if (execl("/bin/true", "true", (char *)NULL) >= 0 || errno != EPERM) return 4;
    if (pthread_create(&thread, NULL, nothing, NULL) != 0) return 5;
    (void)pthread_join(thread, NULL);
    int own = open("file", O_CREAT | O_RDWR, 0600);
    if (own < 0 || write(own, "x", 1) != 1 || rename("file", "other") != 0) return 6;
    if (open("/etc/passwd", O_RDONLY) >= 0) return 7;
    if (open("../escape", O_CREAT | O_RDWR, 0600) >= 0) return 8;
    if (limits->memory_bytes &&
        mmap(NULL, (size_t)64 << 30, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED)
        return 9;
    if (limits->file_bytes && lseek(own, (off_t)limits->file_bytes, SEEK_SET) > 0 &&
        write(own, "x", 1) >= 0)
        return 10;
    return 0;
}

/* In a process of its own: there is no way back. */
static int run_in_sandbox(const SandboxLimits *limits) {
    char folder[64];
    int status;
    test_folder_create(folder);
    pid_t pid = fork();
    if (pid == 0) {
        (void)signal(SIGXFSZ, SIG_IGN);
        _exit(chdir(folder) == 0 ? try_everything(limits) : 99);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    test_folder_remove(folder);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

/* Landlock may be missing; what it guards is then step 7. */
static void test_sandbox_leaves_one_folder_and_threads(void **state) {
    (void)state;
    int step = run_in_sandbox(&(SandboxLimits){0});
    assert_true(step == 0 || step == 7);
}

static void test_sandbox_limits_memory_and_files(void **state) {
    (void)state;
    SandboxLimits limits = {.file_bytes = 100, .cpu_seconds = 60};
    /* sanitizers have terabytes of address space mapped, which no limit allows */
    if (!getenv("ASAN_OPTIONS") && !getenv("TSAN_OPTIONS")) limits.memory_bytes = (uint64_t)8 << 30;
    int step = run_in_sandbox(&limits);
    assert_true(step == 0 || step == 7);
}

/* Who starts the daemon may have limited it, below what the sandbox would ask for. */
static void lower_every_limit(void) {
    static const struct {
        __rlimit_resource_t resource;
        rlim_t value;
    } rows[] = {
        {RLIMIT_AS, (rlim_t)8 << 30}, {RLIMIT_FSIZE, 100}, {RLIMIT_CPU, 60}, {RLIMIT_NOFILE, 32}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct rlimit both = {rows[i].value, rows[i].value};
        if (setrlimit(rows[i].resource, &both) != 0) _exit(98);
    }
}

static void test_sandbox_keeps_lower_limits_that_it_inherits(void **state) {
    (void)state;
    if (getenv("ASAN_OPTIONS") || getenv("TSAN_OPTIONS")) skip();
    int status;
    pid_t pid = fork();
    if (pid == 0) {
        /* root may raise a hard limit, everybody else may not */
        if (geteuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0)) _exit(97);
        lower_every_limit();
        const SandboxLimits wanted = {
            .memory_bytes = (uint64_t)32 << 30, .file_bytes = 1 << 20, .cpu_seconds = 1200};
        Error *error = sandbox_enter(&wanted);
        error_free(error);
        void *block = mmap(
            NULL, (size_t)16 << 30, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        _exit(error ? 1 : block == MAP_FAILED ? 0 : 2);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

int test_sandbox(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sandbox_leaves_one_folder_and_threads),
        cmocka_unit_test(test_sandbox_limits_memory_and_files),
        cmocka_unit_test(test_sandbox_keeps_lower_limits_that_it_inherits),
    };
    return cmocka_run_group_tests_name("sandbox", tests, NULL, NULL);
}
