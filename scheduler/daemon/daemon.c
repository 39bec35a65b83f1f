#include "scheduler/daemon/daemon.h"

#include <errno.h>
#include <limits.h>
#include <malloc.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/allocator.h"
#include "base/file.h"
#include "base/clock.h"
#include "scheduler/node/compile_memory.h"
#include "scheduler/daemon/daemon_metrics.h"
#include "scheduler/daemon/end_limit.h"
#include "scheduler/executor/cached_images.h"
#include "scheduler/http/client/daemon_record.h"
#include "scheduler/http/server/http_server.h"
#include "scheduler/http/client/server_key.h"
#include "scheduler/http/server/http_sessions.h"
#include "scheduler/http/server/store_accounts.h"
#include "scheduler/daemon/housekeeping.h"
#include "scheduler/service/job_service.h"
#include "scheduler/node/inference_statistics.h"
#include "scheduler/node/metrics.h"
#include "scheduler/migration/node_drain.h"
#include "scheduler/migration/node_hello.h"
#include "scheduler/node/upload_folder.h"
#include "store/jobs/node_identity.h"

enum { PATH_SIZE = 4096, PEM_SIZE_MAX = 1 << 20, CHECK_EVERY_MS = 1000, LARGE_BLOCK = 512 << 10 };

/* Time for closing everything, after the grace. */
static const uint64_t CLOSE_NS = 2 * SECOND_NS;

/* All parts of the daemon, in the order in which they are opened; closed in the opposite order. */
typedef struct Daemon {
    const DaemonOptions *options;
    char socket[PATH_SIZE], *uploads;
    Store *store;
    Catalog *catalog;
    SettingsCache *settings;
    WorkerPool *pool;
    Metrics *metrics;
    InferenceStatistics *inferences;
    DaemonMetrics sampled;
    WeightCache *weights; /* NULL: prepared weights are not kept */
    WeightImages images;
    Housekeeping *housekeeping;
    EventRecorder *recorder;
    JobService *jobs;
    Control *control;
    Migrations *migrations;
    NodeDrain *drain;
    MemoryBudget *compile_memory;
    HttpSessions *sessions;
    HttpService http;
    HttpServer *server;
    char *certificate, *key; /* PEM; NULL: no TLS */
    char fingerprint[SERVER_KEY_TEXT_SIZE];
    uint64_t node;
    bool recorded; /* the home says where we answer */
    int signals;
    EndLimit *limit; /* NULL: no end was asked for */
} Daemon;

static void daemon_close(Daemon *daemon) {
    if (daemon->recorded) daemon_record_remove(daemon->options->home);
    http_server_close(daemon->server);
    http_sessions_release(daemon->sessions);
    memory_budget_release(daemon->compile_memory);
    node_drain_release(daemon->drain);
    migrations_release(daemon->migrations);
    memory_free(daemon->certificate);
    if (daemon->key) explicit_bzero(daemon->key, strlen(daemon->key));
    memory_free(daemon->key);
    housekeeping_release(daemon->housekeeping);
    control_release(daemon->control);
    event_recorder_close(daemon->recorder);
    job_service_release(daemon->jobs);
    weight_cache_close(daemon->weights);
    inference_statistics_release(daemon->inferences);
    metrics_release(daemon->metrics);
    worker_pool_release(daemon->pool);
    settings_cache_release(daemon->settings);
    catalog_close(daemon->catalog);
    store_close(daemon->store);
    memory_free(daemon->uploads);
    if (daemon->signals >= 0) (void)close(daemon->signals);
    end_limit_release(daemon->limit);
}
#define OWN_DAEMON(name) __attribute__((cleanup(daemon_close))) name

/* Signals that end the daemon are read, not delivered; threads made from here on inherit that. */
static Error *open_signals(Daemon *daemon) {
    sigset_t set;
    (void)sigemptyset(&set);
    (void)sigaddset(&set, SIGTERM);
    (void)sigaddset(&set, SIGINT);
    (void)sigaddset(&set, SIGHUP);
    if (pthread_sigmask(SIG_BLOCK, &set, NULL) != 0)
        FAIL(IO, "cannot block signals: %s", strerror(errno));
    (void)signal(SIGPIPE, SIG_IGN); /* a client that went away is an error of a write */
    daemon->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    if (daemon->signals < 0) FAIL(IO, "cannot wait for signals: %s", strerror(errno));
    return NULL;
}

static Error *join(char *out, const char *folder, const char *name) {
    int length = snprintf(out, PATH_SIZE, "%s/%s", folder, name);
    if (length < 0 || length >= PATH_SIZE) FAIL(INVALID, "the path %s is too long", folder);
    return NULL;
}

static Error *open_paths(Daemon *daemon) {
    const DaemonOptions *options = daemon->options;
    TRY(upload_folder_open(options->home, &daemon->uploads));
    if (!options->socket) return join(daemon->socket, options->home, "socket");
    int length = snprintf(daemon->socket, PATH_SIZE, "%s", options->socket);
    if (length < 0 || length >= PATH_SIZE) FAIL(INVALID, "--socket: the path is too long");
    return NULL;
}

/* Makes the socket's path absolute, since readers of HOME/daemon or of serve's output may be in
 * another folder. If the whole path is too long for a socket's address, the given one stays, which
 * works from this folder alone. */
static void make_socket_absolute(Daemon *daemon) {
    char path[PATH_MAX];
    if (realpath(daemon->socket, path) && strlen(path) < sizeof((struct sockaddr_un *)0)->sun_path)
        memcpy(daemon->socket, path, strlen(path) + 1);
}

/* Makes sure that a copied home does not run its original's jobs a second time. */
static Error *claim_identity(Daemon *daemon) {
    Digest binding;
    NodeIdentity identity;
    TRY(node_identity_binding(daemon->store, &binding));
    TRY(node_identity_claim(daemon->store, &binding, &identity));
    daemon->node = identity.node;
    if (identity.is_copy)
        (void)fprintf(stderr,
            "layover: %s is a copy of another home, or was moved to another disk or machine; its "
            "%llu unfinished jobs are held: `layover resume JOB` runs one here, if it does not run "
            "there\n",
            daemon->options->home, (unsigned long long)identity.jobs_held);
    return NULL;
}

static void warn(void *context, const char *text) {
    (void)context;
    (void)fprintf(stderr, "layover: %s\n", text);
}

static Error *open_recorder(Daemon *daemon) {
    EventRecorderOptions options = {.path = daemon->options->event_log,
        .size_max = daemon->options->event_log_max,
        .metrics = daemon->metrics,
        .warn = warn};
    return options.path ? event_recorder_open(&options, &daemon->recorder) : NULL;
}

/* Opens the weight cache. Without it every activation decodes and packs: slow, but right. */
static void open_weights(Daemon *daemon) {
    const DaemonOptions *options = daemon->options;
    if (!options->weight_cache) return;
    Error *error = weight_cache_open(options->home, options->weight_cache_max, &daemon->weights);
    if (error)
        (void)fprintf(stderr, "layover: prepared weights are not kept: %s\n", error_message(error));
    else
        daemon->images = cached_images(daemon->weights);
    error_free(error);
}

static Error *open_jobs(Daemon *daemon) {
    const DaemonOptions *options = daemon->options;
    TRY(job_service_create(daemon->settings, daemon->catalog, daemon->pool, &daemon->jobs));
    ControlOptions control = {.store = daemon->store,
        .catalog = daemon->catalog,
        .settings = daemon->settings,
        .pool = daemon->pool,
        .images = daemon->weights ? &daemon->images : NULL,
        .native = options->native,
        .isolate = options->isolate,
        .device_count = options->device_count,
        .changed = job_service_changed,
        .listener = daemon->jobs,
        .warn = warn,
        .metrics = daemon->metrics,
        .recorder = daemon->recorder};
    memcpy(control.devices, options->devices, sizeof control.devices);
    TRY(control_create(&control, &daemon->control));
    job_service_set_control(daemon->jobs, daemon->control);
    daemon->sampled = (DaemonMetrics){
        .store = daemon->store, .control = daemon->control, .weights = daemon->weights};
    return metrics_add_source(daemon->metrics, daemon_metrics_source(&daemon->sampled));
}

static Error *open_migrations(Daemon *daemon) {
    const MigrationsOptions options = {
        .control = daemon->control, .own_node = daemon->node, .warn = warn};
    TRY(migrations_create(&options, &daemon->migrations));
    return node_drain_create(daemon->migrations, daemon->control, daemon->node, &daemon->drain);
}

static Error *settle(void *context) { return job_service_settle_verifications(context); }

static void look_after_removed(void *housekeeping) { housekeeping_wake(housekeeping); }

static Error *open_housekeeping(Daemon *daemon) {
    HousekeepingOptions options = {.store = daemon->store,
        .catalog = daemon->catalog,
        .weights = daemon->weights,
        .metrics = daemon->metrics,
        .clock = clock_real(),
        .settle = settle,
        .settle_context = daemon->jobs,
        .warn = warn};
    TRY(housekeeping_create(&options, &daemon->housekeeping));
    job_service_set_removed(daemon->jobs, look_after_removed, daemon->housekeeping);
    return housekeeping_start(daemon->housekeeping);
}

/* Reads a file's text and appends one more NUL. */
static Error *read_text(const char *path, char **out) {
    uint8_t *data;
    size_t size;
    void *memory;
    TRY(file_read(path, PEM_SIZE_MAX, &data, &size));
    Error *error = memory_alloc(size + 1, 1, &memory);
    if (!error && size) memcpy(memory, data, size);
    memory_unmap(data, size);
    if (!error) *out = memory;
    return error;
}

static Error *open_server(Daemon *daemon) {
    HttpServerOptions server = {
        .socket_path = daemon->socket, .listen_address = daemon->options->listen};
    if (daemon->options->tls_cert) {
        TRY_WRAP(read_text(daemon->options->tls_cert, &daemon->certificate), "--tls-cert");
        TRY_WRAP(read_text(daemon->options->tls_key, &daemon->key), "--tls-key");
        server.tls_certificate = daemon->certificate;
        server.tls_key = daemon->key;
    }
    TRY(compile_memory_create(&daemon->compile_memory));
    TRY(http_sessions_create(clock_real(), &daemon->sessions));
    daemon->http = (HttpService){.store = daemon->store,
        .catalog = daemon->catalog,
        .pool = daemon->pool,
        .accounts = store_accounts(daemon->settings),
        .sessions = daemon->sessions,
        .jobs = job_service_api(daemon->jobs),
        .migrations = daemon->migrations,
        .drain = daemon->drain,
        .metrics = daemon->metrics,
        .inferences = daemon->inferences,
        .upload_folder = daemon->uploads,
        .compiler = daemon->options->compiler,
        .compile_memory = daemon->compile_memory,
        .version = daemon->options->version,
        .node = daemon->node,
        .nodes = &node_calls_network};
    atomic_init(&daemon->http.ready, true);
    TRY(http_server_open(&daemon->http, &server, &daemon->server));
    make_socket_absolute(daemon);
    if (daemon->certificate)
        TRY_WRAP(server_key_of_certificate(daemon->certificate, daemon->fingerprint), "--tls-cert");
    TRY(daemon_record_write(
        daemon->options->home, daemon->socket, http_server_address(daemon->server)));
    daemon->recorded = true;
    return NULL;
}

static Error *open_all(Daemon *daemon) {
    uint32_t cores = worker_pool_core_count();
    TRY(open_signals(daemon));
    TRY(store_open(daemon->options->home, STORE_CREATE, &daemon->store));
    error_free(store_take_room(daemon->store)); /* if there is no room, writing reports it */
    TRY(claim_identity(daemon));
    TRY(open_paths(daemon));
    TRY(catalog_open(daemon->store, &daemon->catalog));
    TRY(settings_cache_create(daemon->store, &daemon->settings));
    if (cores > 1) TRY(worker_pool_create("daemon", cores - 1, &daemon->pool));
    TRY(metrics_create(&daemon->metrics));
    TRY(inference_statistics_create(&daemon->inferences));
    TRY(metrics_add_source(daemon->metrics, inference_statistics_source(daemon->inferences)));
    TRY(open_recorder(daemon));
    open_weights(daemon);
    TRY(migrations_hold(daemon->store));
    TRY(open_jobs(daemon));
    TRY(open_migrations(daemon));
    TRY(open_housekeeping(daemon));
    return open_server(daemon);
}

/* Returns true when the daemon is to end. */
static bool read_signals(const Daemon *daemon) {
    struct signalfd_siginfo info;
    bool end = false;
    while (read(daemon->signals, &info, sizeof info) == (ssize_t)sizeof info)
        end |= info.ssi_signo == SIGTERM || info.ssi_signo == SIGINT;
    return end;
}

/* Waits until a signal comes, or until a fault that only a new start can repair. */
static Error *wait_for_end(Daemon *daemon) {
    struct pollfd poll_signals = {.fd = daemon->signals, .events = POLLIN};
    for (;;) {
        if (poll(&poll_signals, 1, CHECK_EVERY_MS) < 0 && errno != EINTR)
            FAIL(IO, "cannot wait for signals: %s", strerror(errno));
        if (read_signals(daemon)) return NULL;
        TRY(control_check(daemon->control));
        TRY(catalog_check(daemon->catalog));
    }
}

/* Makes large freed blocks of tenants' requests return to the system. By default glibc expects that
 * a freed size is wanted again, and keeps a thread's blocks of up to 32 MiB. */
static void return_large_blocks(void) {
    (void)mallopt(M_MMAP_THRESHOLD, LARGE_BLOCK);
    (void)mallopt(M_TRIM_THRESHOLD, 2 * LARGE_BLOCK);
}

/* Runs on the limit's thread, while the main thread waits for a part that does not end. */
static void cut(void *context, size_t left, const char *words) {
    const Daemon *daemon = context;
    if (daemon->recorded) daemon_record_remove(daemon->options->home);
    if (daemon->options->cut) daemon->options->cut(left, words);
}

static Error *drain(Daemon *daemon, size_t *out_left) {
    const uint64_t grace_ns = daemon->options->grace_ns;
    const uint64_t due_ns = clock_now_ns(clock_real()) + grace_ns + CLOSE_NS;
    TRY(end_limit_start(due_ns, cut, daemon, &daemon->limit));
    TRY(control_drain(daemon->control, grace_ns, out_left));
    end_limit_tell(daemon->limit, *out_left, control_get_left(daemon->control));
    return NULL;
}

Error *daemon_run(const DaemonOptions *options,
    Error *(*ready)(void *context, const DaemonReady *ready), void *context, size_t *out_left) {
    Daemon OWN_DAEMON(daemon) = {.options = options, .signals = -1};
    return_large_blocks();
    TRY(open_all(&daemon));
    DaemonReady answer = {daemon.socket, http_server_address(daemon.server), daemon.fingerprint};
    TRY(ready(context, &answer));
    TRY(wait_for_end(&daemon));
    atomic_store(&daemon.http.ready, false);
    return drain(&daemon, out_left);
}
