/* bench_http LAYOVER FOLDER [SECONDS]: a daemon as its clients see it, over its unix socket: from
 * submission to the first instruction, tiny durable jobs a second, and what 10,000 queued jobs
 * cost.
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
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/allocator.h"
#include "base/bytes.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/text.h"
#include "bench/bench_npz.h"

enum {
    CONNECTIONS = 32,
    ARRIVALS = 300,
    TENANTS = 1000,
    QUEUED = 10000,
    LISTINGS = 9,
    HEAD_SIZE = 8 << 10,
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

/* An answer's body stays valid until the next call on its connection. */
typedef struct Connection {
    int socket;
    ByteWriter buffer; /* head and body */
    const char *body;
    size_t body_size;
} Connection;

static double now(void) { return (double)clock_now_ns(clock_real()) * 1e-9; }
static double calendar_now(void) { return clock_real().calendar_s(clock_real().self); }

/* ---- connections ---- */

static Error *connection_open(const Bench *bench, Connection *out) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    *out = (Connection){.socket = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    if (strlen(bench->socket) >= sizeof address.sun_path)
        FAIL(INVALID, "%s: too long for a socket", bench->socket);
    memcpy(address.sun_path, bench->socket, strlen(bench->socket) + 1);
    if (out->socket < 0 || connect(out->socket, (struct sockaddr *)&address, sizeof address) != 0)
        FAIL(UNREACHABLE, "%s: %s", bench->socket, strerror(errno));
    return NULL;
}

static void connection_close(Connection *connection) {
    if (connection->socket >= 0) (void)close(connection->socket);
    byte_writer_deinit(&connection->buffer);
}
#define OWN_CONNECTION(name) __attribute__((cleanup(connection_close))) name = {.socket = -1}

static Error *send_all(int socket, const void *data, size_t size) {
    for (const char *at = data; size > 0;) {
        ssize_t count = send(socket, at, size, MSG_NOSIGNAL);
        if (count < 0) FAIL(UNREACHABLE, "send: %s", strerror(errno));
        at += count;
        size -= (size_t)count;
    }
    return NULL;
}

static Error *receive_some(Connection *connection) {
    char block[16 << 10];
    ssize_t count = recv(connection->socket, block, sizeof block, 0);
    if (count <= 0) FAIL(UNREACHABLE, "the daemon closed the connection");
    byte_write_bytes(&connection->buffer, block, (size_t)count);
    return byte_writer_check(&connection->buffer);
}

/* The head's end, once it is there; it ends with a NUL then instead of the empty line. */
static size_t find_body(ByteWriter *buffer) {
    static const char end[] = "\r\n\r\n";
    uint8_t *at = buffer->size ? memmem(buffer->data, buffer->size, end, 4) : NULL;
    if (!at) return 0;
    *at = 0;
    return (size_t)(at - buffer->data) + 4;
}

static Error *receive_answer(Connection *connection, int *out_status) {
    size_t body = 0;
    uint64_t length;
    connection->buffer.size = 0;
    while (!(body = find_body(&connection->buffer))) TRY(receive_some(connection));
    const char *head = (const char *)connection->buffer.data;
    const char *field = strcasestr(head, "\r\ncontent-length: ");
    char digits[24] = {0};
    if (!field) FAIL(UNSUPPORTED, "an answer without Content-Length");
    (void)sscanf(field + 18, "%23[0-9]", digits);
    if (!text_parse_u64(digits, &length)) FAIL(CORRUPT, "Content-Length is no number");
    if (sscanf(head, "HTTP/1.1 %d", out_status) != 1) FAIL(CORRUPT, "no status");
    while (connection->buffer.size < body + length) TRY(receive_some(connection));
    byte_write_u8(&connection->buffer, 0);
    TRY(byte_writer_check(&connection->buffer));
    connection->body = (const char *)connection->buffer.data + body;
    connection->body_size = (size_t)length;
    return NULL;
}

static Error *call(Connection *connection, const char *method, const char *target, const char *type,
    const void *body, size_t size) {
    char head[HEAD_SIZE];
    int status;
    int length = snprintf(head, sizeof head,
        "%s %s HTTP/1.1\r\nHost: layover\r\nContent-Type: %s\r\nContent-Length: %zu\r\n\r\n",
        method, target, type, size);
    TRY(send_all(connection->socket, head, (size_t)length));
    if (size) TRY(send_all(connection->socket, body, size));
    TRY(receive_answer(connection, &status));
    if (status >= 300) FAIL(INVALID, "%s %s: %d: %.200s", method, target, status, connection->body);
    return NULL;
}

static Error *get(Connection *connection, const char *target) {
    return call(connection, "GET", target, "text/plain", NULL, 0);
}

/* The value of a field that is a text or a number, up to its end. */
static bool find_field(const Connection *connection, const char *name, char *out, size_t size) {
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
    const Bench *bench, Connection *connection, const char *query, char out_job[64]) {
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
    TRY(call(connection, "POST", target, "multipart/form-data; boundary=b", body.data, body.size));
    if (!find_field(connection, "job", out_job, 64)) FAIL(CORRUPT, "an answer without a job");
    return NULL;
}

static void pause_us(long us) {
    const struct timespec pause = {.tv_nsec = us * 1000};
    (void)nanosleep(&pause, NULL);
}

static Error *wait_for_end(Connection *connection, const char *job) {
    char target[96], state[32] = "";
    (void)snprintf(target, sizeof target, "/v1/jobs/%s", job);
    while (strcmp(state, "succeeded") != 0) {
        TRY(get(connection, target));
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
    Connection OWN_CONNECTION(connection);
    TRY(connection_open(bench, &connection));
    for (size_t i = 0; i < ARRIVALS; i++) {
        char job[64], target[96], text[64] = "";
        double begin = calendar_now();
        TRY(submit(bench, &connection, "", job));
        accepted[i] = calendar_now() - begin;
        TRY(wait_for_end(&connection, job));
        (void)snprintf(target, sizeof target, "/v1/jobs/%s", job);
        TRY(get(&connection, target));
        if (!find_field(&connection, "started", text, sizeof text)) FAIL(CORRUPT, "no start");
        started[i] = strtod(text, NULL) - begin;
    }
    print_times("submitted to durable and answered, idle", accepted, ARRIVALS);
    print_times("submitted to running, idle", started, ARRIVALS);
    return NULL;
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
    Connection OWN_CONNECTION(connection);
    TRY(connection_open(client->bench, &connection));
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
static Error *add_tenant(Connection *connection, const char *name) {
    char body[160], target[96];
    int size =
        snprintf(body, sizeof body, "{\"tenant\":\"%s\",\"quotas\":{\"running_jobs\":0}}", name);
    TRY(call(connection, "POST", "/v1/tenants", "application/json", body, (size_t)size));
    (void)snprintf(target, sizeof target, "/v1/models/m?format=lva&tenant=%s", name);
    return call(connection, "POST", target, "application/octet-stream", program, strlen(program));
}

static Error *measure_listing(Connection *connection, const char *tenant, const char *what) {
    double times[LISTINGS];
    char target[96];
    (void)snprintf(target, sizeof target, "/v1/jobs?tenant=%s", tenant);
    for (size_t i = 0; i < LISTINGS; i++) {
        double start = now();
        TRY(get(connection, target));
        times[i] = now() - start;
    }
    qsort(times, LISTINGS, sizeof *times, compare);
    printf("  %-48s %6.1f ms, %zu bytes\n", what, times[LISTINGS / 2] * 1e3, connection->body_size);
    return NULL;
}

static Error *submit_to_tenants(
    const Bench *bench, Connection *connection, size_t tenants, double *out_bytes) {
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
    Connection OWN_CONNECTION(connection);
    double bytes;
    TRY(connection_open(bench, &connection));
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
    Connection OWN_CONNECTION(connection);
    TRY(make_inputs(bench, folder));
    TRY(start_daemon(bench));
    TRY(connection_open(bench, &connection));
    TRY(call(&connection, "POST", "/v1/models/m?format=lva", "application/octet-stream", program,
        strlen(program)));
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
