#include "scheduler/compile_child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <json-c/json_object.h>
#include <json-c/json_tokener.h>

#include "base/clock.h"
#include "base/sanitizers.h"
#include "base/text.h"

enum { SANITIZED = BUILT_WITH_ADDRESS_SANITIZER || BUILT_WITH_THREAD_SANITIZER };

enum { NUMBER_SIZE = 24, ARGUMENTS_MAX = 20, FIRST_CLOSED = 3, LAST_SIGNAL = 31 };

typedef struct Running {
    pid_t pid;
    int messages; /* its standard error */
    char text[COMPILE_CHILD_MESSAGE_MAX + 1];
    size_t size;
} Running;

static Error *fill_actions(
    const CompileChild *child, int messages, posix_spawn_file_actions_t *actions) {
    int number = posix_spawn_file_actions_addopen(actions, 0, "/dev/null", O_RDONLY, 0);
    if (!number) number = posix_spawn_file_actions_addopen(actions, 1, "/dev/null", O_WRONLY, 0);
    if (!number) number = posix_spawn_file_actions_adddup2(actions, messages, 2);
    if (!number) number = posix_spawn_file_actions_addchdir_np(actions, child->folder);
    if (!number) number = posix_spawn_file_actions_addclosefrom_np(actions, FIRST_CLOSED);
    if (number) FAIL(IO, "the compiler cannot be prepared: %s", strerror(number));
    return NULL;
}

/* Its own session, so that no signal of a terminal reaches it, and no handler or mask of ours. */
static Error *fill_attributes(posix_spawnattr_t *attributes) {
    sigset_t none, all;
    (void)sigemptyset(&none);
    (void)sigemptyset(&all);
    for (int i = 1; i <= LAST_SIGNAL; i++)
        if (i != SIGKILL && i != SIGSTOP) (void)sigaddset(&all, i);
    int number = posix_spawnattr_setsigmask(attributes, &none);
    if (!number) number = posix_spawnattr_setsigdefault(attributes, &all);
    if (!number)
        number = posix_spawnattr_setflags(
            attributes, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    if (number) FAIL(IO, "the compiler cannot be prepared: %s", strerror(number));
    return NULL;
}

static Error *spawn(const CompileChild *child, uint32_t limit_s, int messages, pid_t *out_pid) {
    char memory[NUMBER_SIZE], data[NUMBER_SIZE], seconds[NUMBER_SIZE], files[NUMBER_SIZE];
    /* address space means nothing to a sanitizer, which reserves terabytes of it */
    uint64_t bytes = SANITIZED ? 0 : child->memory_bytes;
    if (!SANITIZED && !bytes) bytes = COMPILE_CHILD_MEMORY_BYTES;
    (void)snprintf(memory, sizeof memory, "%llu", (unsigned long long)bytes);
    (void)snprintf(
        data, sizeof data, "%llu", (unsigned long long)(SANITIZED ? 0 : child->data_bytes));
    (void)snprintf(seconds, sizeof seconds, "%u", limit_s);
    (void)snprintf(files, sizeof files, "%llu", (unsigned long long)child->file_bytes);
    const char *arguments[ARGUMENTS_MAX] = {child->compiler, "--json", "compile", child->source,
        "-o", child->output, "--sandbox", "--memory-max", memory, "--data-max", data,
        "--seconds-max", seconds, "--file-max", files};
    size_t count = 15;
    if (child->format) {
        arguments[count++] = "--format";
        arguments[count++] = child->format;
    }
    if (child->precision) {
        arguments[count++] = "--precision";
        arguments[count++] = child->precision;
    }
    static const char *const environment[] = {"LC_ALL=C",
        "MALLOC_ARENA_MAX=2", /* each of a thread's reserves address space, which is limited */
        SANITIZED ? "ASAN_OPTIONS=detect_leaks=0" : NULL, NULL};
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    if (posix_spawn_file_actions_init(&actions)) FAIL(OUT_OF_MEMORY, "no memory for a compiler");
    if (posix_spawnattr_init(&attributes)) {
        (void)posix_spawn_file_actions_destroy(&actions);
        FAIL(OUT_OF_MEMORY, "no memory for a compiler");
    }
    Error *error = fill_actions(child, messages, &actions);
    if (!error) error = fill_attributes(&attributes);
    int number =
        error ? 0
              : posix_spawn(out_pid, child->compiler, &actions, &attributes,
                    (char *const *)(uintptr_t)arguments, (char *const *)(uintptr_t)environment);
    (void)posix_spawnattr_destroy(&attributes);
    (void)posix_spawn_file_actions_destroy(&actions);
    if (number)
        FAIL(IO, "the compiler %s cannot be started: %s", child->compiler, strerror(number));
    return error;
}

/* Reads what it says until it ends (false) or the time is over (true). What is too long is read and
 * forgotten. */
static bool listen_to(Running *running, uint64_t deadline_ns) {
    char rest[512];
    for (;;) {
        uint64_t now = clock_now_ns(clock_real());
        struct pollfd item = {.fd = running->messages, .events = POLLIN};
        if (now >= deadline_ns) return true;
        int ready = poll(&item, 1, (int)((deadline_ns - now) / 1000000) + 1);
        if (ready < 0 && errno != EINTR) return true;
        if (ready <= 0) continue;
        size_t left = sizeof running->text - 1 - running->size;
        ssize_t got = read(running->messages, left ? running->text + running->size : rest,
            left ? left : sizeof rest);
        if (got == 0 || (got < 0 && errno != EINTR)) return false;
        if (got > 0 && left) running->size += (size_t)got;
    }
}

/* The error that it printed as JSON in its last line. NULL: it printed none. */
static Error *read_error(Running *running) {
    json_object *outer = NULL, *inner, *code, *message;
    Error *error = NULL;
    running->text[running->size] = 0;
    while (running->size && running->text[running->size - 1] == '\n')
        running->text[--running->size] = 0;
    const char *line = strrchr(running->text, '\n');
    outer = json_tokener_parse(line ? line + 1 : running->text);
    if (json_object_object_get_ex(outer, "error", &inner) &&
        json_object_object_get_ex(inner, "code", &code) &&
        json_object_object_get_ex(inner, "message", &message)) {
        ErrorCode found = error_find_code(json_object_get_string(code));
        /* its memory is limited, not ours; and the model is the user's file, not the system's */
        if (found == ERROR_OUT_OF_MEMORY) found = ERROR_EXHAUSTED;
        if (found == ERROR_NONE || found == ERROR_USAGE || found == ERROR_NOT_FOUND)
            found = ERROR_INVALID;
        error = error_make(found, __FILE__, __LINE__, "%s", json_object_get_string(message));
    }
    json_object_put(outer);
    return error;
}

static Error *judge(
    const CompileChild *child, Running *running, int status, uint32_t limit_s, bool late) {
    if (late || (WIFSIGNALED(status) && WTERMSIG(status) == SIGXCPU))
        FAIL(FAILED, "%s: compiling took more than %u s, which is the limit here", child->source,
            limit_s);
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGXFSZ)
        FAIL(EXHAUSTED, "%s: the executable has more than %llu bytes, which is the limit here",
            child->source, (unsigned long long)child->file_bytes);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return NULL;
    Error *error = read_error(running);
    if (error) return error;
    FAIL(FAILED, "%s: the compiler ended by %s %d", child->source,
        WIFSIGNALED(status) ? "signal" : "exit code",
        WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
}

Error *compile_child_run(const CompileChild *child) {
    uint32_t limit_s = child->limit_s ? child->limit_s : COMPILE_CHILD_LIMIT_S;
    Running running = {0};
    int ends[2], status = 0;
    if (pipe2(ends, O_CLOEXEC) != 0) FAIL(IO, "no pipe to a compiler: %s", strerror(errno));
    running.messages = ends[0];
    Error *error = spawn(child, limit_s, ends[1], &running.pid);
    (void)close(ends[1]);
    if (error) {
        (void)close(ends[0]);
        return error;
    }
    uint64_t deadline_ns = clock_now_ns(clock_real()) + limit_s * SECOND_NS;
    bool late = listen_to(&running, deadline_ns);
    if (late) (void)kill(running.pid, SIGKILL);
    while (waitpid(running.pid, &status, 0) < 0 && errno == EINTR) continue;
    (void)close(ends[0]);
    return judge(child, &running, status, limit_s, late);
}
