#pragma once
/* One request as handlers see it: its caller, its route and names, its query and its body. Made by
 * http_service.c, read by the routes; a request belongs to its exchange, one thread at a time. */
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

/* The caller on whose behalf a request acts. */
typedef struct Caller {
    TenantId tenant; /* 0: none, for a node's token that names no tenant */
    CallerRole role;
    int64_t token;    /* the token's id; 0: the request had none */
    uint64_t node;    /* the node that its token is bound to; 0: none, or not yet known */
    uint32_t hops;    /* nodes that have passed the request on */
    uint64_t session; /* of a browser that has signed in (http_sessions.h); 0: none */
} Caller;

typedef struct HttpField {
    char *name, *value; /* decoded */
} HttpField;

/* The kind of socket that a connection came from. */
typedef enum HttpOrigin { HTTP_ORIGIN_UNIX, HTTP_ORIGIN_TCP } HttpOrigin;

/* The header that says how many bytes of a TENSORS body are its JSON. */
#define HTTP_JSON_LENGTH "Inference-Header-Content-Length"

/* The head as it was received; NULL for a missing header. */
typedef struct HttpHead {
    HttpOrigin origin;
    const char *method;
    const char *target; /* path and query, encoded */
    const char *authorization;
    const char *content_type;
    const char *content_encoding;
    const char *json_length; /* HTTP_JSON_LENGTH */
    const char *host;
    const char *cookie;
    const char *page_origin; /* Origin: the page that makes a browser send this */
    const char *fetch_site;  /* Sec-Fetch-Site: how that page is related to the address */
    bool tls;                /* the connection is one with TLS */
    bool has_length;
    uint64_t content_length;
} HttpHead;

typedef struct HttpRequest {
    /* The handler runs on the thread that moves bytes, so it must not wait. If it would have to, it
     * fails with EXHAUSTED and changes nothing; then it is called again without this. */
    bool brief;
    Caller caller;
    RouteMatch match;
    const RouteInfo *route; /* NULL: no route matches */
    uint64_t body_size_max;
    bool quota_limits_body; /* body_size_max is the rest of the tenant's quota store_bytes */
    HttpField query[HTTP_QUERY_MAX];
    uint32_t query_count;
    char *query_text; /* the memory that the fields point into */
    char content_type[HTTP_CONTENT_TYPE_SIZE_MAX];
    bool own_page; /* a page of this daemon sends it: http_browser_is_own_page */
    bool secure;   /* the sender is a browser that uses TLS */
    bool has_json_length;
    uint64_t json_length; /* of a TENSORS body: bytes of its JSON, as the head says */
    /* The whole body when the handler runs: memory, or a mapped temporary file. */
    const uint8_t *body;
    uint64_t body_size;
    const char *body_path; /* NULL: only in memory. The file is removed after the handler */
} HttpRequest;

/* Cuts the target at '?' and decodes the query; the path goes to out_path (room for the target).
 * Errors: INVALID; TOO_LARGE. */
MUST_CHECK Error *http_request_parse_target(
    HttpRequest *request, const char *target, char *out_path);
void http_request_deinit(HttpRequest *request);
#define OWN_REQUEST(name) __attribute__((cleanup(http_request_deinit))) name

/* The text at the index-th {name} of the route's pattern. */
static inline const char *http_request_name(const HttpRequest *request, uint32_t index) {
    return request->match.names[index];
}
/* A field of the query; NULL: absent. index: for a field that repeats. */
const char *http_request_query(const HttpRequest *request, const char *name);
const char *http_request_query_at(const HttpRequest *request, const char *name, uint32_t index);
/* Reads a whole number of at least 0; otherwise: the default. Errors: INVALID. */
MUST_CHECK Error *http_request_query_number(
    const HttpRequest *request, const char *name, int64_t otherwise, int64_t *out);
/* Reads 1 or true, 0 or false. Errors: INVALID. */
MUST_CHECK Error *http_request_query_flag(const HttpRequest *request, const char *name, bool *out);
/* Errors: INVALID a field that is not in names; names ends with NULL. */
MUST_CHECK Error *http_request_check_query(const HttpRequest *request, const char *const *names);
