#pragma once
/* The addresses of the daemon (routes.def): finds the route of a request, with the role, body and
 * limits that it needs. Called by http_service.c on the thread of a socket, and by print_http.
 * Pure: constant tables. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "scheduler/http/client/http_method.h"

/* The role that a caller needs at least. */
typedef enum RouteRole {
    ROUTE_ROLE_ANYONE,
    ROUTE_ROLE_USER,
    ROUTE_ROLE_ADMIN,
    ROUTE_ROLE_NODE,
} RouteRole;

typedef enum RouteBody {
    ROUTE_BODY_NONE,
    ROUTE_BODY_JSON,
    ROUTE_BODY_MULTIPART,
    ROUTE_BODY_STREAM,
    ROUTE_BODY_TENSORS,
} RouteBody;

typedef enum RoutePace {
    ROUTE_PACE_INSTANT,
    ROUTE_PACE_CONTROL,
    ROUTE_PACE_QUICK,
    ROUTE_PACE_SLOW,
    ROUTE_PACE_BRIEF,
    ROUTE_PACE_COMPILE,
} RoutePace;

enum {
    ROUTE_SEGMENTS_MAX = 8, /* of a path */
    ROUTE_NAMES_MAX = 3,    /* segments of a path that are not fixed */
    ROUTE_NAME_SIZE = 256,  /* of each, decoded, with the terminating NUL */
};

typedef enum RouteId {
#define ROUTE(name, method, pattern, role, body, limit, pace, handler, help) ROUTE_##name,
#include "scheduler/http/server/routes.def"
    ROUTE_COUNT
} RouteId;

struct HttpService;
struct HttpRequest;
struct HttpResponse;
/* Runs on a handler thread and may block. On an error the response is dropped. */
typedef Error *RouteHandler(
    struct HttpService *service, const struct HttpRequest *request, struct HttpResponse *response);

typedef struct RouteInfo {
    const char *name;
    HttpMethod method;
    const char *pattern;
    RouteRole role;
    RouteBody body;
    uint64_t body_size_max;
    RoutePace pace;
    RouteHandler *handler;
    const char *help;
} RouteInfo;

const RouteInfo *route_info(RouteId route);
const char *route_role_name(RouteRole role);
const char *route_body_name(RouteBody body);

typedef struct RouteMatch {
    RouteId route;
    uint32_t name_count;
    char names[ROUTE_NAMES_MAX][ROUTE_NAME_SIZE]; /* the texts at the braces, decoded */
} RouteMatch;

/* path: as received, without the query. Errors: NOT_FOUND no such address; METHOD the address has
 * other methods, which the message names; INVALID a segment that cannot be decoded, is not UTF-8,
 * or holds control characters; UNSUPPORTED a method that no route has. */
MUST_CHECK Error *route_find(const char *method, const char *path, RouteMatch *out_match);

/* Decodes %XX to bytes; plus: also '+' to a blank. out has room for length + 1. Errors: INVALID a
 * broken escape, a NUL, no UTF-8, a control character. */
MUST_CHECK Error *route_decode(const char *text, size_t length, bool plus, char *out);

#define ROUTE(name, method, pattern, role, body, limit, pace, handler, help) RouteHandler handler;
#include "scheduler/http/server/routes.def"
