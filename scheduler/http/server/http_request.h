#pragma once
/* One request as handlers see it: whose it is, what it names, and its body. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/text.h"
#include "scheduler/http/server/route.h"
#include "store/database/store.h"

enum {
    HTTP_QUERY_MAX = 72, /* fields of a query */
    HTTP_TARGET_SIZE_MAX = 8192,
    HTTP_TOKEN_SIZE_MAX = 256,
    HTTP_CONTENT_TYPE_SIZE_MAX = 256,
};

typedef enum CallerRole {
    CALLER_NOBODY,
    CALLER_USER,
    CALLER_ADMIN,
    CALLER_NODE,
} CallerRole;

/* On whose behalf a request acts. */
typedef struct Caller {
    TenantId tenant; /* 0: none, of a node's token that names no tenant */
    CallerRole role;
    int64_t token; /* its id; 0: none was shown */
    uint64_t node; /* which one speaks, by what its token is bound to; 0: none, or not yet known */
    uint32_t hops; /* nodes that have passed the request on */
} Caller;

typedef struct HttpField {
    char *name, *value; /* decoded */
} HttpField;

/* Where a connection came from. */
typedef enum HttpOrigin { HTTP_ORIGIN_UNIX, HTTP_ORIGIN_TCP } HttpOrigin;

/* The head as it came; NULL where a header is missing. */
typedef struct HttpHead {
    HttpOrigin origin;
    const char *method;
    const char *target; /* path and query, encoded */
    const char *authorization;
    const char *content_type;
    const char *content_encoding;
    bool has_length;
    uint64_t content_length;
} HttpHead;

typedef struct HttpRequest {
    Caller caller;
    RouteMatch match;
    const RouteInfo *route; /* NULL: none was found */
    uint64_t body_size_max;
    bool quota_limits_body; /* body_size_max is what the tenant's quota store_bytes leaves */
    HttpField query[HTTP_QUERY_MAX];
    uint32_t query_count;
    char *query_text; /* what the fields point into */
    char content_type[HTTP_CONTENT_TYPE_SIZE_MAX];
    /* The whole body, once the handler runs: memory, or a mapped temporary file. */
    const uint8_t *body;
    uint64_t body_size;
    const char *body_path; /* NULL: only in memory. It is removed after the handler */
} HttpRequest;

/* Cuts the target at '?' and decodes the query; the path goes to out_path (room for the target).
 * Errors: INVALID; TOO_LARGE. */
MUST_CHECK Error *http_request_parse_target(
    HttpRequest *request, const char *target, char *out_path);
void http_request_deinit(HttpRequest *request);
#define OWN_REQUEST(name) __attribute__((cleanup(http_request_deinit))) name

/* What stands for the index-th {name} of the route's pattern. */
static inline const char *http_request_name(const HttpRequest *request, uint32_t index) {
    return request->match.names[index];
}
/* A field of the query; NULL: not there. index: of one that repeats. */
const char *http_request_query(const HttpRequest *request, const char *name);
const char *http_request_query_at(const HttpRequest *request, const char *name, uint32_t index);
/* A whole number of at least 0. Errors: INVALID. */
MUST_CHECK Error *http_request_query_number(
    const HttpRequest *request, const char *name, int64_t otherwise, int64_t *out);
/* 1 or true, 0 or false. Errors: INVALID. */
MUST_CHECK Error *http_request_query_flag(const HttpRequest *request, const char *name, bool *out);
/* Errors: INVALID a field that is in none of the names; names ends with NULL. */
MUST_CHECK Error *http_request_check_query(const HttpRequest *request, const char *const *names);
