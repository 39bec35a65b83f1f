#include "kernels/process/process_child.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/allocator.h"
#include "base/thread.h"
#include "kernels/process/process_memory.h"

enum { GRACE_S = 2, LAST_SIGNAL = 31, FIRST_FREE = 16, PROGRAM_MAX = 4096 };

extern char **environ;

typedef enum ChildState { CHILD_STARTING, CHILD_RUNS, CHILD_FAILED, CHILD_ENDED } ChildState;

struct ProcessChild {
    ProcessChildOptions options;
    int socket, its_socket; /* -1: none */
    pthread_t thread;
    bool thread_runs;
    pthread_mutex_t mutex; /* guards the members below */
    pthread_cond_t changed;
    ChildState state;
    pid_t pid;    /* valid until waitpid, after which the system may reuse it */
    int status;   /* by waitpid, after the end */
    Error *error; /* the reason why the program could not be started */
};

/* ---- starting ---- */

static bool is_layover(const char *path) {
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    /* after an update the kernel appends " (deleted)" to the name */
    return strcmp(name, "layover") == 0 || strcmp(name, "layover (deleted)") == 0;
}

static const char *find_program(void) {
    char self[PROGRAM_MAX];
    const char *named = getenv("LAYOVER_WORKER");
    if (named && *named) return named;
    ssize_t size = readlink("/proc/self/exe", self, sizeof self - 1);
    if (size <= 0) return "layover";
    self[size] = 0;
    return is_layover(self) ? "/proc/self/exe" : "layover";
}

/* The child keeps standard error, the memory and the socket; all other descriptors are closed. */
static int fill_actions(const ProcessChild *child, posix_spawn_file_actions_t *actions) {
    /* the memory first: its descriptor may have a number that the next actions overwrite */
    int number = posix_spawn_file_actions_adddup2(actions, child->options.memory, PROCESS_MEMORY);
    if (!number) number = posix_spawn_file_actions_addopen(actions, 0, "/dev/null", O_RDONLY, 0);
    if (!number) number = posix_spawn_file_actions_addopen(actions, 1, "/dev/null", O_WRONLY, 0);
    if (!number)
        number = posix_spawn_file_actions_adddup2(actions, child->its_socket, PROCESS_SOCKET);
    if (!number) number = posix_spawn_file_actions_addclosefrom_np(actions, PROCESS_MEMORY + 1);
    return number;
}

/* Gives the child a session of its own and blocks these signals: the parent decides what a
 * terminal's signal, or one that a service manager sends to all processes of a unit, means for the
 * child. */
static int fill_attributes(posix_spawnattr_t *attributes) {
    static const int held[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGTSTP};
    sigset_t mask, all;
    (void)sigemptyset(&mask);
    for (size_t i = 0; i < sizeof held / sizeof held[0]; i++) (void)sigaddset(&mask, held[i]);
    (void)sigemptyset(&all);
    for (int i = 1; i <= LAST_SIGNAL; i++)
        if (i != SIGKILL && i != SIGSTOP) (void)sigaddset(&all, i);
    int number = posix_spawnattr_setsigmask(attributes, &mask);
    if (!number) number = posix_spawnattr_setsigdefault(attributes, &all);
    if (!number)
        number = posix_spawnattr_setflags(
            attributes, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    return number;
}

static Error *spawn(const ProcessChild *child, pid_t *out_pid) {
    const char *program = find_program();
    const char *const arguments[] = {"layover", child->options.verb, child->options.spec, NULL};
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    if (posix_spawn_file_actions_init(&actions)) FAIL(OUT_OF_MEMORY, "no memory for a worker");
    if (posix_spawnattr_init(&attributes)) {
        (void)posix_spawn_file_actions_destroy(&actions);
        FAIL(OUT_OF_MEMORY, "no memory for a worker");
    }
    int number = fill_actions(child, &actions);
    if (!number) number = fill_attributes(&attributes);
    if (!number)
        number = posix_spawnp(
            out_pid, program, &actions, &attributes, (char *const *)(uintptr_t)arguments, environ);
    (void)posix_spawnattr_destroy(&attributes);
    (void)posix_spawn_file_actions_destroy(&actions);
    if (number)
        FAIL(UNSUPPORTED,
            "its worker process \"%s\" cannot be started: %s (LAYOVER_WORKER names the program)",
            program, strerror(number));
    return NULL;
}

/* ---- the thread ---- */

static void set_state(ProcessChild *child, ChildState state) {
    child->state = state;
    (void)pthread_cond_broadcast(&child->changed);
}

/* waitid leaves the child's id reserved. waitpid frees the id under the mutex, so that no other
 * thread sends a signal to a reused id. */
static void wait_for_end(ProcessChild *child) {
    siginfo_t info;
    while (waitid(P_PID, (id_t)child->pid, &info, WEXITED | WNOWAIT) != 0 && errno == EINTR)
        continue;
    (void)pthread_mutex_lock(&child->mutex);
    while (waitpid(child->pid, &child->status, 0) < 0 && errno == EINTR) continue;
    set_state(child, CHILD_ENDED);
    (void)pthread_mutex_unlock(&child->mutex);
}

static void *thread_main(void *argument) {
    ProcessChild *child = argument;
    pid_t pid = 0;
    Error *error = spawn(child, &pid);
    (void)pthread_mutex_lock(&child->mutex);
    (void)close(child->its_socket);
    child->its_socket = -1;
    child->pid = pid;
    child->error = error;
    set_state(child, error ? CHILD_FAILED : CHILD_RUNS);
    (void)pthread_mutex_unlock(&child->mutex);
    if (error) return NULL;
    wait_for_end(child);
    child->options.gone(child->options.context);
    return NULL;
}

/* ---- life ---- */

static Error *open_sockets(ProcessChild *child) {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
        FAIL(IO, "no socket to a worker process: %s", strerror(errno));
    child->socket = ends[0];
    /* moved above the descriptors that the worker gets */
    child->its_socket = fcntl(ends[1], F_DUPFD_CLOEXEC, FIRST_FREE);
    (void)close(ends[1]);
    if (child->its_socket < 0) FAIL(IO, "no socket to a worker process: %s", strerror(errno));
    return NULL;
}

static Error *start_thread(ProcessChild *child) {
    if (!thread_start(&child->thread, "device-worker", thread_main, child))
        FAIL(OUT_OF_MEMORY, "the system gives no more threads");
    child->thread_runs = true;
    (void)pthread_mutex_lock(&child->mutex);
    while (child->state == CHILD_STARTING) (void)pthread_cond_wait(&child->changed, &child->mutex);
    Error *error = TAKE(child->error);
    (void)pthread_mutex_unlock(&child->mutex);
    return error;
}

Error *process_child_start(const ProcessChildOptions *options, ProcessChild **out) {
    void *memory;
    TRY(memory_alloc(1, sizeof(ProcessChild), &memory));
    OWN(ProcessChild, child) = memory;
    child->options = *options;
    child->socket = child->its_socket = -1;
    thread_condition_init(&child->changed);
    (void)pthread_mutex_init(&child->mutex, NULL);
    TRY(open_sockets(child));
    TRY(start_thread(child));
    child->options.verb = child->options.spec = NULL; /* the caller's */
    *out = TAKE(child);
    return NULL;
}

int process_child_socket(const ProcessChild *child) { return child->socket; }

void process_child_kill(ProcessChild *child) {
    (void)pthread_mutex_lock(&child->mutex);
    if (child->state == CHILD_RUNS) (void)kill(child->pid, SIGKILL);
    (void)pthread_mutex_unlock(&child->mutex);
}

void process_child_describe(ProcessChild *child, TextBuilder *out) {
    (void)pthread_mutex_lock(&child->mutex);
    int status = child->status;
    bool ended = child->state == CHILD_ENDED;
    (void)pthread_mutex_unlock(&child->mutex);
    if (!ended) return;
    if (WIFSIGNALED(status))
        text_appendf(out, "was ended by signal %d", WTERMSIG(status));
    else
        text_appendf(out, "ended with exit code %d", WEXITSTATUS(status));
}

bool process_child_wait(ProcessChild *child) {
    struct timespec until;
    (void)clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += GRACE_S;
    (void)pthread_mutex_lock(&child->mutex);
    while (child->state == CHILD_RUNS)
        if (pthread_cond_timedwait(&child->changed, &child->mutex, &until) != 0) break;
    bool ended = child->state == CHILD_ENDED;
    (void)pthread_mutex_unlock(&child->mutex);
    return ended;
}

void process_child_end(ProcessChild *child) {
    if (!child) return;
    if (child->socket >= 0) (void)shutdown(child->socket, SHUT_RDWR);
    if (child->thread_runs) {
        (void)process_child_wait(child);
        process_child_kill(child);
        (void)pthread_join(child->thread, NULL);
    }
    if (child->socket >= 0) (void)close(child->socket);
    if (child->its_socket >= 0) (void)close(child->its_socket);
    (void)pthread_cond_destroy(&child->changed);
    (void)pthread_mutex_destroy(&child->mutex);
    error_free(child->error);
    memory_free(child);
}
