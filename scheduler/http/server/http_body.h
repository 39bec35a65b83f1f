#pragma once
/* A request's body while it arrives: in memory while it is small, else in a temporary file. Called
 * by http_exchange.c on the thread of a socket; a body belongs to one exchange. */
#include <stdint.h>

#include "base/bytes.h"
#include "scheduler/http/server/http_request.h"
#include "store/accounts/in_flight.h"

enum { HTTP_BODY_MEMORY_MAX = 256 << 10 };

typedef struct HttpBody {
    Store *store;              /* where the tenant is charged; borrowed, as is the next */
    const char *upload_folder; /* for the temporary file */
    uint64_t size_max;
    bool quota_limits; /* size_max is the rest of a quota */
    uint64_t size;
    InFlight charge; /* to the tenant whose store the body goes into; without a store no tenant
                      * is charged */
    ByteWriter memory;
    int descriptor; /* -1: still in memory */
    char *path;
    void *map;
} HttpBody;

void http_body_init(HttpBody *body, Store *store, const char *upload_folder, uint64_t size_max);
/* Takes the limit from the request's head, and begins to charge the tenant while the body comes. */
void http_body_open(HttpBody *body, const HttpRequest *request);
/* Removes the file, and gives the charge back. */
void http_body_deinit(HttpBody *body);
/* The error for a body beyond its request's limit. Errors: TOO_LARGE; EXHAUSTED the limit is the
 * tenant's quota. */
MUST_CHECK Error *http_body_refuse(uint64_t size_max, bool quota_limits);
/* Appends bytes. Errors: TOO_LARGE; EXHAUSTED the tenant's quota is used up, including its other
 * bodies under way, or the disk is full; IO. A refused body is dropped. */
MUST_CHECK Error *http_body_add(HttpBody *body, const void *data, size_t size);
/* Called when the body is complete: makes it visible to the request, until deinit. */
MUST_CHECK Error *http_body_finish(HttpBody *body, HttpRequest *request);
