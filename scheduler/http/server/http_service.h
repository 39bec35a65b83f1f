#pragma once
/* The objects that handlers work with, and the steps from a request's head to its answer. Made by
 * daemon.c; called by the server's threads and by the routes on handler threads. */
#include <stdatomic.h>

#include "base/worker_pool.h"
#include "scheduler/http/server/accounts.h"
#include "scheduler/http/server/http_request.h"
#include "scheduler/http/server/http_response.h"
#include "scheduler/http/server/jobs_api.h"
#include "scheduler/node/metrics.h"
#include "store/database/catalog.h"
#include "store/database/store.h"

struct Catalog;
struct NodeCalls;
struct HttpSessions;

/* All members are borrowed and outlive the server. */
typedef struct HttpService {
    Store *store;
    struct Catalog *catalog; /* NULL: each change is a transaction of its own */
    WorkerPool *pool;
    Accounts accounts;
    struct HttpSessions *sessions;
    JobsApi jobs;
    Metrics *metrics;
    struct InferenceStatistics *inferences; /* NULL: inference requests are not counted */
    const char *upload_folder;              /* for temporary files: a folder in the home */
    const char *compiler;                   /* the layover binary that compiles uploaded models */
    struct MemoryBudget *compile_memory;    /* NULL: each process gets compile_child.h's limit */
    const char *version;                    /* of Layover; NULL: not reported */
    uint64_t node;                          /* this home's number */
    const struct NodeCalls *nodes;          /* NULL: the daemon speaks to no other nodes */
    struct Migrations *migrations;          /* NULL: no job arrives or departs; also drain */
    struct NodeDrain *drain;
    atomic_bool ready; /* false while the daemon starts or drains */
} HttpService;

/* Checks that a request's token, and its session if it has one, are still as valid as when the
 * request was opened. Errors:
 * UNAUTHENTICATED. */
MUST_CHECK Error *http_service_still_may(
    HttpService *service, const char *authorization, const Caller *caller);
/* Makes every decision that precedes the body: the route, the caller, the caller's role, the limit
 * of the body. request: zeroed by the caller, and http_request_deinit after. Errors: those of the
 * status to answer. */
MUST_CHECK Error *http_service_open(
    HttpService *service, const HttpHead *head, HttpRequest *request);
/* Runs the handler. response: initialized. Errors: those of the status to answer. */
MUST_CHECK Error *http_service_answer(
    HttpService *service, const HttpRequest *request, HttpResponse *response);

/* Runs work in a transaction. Durable on return. */
MUST_CHECK Error *http_service_change(HttpService *service, CatalogWork work, void *context);
