#pragma once
/* Which requests are brief: the server answers them on the thread that moves bytes, without a
 * handler thread. A request is brief if its like took little work lately: the same tenant, route
 * and names, and a body of about the same size. Asked and told by http_exchange.c. Threads: any.
 *
 * What is remembered is a guess. A brief request that turns out to be long is handed over to a
 * handler thread, and its like are not brief any more. */
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "scheduler/http/server/http_request.h"

enum {
    HTTP_BRIEFS_MAX = 4096,         /* remembered at once; others displace them */
    HTTP_BRIEF_BODY_MAX = 16 << 10, /* bytes; a larger body is not brief */
    HTTP_BRIEF_NS = 500000,         /* of work */
};

typedef struct HttpBriefs {
    _Atomic uint64_t keys[HTTP_BRIEFS_MAX]; /* 0: free */
} HttpBriefs;

/* The key under which the likes of a request are remembered; 0: requests like this are never brief.
 * request: opened, with its body. Pure. */
uint64_t http_briefs_key(const HttpRequest *request, uint64_t body_size);
bool http_briefs_has(const HttpBriefs *briefs, uint64_t key);
/* Notes how much work a request took. */
void http_briefs_note(HttpBriefs *briefs, uint64_t key, uint64_t work_ns);
