#pragma once
/* What handlers work with, and the way from a request's head to its answer. */
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

/* Everything is borrowed and outlives the server. */
typedef struct HttpService {
    Store *store;
    struct Catalog *catalog; /* NULL: changes are made in transactions of their own */
    WorkerPool *pool;
    Accounts accounts;
    JobsApi jobs;
    Metrics *metrics;
    const char *upload_folder;           /* for temporary files: in the home */
    const char *compiler;                /* the layover binary that compiles uploaded models */
    struct MemoryBudget *compile_memory; /* NULL: each gets compile_child.h's limit */
    const char *version;                 /* of Layover; NULL: not said */
    uint64_t node;                       /* this home's number */
    const struct NodeCalls *nodes;       /* NULL: it speaks to no others */
    struct Migrations *migrations;       /* NULL: no job comes or goes, as with the next one */
    struct NodeDrain *drain;
    atomic_bool ready; /* false while the daemon starts or drains */
} HttpService;

/* Whether a token that opened a request is worth as much still. Errors: UNAUTHENTICATED. */
MUST_CHECK Error *http_service_still_may(
    HttpService *service, HttpOrigin origin, const char *authorization, const Caller *caller);
/* Everything that can be said before the body: the address, whose request it is, whether that may
 * be, how large the body may get. request: zeroed by the caller, and http_request_deinit after.
 * Errors: as the status that is to be answered. */
MUST_CHECK Error *http_service_open(
    HttpService *service, const HttpHead *head, HttpRequest *request);
/* Runs the handler; an error is an answer, too. response: initialized. */
void http_service_answer(HttpService *service, const HttpRequest *request, HttpResponse *response);

/* A fresh file of mode 0600 in the upload folder. out_path: memory_free after unlink. */
MUST_CHECK Error *http_service_make_file(
    const HttpService *service, int *out_descriptor, char **out_path);

/* Runs work in a transaction. Durable on return. */
MUST_CHECK Error *http_service_change(HttpService *service, CatalogWork work, void *context);
