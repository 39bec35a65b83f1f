#include "tests/scheduler/http_fixtures.h"

#include <dirent.h>
#include <errno.h>
#include <ftw.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <netinet/in.h>
#include <arpa/inet.h>
#include <unistd.h>

#include "base/clock.h"
#include "scheduler/http/server/store_accounts.h"
#include "scheduler/migration/node_hello.h"
#include "serialize/container/executable_file.h"
#include "store/jobs/node_identity.h"
#include "store/accounts/tenants.h"
#include "store/accounts/tokens.h"
#include "vm/assembly/assembly.h"

const char test_tls_key[] = "-----BEGIN PRIVATE KEY-----\n"
                            "MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgdcGOhzmUGDfSGgFM\n"
                            "bfP4emPqLk6cR0YJrA3V3/mLibuhRANCAASkqCO4Kgfp1OUEbIdfciIo/NSbuExa\n"
                            "kYfJKctxr48oM7rTfgp1IUq/TkXjiYqpRhDAHXZSnk2dXJAnFVDAFPDq\n"
                            "-----END PRIVATE KEY-----\n";
const char test_tls_certificate[] =
    "-----BEGIN CERTIFICATE-----\n"
    "MIIBezCCASGgAwIBAgIUfsGsJpoZPOH8WKh4ypSwKO+EnSMwCgYIKoZIzj0EAwIw\n"
    "EjEQMA4GA1UEAwwHbGF5b3ZlcjAgFw0yNjExMjIxMjE0MzVaGA8yMTI2MTAyOTEy\n"
    "MTQzNVowEjEQMA4GA1UEAwwHbGF5b3ZlcjBZMBMGByqGSM49AgEGCCqGSM49AwEH\n"
    "A0IABKSoI7gqB+nU5QRsh19yIij81Ju4TFqRh8kpy3GvjygzutN+CnUhSr9OReOJ\n"
    "iqlGEMAddlKeTZ1ckCcVUMAU8OqjUzBRMB0GA1UdDgQWBBQiiLHQSdmycQJuCisN\n"
    "8FVX4OBPRzAfBgNVHSMEGDAWgBQiiLHQSdmycQJuCisN8FVX4OBPRzAPBgNVHRMB\n"
    "Af8EBTADAQH/MAoGCCqGSM49BAMCA0gAMEUCIQDpZEstemeMjTRzTzFte9OcyMHK\n"
    "wKWyyDC2+mdsFuDWrQIgKZEbVGpX4kVraVcn3P0QJwbJ+ytyfrgsGVSrs9uJ+9I=\n"
    "-----END CERTIFICATE-----\n";
const char test_tls_fingerprint[] = "sha256//DsaPU6i3vl97CkgYJSy0d+5K+qDgj5dhU6S2B3SzNE4=";

static Error *make_token(Connection *catalog, TenantId tenant, TokenRole role, char out[128]) {
    Token token;
    char text[TOKEN_TEXT_SIZE];
    TRY(tokens_create(catalog, tenant, role, &token, text));
    (void)snprintf(out, 128, "%s", text);
    return NULL;
}

static Error *make_accounts(Connection *catalog, void *context) {
    TestServer *server = context;
    TRY(tenants_add(catalog, "alice", &server->alice));
    TRY(tenants_add(catalog, "bob", &server->bob));
    TRY(make_token(catalog, server->alice, TOKEN_ROLE_USER, server->tokens[TEST_USER]));
    TRY(make_token(catalog, server->bob, TOKEN_ROLE_USER, server->tokens[TEST_OTHER]));
    TRY(make_token(catalog, TENANT_DEFAULT, TOKEN_ROLE_ADMIN, server->tokens[TEST_ADMIN]));
    return make_token(catalog, TOKEN_TENANT_NONE, TOKEN_ROLE_NODE, server->tokens[TEST_NODE]);
}

void test_service_open(TestServer *server) {
    NodeIdentity identity;
    memset(server, 0, sizeof *server);
    test_folder_create(server->folder);
    (void)snprintf(server->home, sizeof server->home, "%s/home", server->folder);
    (void)snprintf(server->uploads, sizeof server->uploads, "%s/uploads", server->folder);
    (void)snprintf(server->socket, sizeof server->socket, "%s/socket", server->folder);
    assert_int_equal(mkdir(server->uploads, 0700), 0);
    assert_ok(store_open(server->home, STORE_CREATE, &server->store));
    assert_ok(catalog_open(server->store, &server->catalog));
    assert_ok(catalog_run(server->catalog, make_accounts, server));
    (void)snprintf(server->tokens[TEST_WRONG], 128, "not-a-token");
    assert_ok(metrics_create(&server->metrics));
    memory_jobs_init(&server->jobs);
    server->service.store = server->store;
    server->service.catalog = server->catalog;
    assert_ok(settings_cache_create(server->store, &server->settings));
    server->service.accounts = store_accounts(server->settings);
    assert_ok(http_sessions_create(clock_simulated(&server->clock), &server->sessions));
    server->service.sessions = server->sessions;
    server->jobs.settings = server->settings;
    server->service.jobs = memory_jobs_api(&server->jobs);
    server->service.metrics = server->metrics;
    assert_ok(inference_statistics_create(&server->inferences));
    server->service.inferences = server->inferences;
    server->service.upload_folder = server->uploads;
    server->service.compiler = getenv("LAYOVER_BIN") ? getenv("LAYOVER_BIN") : "/bin/false";
    assert_ok(node_identity_claim(server->store, &(Digest){{1}}, &identity));
    server->service.node = identity.node;
    server->service.nodes = &node_calls_network;
    server->service.version = "0.0.test";
    atomic_store(&server->service.ready, true);
}

void test_server_open(TestServer *server, const HttpServerOptions *options) {
    test_service_open(server);
    HttpServerOptions all = options ? *options : (HttpServerOptions){0};
    all.socket_path = server->socket;
    all.listen_address = "127.0.0.1:0";
    if (!all.handler_threads) all.handler_threads = 4;
    assert_ok(http_server_open(&server->service, &all, &server->server));
    (void)snprintf(server->url, sizeof server->url, "%s://%s",
        all.tls_certificate ? "https" : "http", http_server_address(server->server));
}

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *at) {
    (void)status, (void)kind, (void)at;
    return remove(path);
}

void test_server_close(TestServer *server) {
    http_server_close(server->server);
    metrics_release(server->metrics);
    inference_statistics_release(server->inferences);
    http_sessions_release(server->sessions);
    settings_cache_release(server->settings);
    catalog_close(server->catalog);
    store_close(server->store);
    memory_jobs_deinit(&server->jobs);
    (void)nftw(server->folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

HttpClient *test_server_client(TestServer *server, TestRole role) {
    HttpClient *client;
    HttpClientOptions options = {
        .server = role == TEST_LOCAL ? server->socket : server->url,
        .token = role == TEST_NOBODY || role == TEST_LOCAL ? NULL : server->tokens[role],
        .pinned_key = role != TEST_LOCAL && server->url[4] == 's' ? test_tls_fingerprint : NULL,
        .silence_limit_s = 20,
    };
    assert_ok(http_client_open(&options, &client));
    return client;
}

int test_connect(TestServer *server, bool tcp) {
    struct sockaddr_un local = {.sun_family = AF_UNIX};
    struct sockaddr_in remote = {.sin_family = AF_INET};
    (void)snprintf(local.sun_path, sizeof local.sun_path, "%s", server->socket);
    remote.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    remote.sin_port = htons((uint16_t)strtoul(strrchr(server->url, ':') + 1, NULL, 10));
    int descriptor = socket(tcp ? AF_INET : AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(descriptor >= 0);
    int result = tcp ? connect(descriptor, (struct sockaddr *)&remote, sizeof remote)
                     : connect(descriptor, (struct sockaddr *)&local, sizeof local);
    if (result != 0) print_error("connect: %s\n", strerror(errno));
    assert_int_equal(result, 0);
    return descriptor;
}

void test_send(int descriptor, const char *text) {
    size_t size = strlen(text);
    assert_int_equal(send(descriptor, text, size, MSG_NOSIGNAL), size);
}

static size_t receive(int descriptor, const char *until, char *out, size_t size, int limit_ms) {
    uint64_t end = clock_now_ns(clock_real()) + (uint64_t)limit_ms * 1000000;
    size_t got = 0;
    out[0] = 0;
    while (got < size - 1) {
        uint64_t now = clock_now_ns(clock_real());
        struct pollfd item = {.fd = descriptor, .events = POLLIN};
        if (now >= end || poll(&item, 1, (int)((end - now) / 1000000) + 1) <= 0) break;
        ssize_t count = recv(descriptor, out + got, size - 1 - got, 0);
        if (count <= 0) break;
        got += (size_t)count;
        out[got] = 0;
        if (until && strstr(out, until)) break;
    }
    return got;
}

size_t test_receive(int descriptor, char *out, size_t size, int limit_ms) {
    return receive(descriptor, NULL, out, size, limit_ms);
}

bool test_receive_until(int descriptor, const char *text, char *out, size_t size, int limit_ms) {
    (void)receive(descriptor, text, out, size, limit_ms);
    return strstr(out, text) != NULL;
}

int test_thread_count(void) {
    DIR *folder = opendir("/proc/self/task");
    int count = 0;
    assert_non_null(folder);
    while (readdir(folder)) count++;
    (void)closedir(folder);
    return count - 2;
}

static const char program[] = "constant @x = float32[2] {1, -2}\n"
                              "function main() -> (y: float32[2]) exported {\n Ret @x\n}\n";

void test_server_make_executable(TestServer *server, char out_path[192]) {
    OWN(Executable, executable) = NULL;
    (void)snprintf(out_path, 192, "%s/two.lvx", server->folder);
    if (access(out_path, F_OK) == 0) return;
    assert_ok(assembly_parse(program, sizeof program - 1, &executable));
    assert_ok(executable_write_file(executable, NULL, out_path));
}

static int call(
    TestServer *server, TestRole role, const HttpClientCall *wanted, char *text, size_t size) {
    OWN(HttpClient, client) = test_server_client(server, role);
    HttpClientReply OWN_REPLY(reply) = {0};
    Error *error = http_client_call(client, wanted, &reply);
    if (text)
        (void)snprintf(
            text, size, "%s", error ? error_message(error) : text_builder_get(&reply.text));
    if (error && !reply.status) print_error("%s\n", error_message(error));
    error_free(error);
    return reply.status;
}

int test_server_post_file(TestServer *server, TestRole role, const char *path, const char *file,
    char *text, size_t size) {
    HttpClientCall wanted = {.method = HTTP_METHOD_POST, .path = path, .file = file};
    return call(server, role, &wanted, text, size);
}

void test_server_register(TestServer *server, TestRole role, const char *name) {
    char file[192], path[128], text[1024];
    test_server_make_executable(server, file);
    (void)snprintf(path, sizeof path, "/v1/models/%s", name);
    if (test_server_post_file(server, role, path, file, text, sizeof text) != 200)
        fail_msg("%s", text);
}

int test_server_submit(
    TestServer *server, TestRole role, const char *policy, char *text, size_t size) {
    HttpClientCall wanted = {
        .method = HTTP_METHOD_POST,
        .path = "/v1/jobs",
        .parts = {{.name = "policy",
                      .content_type = "application/json",
                      .data = policy,
                      .size = strlen(policy)},
            {.name = "inputs",
                .content_type = "application/octet-stream",
                .data = "npz",
                .size = 3}},
        .part_count = 2,
    };
    return call(server, role, &wanted, text, size);
}

int test_server_ask(TestServer *server, TestRole role, HttpMethod method, const char *path,
    const char *json, char *text, size_t size) {
    HttpClientCall wanted = {.method = method, .path = path, .json = json};
    return call(server, role, &wanted, text, size);
}
