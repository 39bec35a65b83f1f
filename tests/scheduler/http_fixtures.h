#pragma once
/* A server on a temporary home: its store, tenants, tokens, jobs in memory; and bytes sent to it by
 * hand. */
#include "scheduler/node/inference_statistics.h"
#include "scheduler/node/settings_cache.h"
#include "scheduler/http/client/http_client.h"
#include "scheduler/http/server/http_server.h"
#include "scheduler/http/server/http_sessions.h"
#include "store/database/catalog.h"
#include "tests/scheduler/memory_jobs.h"
#include "tests/support/test_support.h"

/* Who asks. */
typedef enum TestRole {
    TEST_NOBODY, /* TCP without a token */
    TEST_WRONG,  /* TCP with a token that is none */
    TEST_USER,   /* alice's */
    TEST_OTHER,  /* bob's */
    TEST_ADMIN,  /* the default tenant's */
    TEST_NODE,
    TEST_LOCAL, /* the unix socket without a token */
    TEST_ROLES,
} TestRole;

typedef struct TestServer {
    char folder[64], home[128], uploads[128], socket[128];
    Store *store;
    SettingsCache *settings;
    Catalog *catalog;
    Metrics *metrics;
    InferenceStatistics *inferences;
    HttpSessions *sessions;
    SimulatedClock clock; /* of the sessions */
    MemoryJobs jobs;
    HttpService service;
    HttpServer *server;
    char url[320];
    char tokens[TEST_ROLES][128];
    TenantId alice, bob;
} TestServer;

/* A key for TLS and what names it, as openssl says; nobody signed for it. */
extern const char test_tls_key[], test_tls_certificate[], test_tls_fingerprint[];

/* options: only limits and TLS are taken; NULL: the defaults. */
void test_server_open(TestServer *server, const HttpServerOptions *options);
void test_server_close(TestServer *server);
#define OWN_SERVER(name) __attribute__((cleanup(test_server_close))) name

HttpClient *test_server_client(TestServer *server, TestRole role);
/* The same without the server: the store and the service alone. */
void test_service_open(TestServer *server);

/* One request of a role, method path and JSON body (NULL: none); answers the status. text may be
 * NULL. */
int test_server_ask(TestServer *server, TestRole role, HttpMethod method, const char *path,
    const char *json, char *text, size_t size);

/* A connection by hand. */
int test_connect(TestServer *server, bool tcp);
void test_send(int descriptor, const char *text);
/* Reads until the server closes or size - 1 bytes or the time are over; answers how many. */
size_t test_receive(int descriptor, char *out, size_t size, int limit_ms);
/* Until the text has come (true) or the connection ended. */
bool test_receive_until(int descriptor, const char *text, char *out, size_t size, int limit_ms);
/* How many threads this process has. */
int test_thread_count(void);

/* An executable file (.lvx) of a small program: main takes nothing and gives y: float32[2]. */
void test_server_make_executable(TestServer *server, char out_path[192]);
/* Registers it for a role's tenant. */
void test_server_register(TestServer *server, TestRole role, const char *name);
/* Submits a job of that tenant; policy: JSON. Answers the status. */
int test_server_submit(
    TestServer *server, TestRole role, const char *policy, char *text, size_t size);
/* POSTs bytes of a file. */
int test_server_post_file(
    TestServer *server, TestRole role, const char *path, const char *file, char *text, size_t size);
