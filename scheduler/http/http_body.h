#pragma once
/* A request's body on its way in: in memory while it is small, else in a temporary file. */
#include <stdint.h>

#include "base/bytes.h"
#include "scheduler/http/http_service.h"

enum { HTTP_BODY_MEMORY_MAX = 256 << 10 };

typedef struct HttpBody {
    const HttpService *service; /* borrowed; says where files go */
    uint64_t size_max;
    bool quota_limits; /* size_max is what a quota leaves */
    uint64_t size;
    ByteWriter memory;
    int descriptor; /* -1: still in memory */
    char *path;
    void *map;
} HttpBody;

void http_body_init(HttpBody *body, const HttpService *service, uint64_t size_max);
/* Removes the file. */
void http_body_deinit(HttpBody *body);
/* A body of more than its request's limit. Errors: TOO_LARGE; EXHAUSTED it is the tenant's quota.
 */
MUST_CHECK Error *http_body_refuse(uint64_t size_max, bool quota_limits);
/* Errors: TOO_LARGE; EXHAUSTED the tenant's quota is used up, or the disk is full; IO. */
MUST_CHECK Error *http_body_add(HttpBody *body, const void *data, size_t size);
/* Everything is there: shows it to the request, until deinit. */
MUST_CHECK Error *http_body_finish(HttpBody *body, HttpRequest *request);
/* All of it. Errors: EXHAUSTED the disk is full; IO. */
MUST_CHECK Error *http_body_write(int descriptor, const uint8_t *data, size_t size);
