#pragma once
/* A request's body on its way in: in memory while it is small, else in a temporary file. */
#include <stdint.h>

#include "base/bytes.h"
#include "scheduler/http/server/http_service.h"
#include "store/accounts/in_flight.h"

enum { HTTP_BODY_MEMORY_MAX = 256 << 10 };

typedef struct HttpBody {
    const HttpService *service; /* borrowed; says where files go */
    uint64_t size_max;
    bool quota_limits; /* size_max is what a quota leaves */
    uint64_t size;
    InFlight charge; /* to the tenant whose store the body goes into; without a store: to nobody */
    ByteWriter memory;
    int descriptor; /* -1: still in memory */
    char *path;
    void *map;
} HttpBody;

void http_body_init(HttpBody *body, const HttpService *service, uint64_t size_max);
/* What the request's head allows, and who is charged while the body comes. */
void http_body_open(HttpBody *body, const HttpRequest *request);
/* Removes the file, and gives back what was charged. */
void http_body_deinit(HttpBody *body);
/* A body of more than its request's limit. Errors: TOO_LARGE; EXHAUSTED it is the tenant's quota.
 */
MUST_CHECK Error *http_body_refuse(uint64_t size_max, bool quota_limits);
/* Errors: TOO_LARGE; EXHAUSTED the tenant's quota is used up, with what else it has on its way, or
 * the disk is full; IO. A body that was refused is dropped. */
MUST_CHECK Error *http_body_add(HttpBody *body, const void *data, size_t size);
/* Everything is there: shows it to the request, until deinit. */
MUST_CHECK Error *http_body_finish(HttpBody *body, HttpRequest *request);
/* All of it. Errors: EXHAUSTED the disk is full; IO. */
MUST_CHECK Error *http_body_write(int descriptor, const uint8_t *data, size_t size);
