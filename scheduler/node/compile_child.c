#include "scheduler/node/compile_child.h"

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

/* The child's output: its result and its messages, descriptors 1 and 2 there. */
enum { RESULT, MESSAGES, STREAM_COUNT };

enum { NUMBER_SIZE = 24, ARGUMENTS_MAX = 20, FIRST_CLOSED = 3, LAST_SIGNAL = 31 };

typedef struct Running {
    pid_t pid;
    int streams[STREAM_COUNT]; /* the ends that are read here; -1: closed */
    char text[COMPILE_CHILD_MESSAGE_MAX + 1];
    size_t size;
    TextBuilder result;
} Running;

/* Pipes; of each, the end of index 1 is the child's. */
typedef int Pipes[STREAM_COUNT][2];

static Error *fill_actions(
    const CompileChild *child, Pipes pipes, posix_spawn_file_actions_t *actions) {
    int number = posix_spawn_file_actions_addopen(actions, 0, "/dev/null", O_RDONLY, 0);
    for (int i = 0; !number && i < STREAM_COUNT; i++)
        number = posix_spawn_file_actions_adddup2(actions, pipes[i][1], i + 1);
    if (!number) number = posix_spawn_file_actions_addchdir_np(actions, child->folder);
    if (!number) number = posix_spawn_file_actions_addclosefrom_np(actions, FIRST_CLOSED);
    if (number) FAIL(IO, "the compiler cannot be prepared: %s", strerror(number));
    return NULL;
}

/* Gives the child a session of its own, so that it gets no signal of a terminal, and none of our
 * handlers or masks. */
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

static Error *spawn(const CompileChild *child, uint32_t limit_s, Pipes pipes, pid_t *out_pid) {
    char memory[NUMBER_SIZE], data[NUMBER_SIZE], seconds[NUMBER_SIZE], files[NUMBER_SIZE];
    /* a sanitizer reserves terabytes of address space, so that a limit means nothing */
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
        "MALLOC_ARENA_MAX=2", /* each thread's arena reserves address space, which is limited */
        SANITIZED ? "ASAN_OPTIONS=detect_leaks=0" : NULL, NULL};
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    if (posix_spawn_file_actions_init(&actions)) FAIL(OUT_OF_MEMORY, "no memory for a compiler");
    if (posix_spawnattr_init(&attributes)) {
        (void)posix_spawn_file_actions_destroy(&actions);
        FAIL(OUT_OF_MEMORY, "no memory for a compiler");
    }
    Error *error = fill_actions(child, pipes, &actions);
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

static void keep(Running *running, int stream, const char *data, size_t size) {
    if (stream == RESULT) {
        if (running->result.size + size <= COMPILE_CHILD_RESULT_MAX)
            text_append_bytes(&running->result, data, size);
        return;
    }
    const size_t left = sizeof running->text - 1 - running->size;
    if (size > left) size = left;
    memcpy(running->text + running->size, data, size);
    running->size += size;
}

static void read_stream(Running *running, int stream) {
    char data[4096];
    const ssize_t got = read(running->streams[stream], data, sizeof data);
    if (got > 0) keep(running, stream, data, (size_t)got);
    if (got > 0 || (got < 0 && errno == EINTR)) return;
    (void)close(running->streams[stream]);
    running->streams[stream] = -1;
}

/* Reads the child's output until its end (false) or until the time is over (true). Output beyond
 * the limits is read and dropped. */
static bool listen_to(Running *running, uint64_t deadline_ns) {
    while (running->streams[RESULT] >= 0 || running->streams[MESSAGES] >= 0) {
        uint64_t now = clock_now_ns(clock_real());
        struct pollfd items[STREAM_COUNT];
        if (now >= deadline_ns) return true;
        for (int i = 0; i < STREAM_COUNT; i++)
            items[i] = (struct pollfd){.fd = running->streams[i], .events = POLLIN};
        int ready = poll(items, STREAM_COUNT, (int)((deadline_ns - now) / 1000000) + 1);
        if (ready < 0 && errno != EINTR) return true;
        for (int i = 0; ready > 0 && i < STREAM_COUNT; i++)
            if (items[i].revents) read_stream(running, i);
    }
    return false;
}

/* The child read an untrusted file: its output is not trusted either. */
static void add_warning(TextBuilder *warnings, const char *text) {
    size_t size = strnlen(text, COMPILE_CHILD_WARNING_SIZE);
    while (size > 0 && size < strlen(text) && (text[size] & 0xc0) == 0x80) size--;
    for (size_t i = 0; i < size; i++) {
        const bool control = (unsigned char)text[i] < ' ' || text[i] == 0x7f;
        text_append_bytes(warnings, control ? " " : &text[i], 1);
    }
    text_append(warnings, "\n");
}

/* Output that is no JSON, or too long, has no warnings: only the executable matters. */
static Error *read_warnings(const CompileChild *child, const Running *running) {
    json_object *array;
    if (!child->warnings || running->result.size == 0) return NULL;
    TRY(text_builder_check(&running->result));
    json_object *result = json_tokener_parse(text_builder_get(&running->result));
    const bool found = json_object_object_get_ex(result, "warnings", &array) &&
                       json_object_is_type(array, json_type_array);
    const size_t count = found ? json_object_array_length(array) : 0;
    for (size_t i = 0; i < count && i < COMPILE_CHILD_WARNINGS_MAX; i++) {
        json_object *line = json_object_array_get_idx(array, i);
        if (json_object_is_type(line, json_type_string))
            add_warning(child->warnings, json_object_get_string(line));
    }
    json_object_put(result);
    return text_builder_check(child->warnings);
}

/* The error that the child printed as JSON in its last line. NULL: none. */
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
        /* the child's memory is limited, not ours; and the model is the user's file, not the
         * system's */
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

static void close_pipes(Pipes pipes, int end) {
    for (int i = 0; i < STREAM_COUNT; i++) {
        if (pipes[i][end] >= 0) (void)close(pipes[i][end]);
        pipes[i][end] = -1;
    }
}

static Error *open_pipes(Pipes pipes) {
    for (int i = 0; i < STREAM_COUNT; i++) {
        if (pipe2(pipes[i], O_CLOEXEC) == 0) continue;
        pipes[i][0] = pipes[i][1] = -1;
        FAIL(IO, "no pipe to a compiler: %s", strerror(errno));
    }
    return NULL;
}

static Error *run(const CompileChild *child, Pipes pipes, Running *running) {
    uint32_t limit_s = child->limit_s ? child->limit_s : COMPILE_CHILD_LIMIT_S;
    int status = 0;
    TRY(open_pipes(pipes));
    TRY(spawn(child, limit_s, pipes, &running->pid));
    close_pipes(pipes, 1);
    for (int i = 0; i < STREAM_COUNT; i++) {
        running->streams[i] = pipes[i][0];
        pipes[i][0] = -1;
    }
    uint64_t deadline_ns = clock_now_ns(clock_real()) + limit_s * SECOND_NS;
    bool late = listen_to(running, deadline_ns);
    if (late) (void)kill(running->pid, SIGKILL);
    while (waitpid(running->pid, &status, 0) < 0 && errno == EINTR) continue;
    for (int i = 0; i < STREAM_COUNT; i++)
        if (running->streams[i] >= 0) (void)close(running->streams[i]);
    TRY(judge(child, running, status, limit_s, late));
    return read_warnings(child, running);
}

Error *compile_child_run(const CompileChild *child) {
    Running running = {0};
    Pipes pipes = {{-1, -1}, {-1, -1}};
    Error *error = run(child, pipes, &running);
    close_pipes(pipes, 0);
    close_pipes(pipes, 1);
    text_builder_deinit(&running.result);
    return error;
}
