/* bench_http LAYOVER FOLDER [SECONDS]: a daemon as its clients see it, over its unix socket: from
 * submission to the first instruction, tiny durable jobs a second, what 10,000 queued jobs cost,
 * and the daemon's share of the time of an inference request. With 0 seconds the requests alone.
 *
 * The clients are plain sockets on kept connections in this process, so that what is measured is
 * the daemon and not a client library. */
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/allocator.h"
#include "base/bytes.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/text.h"
#include "bench/bench_connection.h"
#include "bench/bench_npz.h"

enum {
    CONNECTIONS = 32,
    ARRIVALS = 300,
    REQUESTS = 20000,
    GROUP = 100, /* requests; a part of REQUESTS */
    TENANTS = 1000,
    QUEUED = 10000,
    LISTINGS = 9,
    PATH_SIZE = 512,
};

extern char **environ;

static const char program[] =
    "primitive %add = Add\n"
    "function main(a: float32[4]) -> (y: float32[4]) exported last_uses {\n"
    "    InvokePacked %add r0, r0 -> r1\n"
    "    Ret r1\n"
    "}\n";

typedef struct Bench {
    const char *layover;
    char home[PATH_SIZE], socket[PATH_SIZE + 16];
    uint8_t *inputs;
    size_t inputs_size;
    double seconds;
    pid_t daemon;
} Bench;

static double now(void) { return (double)clock_now_ns(clock_real()) * 1e-9; }
static double calendar_now(void) { return clock_real().calendar_s(clock_real().self); }

/* The value of a field that is a text or a number, up to its end. */
static bool find_field(
    const BenchConnection *connection, const char *name, char *out, size_t size) {
    char key[64];
    (void)snprintf(key, sizeof key, "\"%s\":", name);
    const char *at = strstr(connection->body, key);
    if (!at) return false;
    at += strlen(key) + strspn(at + strlen(key), " \"");
    size_t length = strcspn(at, "\",}");
    if (length >= size) length = size - 1;
    memcpy(out, at, length);
    out[length] = 0;
    return true;
}

static Error *submit(
    const Bench *bench, BenchConnection *connection, const char *query, char out_job[64]) {
    static const char head[] = "--b\r\nContent-Disposition: form-data; name=\"policy\"\r\n"
                               "Content-Type: application/json\r\n\r\n{\"model\":\"m\"}\r\n"
                               "--b\r\nContent-Disposition: form-data; name=\"inputs\"\r\n"
                               "Content-Type: application/octet-stream\r\n\r\n";
    static const char tail[] = "\r\n--b--\r\n";
    char target[128];
    ByteWriter OWN_BYTES(body) = {0};
    byte_write_bytes(&body, head, sizeof head - 1);
    byte_write_bytes(&body, bench->inputs, bench->inputs_size);
    byte_write_bytes(&body, tail, sizeof tail - 1);
    TRY(byte_writer_check(&body));
    (void)snprintf(target, sizeof target, "/v1/jobs%s", query);
    TRY(bench_connection_call(
        connection, "POST", target, "multipart/form-data; boundary=b", body.data, body.size));
    if (!find_field(connection, "job", out_job, 64)) FAIL(CORRUPT, "an answer without a job");
    return NULL;
}

static void pause_us(long us) {
    const struct timespec pause = {.tv_nsec = us * 1000};
    (void)nanosleep(&pause, NULL);
}

static Error *wait_for_end(BenchConnection *connection, const char *job) {
    char target[96], state[32] = "";
    (void)snprintf(target, sizeof target, "/v1/jobs/%s", job);
    while (strcmp(state, "succeeded") != 0) {
        TRY(bench_connection_get(connection, target));
        if (!find_field(connection, "state", state, sizeof state)) FAIL(CORRUPT, "no state");
        if (strcmp(state, "failed") == 0) FAIL(INTERNAL, "job %s failed", job);
        pause_us(300);
    }
    return NULL;
}

/* ---- waiting ---- */

static int compare(const void *a, const void *b) {
    double left = *(const double *)a, right = *(const double *)b;
    return left < right ? -1 : left > right;
}

static void print_times(const char *what, double *times, size_t count) {
    qsort(times, count, sizeof *times, compare);
    printf("  %-48s p50 %6.0f us, p99 %6.0f us\n", what, times[count / 2] * 1e6,
        times[count * 99 / 100] * 1e6);
}

/* The daemon says when the first instruction ran, by the calendar's clock. */
static Error *measure_start(const Bench *bench) {
    static double accepted[ARRIVALS], started[ARRIVALS];
    BenchConnection OWN_CONNECTION(connection);
    TRY(bench_connection_open(bench->socket, &connection));
    for (size_t i = 0; i < ARRIVALS; i++) {
        char job[64], target[96], text[64] = "";
        double begin = calendar_now();
        TRY(submit(bench, &connection, "", job));
        accepted[i] = calendar_now() - begin;
        TRY(wait_for_end(&connection, job));
        (void)snprintf(target, sizeof target, "/v1/jobs/%s", job);
        TRY(bench_connection_get(&connection, target));
        if (!find_field(&connection, "started", text, sizeof text)) FAIL(CORRUPT, "no start");
        started[i] = strtod(text, NULL) - begin;
    }
    print_times("submitted to durable and answered, idle", accepted, ARRIVALS);
    print_times("submitted to running, idle", started, ARRIVALS);
    return NULL;
}

/* ---- inference requests ---- */

static const char infer_body[] = "{\"inputs\":[{\"name\":\"a\",\"shape\":[4],\"datatype\":\"FP32\","
                                 "\"data\":[1,2,3,4]}]}";

/* Answers every piece that comes with the same bytes, as a server without any work does. */
static void *echo_main(void *argument) {
    static const char answer[] = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}";
    const int socket = *(const int *)argument;
    char block[BENCH_HEAD_SIZE];
    while (recv(socket, block, sizeof block, 0) > 0)
        if (send(socket, answer, sizeof answer - 1, MSG_NOSIGNAL) < 0) break;
    return NULL;
}

/* The least median of a hundred requests in a row: of a moment when no other process had the cores.
 */
static double find_quiet(const double *times) {
    double least = times[0];
    for (size_t at = 0; at < REQUESTS; at += GROUP) {
        double group[GROUP];
        memcpy(group, times + at, sizeof group);
        qsort(group, GROUP, sizeof *group, compare);
        if (at == 0 || group[GROUP / 2] < least) least = group[GROUP / 2];
    }
    return least;
}

/* One send for each request, which clients of the protocol do, too. */
static Error *measure_requests(
    BenchConnection *connection, const char *what, const char *first_line, const char *body) {
    static double times[REQUESTS];
    char request[BENCH_HEAD_SIZE];
    int status;
    const int size = snprintf(request, sizeof request,
        "%s HTTP/1.1\r\nHost: layover\r\nContent-Length: %zu\r\n\r\n%s", first_line, strlen(body),
        body);
    for (size_t i = 0; i < REQUESTS; i++) {
        const double begin = now();
        TRY(bench_connection_send(connection, request, (size_t)size));
        TRY(bench_connection_receive(connection, &status));
        times[i] = now() - begin;
        if (status != 200) FAIL(INVALID, "%s: %d: %.200s", what, status, connection->body);
    }
    const double quiet = find_quiet(times);
    print_times(what, times, REQUESTS);
    printf("  %-48s p50 %6.1f us\n", "  in the quietest hundred", quiet * 1e6);
    return NULL;
}

/* The daemon's share is the difference to the server without any work. */
static Error *measure_inference(const Bench *bench) {
    static const char infer[] = "POST /v2/models/m/infer", model[] = "GET /v2/models/m",
                      live[] = "GET /v2/health/live";
    BenchConnection OWN_CONNECTION(connection), OWN_CONNECTION(bare);
    int ends[2];
    pthread_t echo;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) FAIL(IO, "socketpair");
    bare.socket = ends[0];
    if (pthread_create(&echo, NULL, echo_main, &ends[1]) != 0) exit(1);
    TRY(measure_requests(&bare, "a request to a server without any work", infer, infer_body));
    (void)shutdown(ends[0], SHUT_RDWR);
    (void)pthread_join(echo, NULL);
    (void)close(ends[1]);
    TRY(bench_connection_open(bench->socket, &connection));
    TRY(measure_requests(&connection, "answered by the thread that moves bytes", live, ""));
    TRY(measure_requests(&connection, "answered by a handler", model, ""));
    return measure_requests(&connection, "an inference request", infer, infer_body);
}

/* ---- tiny jobs ---- */

typedef struct Client {
    const Bench *bench;
    double end;
    size_t count;
    char last[64];
    Error *error;
} Client;

static Error *run_client(Client *client) {
    BenchConnection OWN_CONNECTION(connection);
    TRY(bench_connection_open(client->bench->socket, &connection));
    for (; now() < client->end; client->count++)
        TRY(submit(client->bench, &connection, "", client->last));
    return client->count ? wait_for_end(&connection, client->last) : NULL;
}

static void *client_main(void *argument) {
    Client *client = argument;
    client->error = run_client(client);
    return NULL;
}

static double daemon_cpu_seconds(const Bench *bench) {
    char path[64], line[1024] = "";
    unsigned long user = 0, system = 0;
    (void)snprintf(path, sizeof path, "/proc/%d/stat", (int)bench->daemon);
    FILE *file = fopen(path, "re");
    if (file && fgets(line, sizeof line, file)) {
        const char *at = strrchr(line, ')'); /* the name may hold anything */
        if (at)
            (void)sscanf(
                at, ") %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user, &system);
    }
    if (file) (void)fclose(file);
    return (double)(user + system) / (double)sysconf(_SC_CLK_TCK);
}

static Error *measure_tiny(const Bench *bench) {
    static Client clients[CONNECTIONS];
    pthread_t threads[CONNECTIONS];
    double start = now(), cpu = daemon_cpu_seconds(bench);
    size_t count = 0;
    Error *error = NULL;
    for (int i = 0; i < CONNECTIONS; i++) {
        clients[i] = (Client){.bench = bench, .end = start + bench->seconds};
        if (pthread_create(&threads[i], NULL, client_main, &clients[i]) != 0) exit(1);
    }
    for (int i = 0; i < CONNECTIONS; i++) {
        (void)pthread_join(threads[i], NULL);
        count += clients[i].count;
        if (error)
            error_free(clients[i].error);
        else
            error = clients[i].error;
    }
    if (error) return error;
    printf("  tiny jobs, durable, submitted to stored end          %6.0f a second; the daemon used "
           "%.0f us of processor time for each\n",
        (double)count / (now() - start), (daemon_cpu_seconds(bench) - cpu) * 1e6 / (double)count);
    return NULL;
}

/* ---- queued jobs ---- */

static double daemon_memory(const Bench *bench) {
    char path[64];
    unsigned long total = 0, resident = 0;
    (void)snprintf(path, sizeof path, "/proc/%d/statm", (int)bench->daemon);
    FILE *file = fopen(path, "re");
    if (file && fscanf(file, "%lu %lu", &total, &resident) != 2) resident = 0;
    if (file) (void)fclose(file);
    return (double)resident * (double)sysconf(_SC_PAGESIZE);
}

/* A tenant whose jobs wait for ever, with the model. */
static Error *add_tenant(BenchConnection *connection, const char *name) {
    char body[160], target[96];
    int size =
        snprintf(body, sizeof body, "{\"tenant\":\"%s\",\"quotas\":{\"running_jobs\":0}}", name);
    TRY(bench_connection_call(
        connection, "POST", "/v1/tenants", "application/json", body, (size_t)size));
    (void)snprintf(target, sizeof target, "/v1/models/m?format=lva&tenant=%s", name);
    return bench_connection_call(
        connection, "POST", target, "application/octet-stream", program, strlen(program));
}

static Error *measure_listing(BenchConnection *connection, const char *tenant, const char *what) {
    double times[LISTINGS];
    char target[96];
    (void)snprintf(target, sizeof target, "/v1/jobs?tenant=%s", tenant);
    for (size_t i = 0; i < LISTINGS; i++) {
        double start = now();
        TRY(bench_connection_get(connection, target));
        times[i] = now() - start;
    }
    qsort(times, LISTINGS, sizeof *times, compare);
    printf("  %-48s %6.1f ms, %zu bytes\n", what, times[LISTINGS / 2] * 1e3, connection->body_size);
    return NULL;
}

static Error *submit_to_tenants(
    const Bench *bench, BenchConnection *connection, size_t tenants, double *out_bytes) {
    char query[64], job[64];
    double before = daemon_memory(bench);
    for (size_t i = 0; i < QUEUED; i++) {
        (void)snprintf(
            query, sizeof query, tenants > 1 ? "?tenant=t%zu" : "?tenant=one", i % tenants);
        TRY(submit(bench, connection, query, job));
    }
    *out_bytes = (daemon_memory(bench) - before) / QUEUED;
    return NULL;
}

static Error *measure_queue(const Bench *bench) {
    BenchConnection OWN_CONNECTION(connection);
    double bytes;
    TRY(bench_connection_open(bench->socket, &connection));
    TRY(add_tenant(&connection, "one"));
    for (size_t i = 0; i < TENANTS; i++) {
        char name[16];
        (void)snprintf(name, sizeof name, "t%zu", i);
        TRY(add_tenant(&connection, name));
    }
    TRY(submit_to_tenants(bench, &connection, TENANTS, &bytes));
    printf("  %d queued jobs of %d tenants: memory                %6.0f bytes a job\n", QUEUED,
        TENANTS, bytes);
    TRY(measure_listing(&connection, "t5", "jobs of one of these tenants, listed in"));
    TRY(submit_to_tenants(bench, &connection, 1, &bytes));
    printf(
        "  %d more of one tenant: memory                       %6.0f bytes a job\n", QUEUED, bytes);
    return measure_listing(&connection, "one", "10,000 jobs of one tenant, listed in");
}

/* ---- set-up ---- */

static Error *spawn(const Bench *bench, const char *const *arguments, int output, pid_t *out_pid) {
    posix_spawn_file_actions_t actions;
    (void)posix_spawn_file_actions_init(&actions);
    if (output >= 0) (void)posix_spawn_file_actions_adddup2(&actions, output, 1);
    int number = posix_spawn(
        out_pid, bench->layover, &actions, NULL, (char *const *)(uintptr_t)arguments, environ);
    (void)posix_spawn_file_actions_destroy(&actions);
    if (number) FAIL(IO, "%s: %s", bench->layover, strerror(number));
    return NULL;
}

/* Until it says that it is ready. */
static Error *start_daemon(Bench *bench) {
    const char *arguments[] = {bench->layover, "--home", bench->home, "--json", "serve", NULL};
    int ends[2];
    char line[512];
    if (pipe(ends) != 0) FAIL(IO, "pipe: %s", strerror(errno));
    TRY(spawn(bench, arguments, ends[1], &bench->daemon));
    (void)close(ends[1]);
    FILE *file = fdopen(ends[0], "r");
    bool ready = file && fgets(line, sizeof line, file);
    if (file) (void)fclose(file);
    if (!ready) FAIL(UNREACHABLE, "the daemon does not start");
    return NULL;
}

static void stop_daemon(const Bench *bench) {
    if (bench->daemon <= 0) return;
    (void)kill(bench->daemon, SIGKILL);
    (void)waitpid(bench->daemon, NULL, 0);
}

static Error *make_inputs(Bench *bench, const char *folder) {
    int64_t count = 4;
    Shape shape = shape_make(1, &count);
    return bench_npz_make(folder, &shape, &bench->inputs, &bench->inputs_size);
}

static Error *run(Bench *bench, const char *folder) {
    BenchConnection OWN_CONNECTION(connection);
    TRY(make_inputs(bench, folder));
    TRY(start_daemon(bench));
    TRY(bench_connection_open(bench->socket, &connection));
    TRY(bench_connection_call(&connection, "POST", "/v1/models/m?format=lva",
        "application/octet-stream", program, strlen(program)));
    TRY(measure_inference(bench));
    if (bench->seconds == 0) return NULL;
    TRY(measure_start(bench));
    TRY(measure_tiny(bench));
    return measure_queue(bench);
}

int main(int argc, char **argv) {
    uint64_t seconds = 5;
    if (argc < 3 || (argc > 3 && !text_parse_u64(argv[3], &seconds))) {
        (void)fprintf(stderr, "usage: bench_http LAYOVER FOLDER [SECONDS]\n");
        return 2;
    }
    (void)setvbuf(stdout, NULL, _IOLBF, 0);
    Bench bench = {.layover = argv[1], .seconds = (double)seconds};
    (void)snprintf(bench.home, sizeof bench.home, "%s/home", argv[2]);
    (void)snprintf(bench.socket, sizeof bench.socket, "%s/socket", bench.home);
    Error *error = run(&bench, argv[2]);
    if (error) (void)fprintf(stderr, "bench_http: %s\n", error_message(error));
    int code = error ? 1 : 0;
    error_free(error);
    stop_daemon(&bench);
    memory_unmap(bench.inputs, bench.inputs_size);
    return code;
}
