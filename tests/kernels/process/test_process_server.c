#include "kernels/process/process_server.h"

#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/bytes.h"
#include "kernels/process/process_memory.h"
#include "kernels/process/process_wire.h"
#include "tests/support/test_support.h"

enum { EXIT_FAILED = 1, EXIT_USAGE = 2, FREE = 20 };

extern char **environ;

/* A worker whose parent is this test. */
typedef struct Started {
    pid_t pid;
    int socket;
} Started;

/* What the worker gets as its memory. */
static int make_memory(size_t size, bool sealed) {
    int made = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    int descriptor = fcntl(made, F_DUPFD_CLOEXEC, FREE);
    (void)close(made);
    assert_true(descriptor >= 0);
    assert_int_equal(ftruncate(descriptor, (off_t)size), 0);
    if (sealed) assert_int_equal(fcntl(descriptor, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW), 0);
    return descriptor;
}

static void write_magic(int memory) {
    const uint64_t magic = PROCESS_MAGIC;
    assert_int_equal(pwrite(memory, &magic, sizeof magic, 0), sizeof magic);
}

static Started start(int owned_memory) {
    const char *program = getenv("LAYOVER_WORKER");
    const char *const arguments[] = {"layover", "worker", "sim:0", NULL};
    int ends[2];
    Started started;
    posix_spawn_file_actions_t actions;
    assert_non_null(program);
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
    int its = fcntl(ends[1], F_DUPFD_CLOEXEC, FREE);
    (void)close(ends[1]);
    started.socket = ends[0];
    assert_int_equal(posix_spawn_file_actions_init(&actions), 0);
    (void)posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
    (void)posix_spawn_file_actions_adddup2(&actions, its, PROCESS_SOCKET);
    (void)posix_spawn_file_actions_adddup2(&actions, owned_memory, PROCESS_MEMORY);
    assert_int_equal(posix_spawn(&started.pid, program, &actions, NULL,
                         (char *const *)(uintptr_t)arguments, environ),
        0);
    (void)posix_spawn_file_actions_destroy(&actions);
    (void)close(its);
    (void)close(owned_memory);
    return started;
}

static int end(const Started *started) {
    int status = 0;
    (void)close(started->socket);
    assert_int_equal(waitpid(started->pid, &status, 0), started->pid);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static ProcessHello good_hello(void) {
    return (ProcessHello){.magic = PROCESS_MAGIC,
        .version = PROCESS_WIRE_VERSION,
        .channel_count = PROCESS_CHANNELS_MAX,
        .bytes = sizeof(ProcessShared)};
}

/* Its welcome: NULL, or what it refuses. */
static Error *greet(const Started *started, const void *hello, size_t size) {
    uint8_t bytes[PROCESS_WELCOME_MAX], opened;
    uint32_t version;
    Error *refusal = NULL;
    assert_int_equal(send(started->socket, hello, size, MSG_NOSIGNAL), size);
    ssize_t got = recv(started->socket, bytes, sizeof bytes, 0);
    assert_true(got > 0);
    ByteReader reader = byte_reader(bytes, (size_t)got);
    assert_ok(byte_read_u32(&reader, &version));
    assert_int_equal(version, PROCESS_WIRE_VERSION);
    assert_ok(byte_read_u8(&reader, &opened));
    if (!opened) assert_ok(process_wire_read_error(&reader, &refusal));
    return refusal;
}

static void test_process_server_refuses_other_versions_naming_both(void **state) {
    (void)state;
    ProcessHello hello = good_hello();
    hello.version = PROCESS_WIRE_VERSION + 7;
    Started started = start(make_memory(sizeof(ProcessShared), true));
    assert_fails_saying(UNSUPPORTED, "speaks version 2, who started it speaks 9",
        greet(&started, &hello, sizeof hello));
    assert_int_equal(end(&started), 0);
}

static void test_process_server_refuses_memory_of_another_size(void **state) {
    (void)state;
    ProcessHello hello = good_hello();
    hello.bytes /= 2;
    Started started = start(make_memory(sizeof(ProcessShared), true));
    assert_fails_saying(UNSUPPORTED, "other sizes", greet(&started, &hello, sizeof hello));
    assert_int_equal(end(&started), 0);
    hello = good_hello();
    started = start(make_memory(4096, true));
    assert_fails_saying(UNSUPPORTED, "another size", greet(&started, &hello, sizeof hello));
    assert_int_equal(end(&started), 0);
    started = start(make_memory(sizeof(ProcessShared), true));
    assert_fails(CORRUPT, greet(&started, &hello, sizeof hello)); /* without its beginning */
    assert_int_equal(end(&started), 0);
}

static void test_process_server_is_for_nobody_else(void **state) {
    (void)state;
    static const char words[] = "GET / HTTP/1.1";
    Started started = start(make_memory(sizeof(ProcessShared), true));
    assert_fails(USAGE, greet(&started, words, sizeof words));
    assert_int_equal(end(&started), 0);
    started = start(make_memory(sizeof(ProcessShared), false)); /* it could shrink later */
    assert_int_equal(end(&started), EXIT_USAGE);
}

static void test_process_server_ends_with_its_socket(void **state) {
    (void)state;
    const ProcessHello hello = good_hello();
    for (uint32_t channels = 0; channels < 3; channels++) {
        int memory = make_memory(sizeof(ProcessShared), true);
        write_magic(memory);
        Started started = start(memory);
        assert_ok(greet(&started, &hello, sizeof hello));
        for (uint32_t i = 0; i < channels; i++)
            assert_int_equal(send(started.socket, &i, sizeof i, MSG_NOSIGNAL), sizeof i);
        assert_int_equal(end(&started), 0);
    }
}

static void test_process_server_ends_with_a_parent_that_talks_nonsense(void **state) {
    (void)state;
    const ProcessHello hello = good_hello();
    static const uint32_t indices[] = {PROCESS_CHANNELS_MAX, UINT32_MAX};
    for (size_t i = 0; i < sizeof indices / sizeof indices[0]; i++) {
        int memory = make_memory(sizeof(ProcessShared), true);
        write_magic(memory);
        Started started = start(memory);
        assert_ok(greet(&started, &hello, sizeof hello));
        (void)send(started.socket, &indices[i], sizeof indices[i], MSG_NOSIGNAL);
        assert_int_equal(end(&started), EXIT_FAILED);
    }
    int memory = make_memory(sizeof(ProcessShared), true); /* and in a ring */
    write_magic(memory);
    const uint64_t written = 8;
    const uint32_t channel = 5;
    off_t at = (off_t)(offsetof(ProcessShared, channels) + channel * sizeof(ProcessChannelShared) +
                       offsetof(ProcessChannelShared, commands.written));
    assert_int_equal(pwrite(memory, &written, sizeof written, at), sizeof written);
    Started started = start(memory);
    assert_ok(greet(&started, &hello, sizeof hello));
    (void)send(started.socket, &channel, sizeof channel, MSG_NOSIGNAL);
    uint8_t byte;
    assert_int_equal(recv(started.socket, &byte, 1, 0), 0); /* it ends by itself */
    assert_int_equal(end(&started), EXIT_FAILED);
}

int test_process_server(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_process_server_refuses_other_versions_naming_both),
        cmocka_unit_test(test_process_server_refuses_memory_of_another_size),
        cmocka_unit_test(test_process_server_is_for_nobody_else),
        cmocka_unit_test(test_process_server_ends_with_its_socket),
        cmocka_unit_test(test_process_server_ends_with_a_parent_that_talks_nonsense),
    };
    return cmocka_run_group_tests_name("process_server", tests, NULL, NULL);
}
