#include "scheduler/http/server/http_service.h"

#include <string.h>
#include <strings.h>

#include "base/allocator.h"
#include "scheduler/http/server/http_body.h"
#include "scheduler/http/server/http_browser.h"

static const char scheme[] = "Bearer ";

static Error *identify_token(
    const Accounts *accounts, const char *authorization, Caller *out_caller) {
    if (strncasecmp(authorization, scheme, sizeof scheme - 1) != 0)
        FAIL(UNAUTHENTICATED, "Authorization: Bearer TOKEN is wanted");
    const char *token = authorization + sizeof scheme - 1;
    if (strlen(token) > HTTP_TOKEN_SIZE_MAX) FAIL(UNAUTHENTICATED, "the token is unknown");
    return accounts->class_->check_token(accounts->self, token, out_caller);
}

/* A page of another site can make a browser send its cookies, but cannot forge what the browser
 * says about the page. */
static Error *identify_session(
    HttpService *service, const HttpHead *head, const char *secret, Caller *out_caller) {
    const Accounts *accounts = &service->accounts;
    const bool reads = strcmp(head->method, http_method_name(HTTP_METHOD_GET)) == 0;
    uint64_t session;
    int64_t token;
    TRY(http_sessions_find(service->sessions, secret, &session, &token));
    if (reads ? http_browser_is_other_page(head) : !http_browser_is_own_page(head))
        FAIL(REFUSED, "a session acts only for the daemon's own page");
    TRY(accounts->class_->find_token(accounts->self, token, out_caller));
    out_caller->session = session;
    return NULL;
}

/* Identifies the caller. Without a token, a caller of the unix socket is the administrator, since
 * only the home's user can connect there; but a browser, to which the socket may have been
 * forwarded, sends what pages of other sites ask for, too. */
static Error *identify(HttpService *service, const HttpHead *head, Caller *out_caller) {
    char secret[HTTP_SESSION_TEXT_SIZE];
    if (head->authorization)
        return identify_token(&service->accounts, head->authorization, out_caller);
    if (http_browser_read_cookie(head->cookie, service->node, secret))
        return identify_session(service, head, secret, out_caller);
    if (head->origin != HTTP_ORIGIN_UNIX)
        FAIL(UNAUTHENTICATED, "a token is missing: Authorization: Bearer TOKEN");
    if (http_browser_is_sender(head)) FAIL(UNAUTHENTICATED, "a browser signs in with a token");
    *out_caller = (Caller){.tenant = TENANT_DEFAULT, .role = CALLER_ADMIN};
    return NULL;
}

Error *http_service_still_may(
    HttpService *service, const char *authorization, const Caller *caller) {
    const Accounts *accounts = &service->accounts;
    Caller now;
    double left_s;
    if (caller->session) {
        TRY(http_sessions_check(service->sessions, caller->session, &left_s));
        TRY(accounts->class_->find_token(accounts->self, caller->token, &now));
    } else
        TRY(identify_token(accounts, authorization, &now));
    if (now.token != caller->token || now.role != caller->role)
        FAIL(UNAUTHENTICATED, "the token is another one now");
    return NULL;
}

static bool may(CallerRole role, RouteRole wanted) {
    switch (wanted) {
    case ROUTE_ROLE_ANYONE:
        return true;
    case ROUTE_ROLE_USER:
        return role == CALLER_USER || role == CALLER_ADMIN;
    case ROUTE_ROLE_ADMIN:
        return role == CALLER_ADMIN;
    case ROUTE_ROLE_NODE:
        return role == CALLER_NODE || role == CALLER_ADMIN;
    }
    return false;
}

/* ?tenant=: a user may name only the own tenant; another tenant looks like a missing one. */
static Error *choose_tenant(HttpService *service, HttpRequest *request) {
    const Accounts *accounts = &service->accounts;
    const char *name = http_request_query(request, "tenant");
    TenantId tenant;
    if (!name) return NULL;
    if (http_request_query_at(request, "tenant", 1)) FAIL(INVALID, "?tenant= is given twice");
    if (!text_is_name(name)) FAIL(NOT_FOUND, "no such tenant");
    Error *error = accounts->class_->find_tenant(accounts->self, name, &tenant);
    bool hidden = !error && request->caller.role == CALLER_USER && tenant != request->caller.tenant;
    if (error_code(error) == ERROR_NOT_FOUND || hidden) {
        error_free(error);
        FAIL(NOT_FOUND, "no tenant %s", name);
    }
    TRY(error);
    request->caller.tenant = tenant;
    return NULL;
}

static Error *check_body(HttpService *service, const HttpHead *head, HttpRequest *request) {
    const RouteInfo *route = request->route;
    const Accounts *accounts = &service->accounts;
    request->body_size_max = route->body_size_max;
    if (head->content_encoding && strcasecmp(head->content_encoding, "identity") != 0)
        FAIL(UNSUPPORTED, "Content-Encoding: only identity is taken here");
    request->has_json_length = head->json_length != NULL;
    const size_t digits = head->json_length ? strspn(head->json_length, "0123456789") : 0;
    if (head->json_length && (!digits || head->json_length[digits] ||
                                 !text_parse_u64(head->json_length, &request->json_length)))
        FAIL(INVALID, HTTP_JSON_LENGTH ": a number of bytes is wanted");
    size_t type_size = head->content_type ? strlen(head->content_type) + 1 : 0;
    if (type_size > sizeof request->content_type)
        FAIL(INVALID, "Content-Type has more than %zu bytes", sizeof request->content_type - 1);
    if (type_size) memcpy(request->content_type, head->content_type, type_size);
    bool stored = route->body == ROUTE_BODY_STREAM || route->body == ROUTE_BODY_MULTIPART;
    if (stored && request->caller.tenant) {
        uint64_t left;
        TRY(accounts->class_->store_bytes_left(accounts->self, request->caller.tenant, &left));
        request->quota_limits_body = left < request->body_size_max;
        if (request->quota_limits_body) request->body_size_max = left;
    }
    if (head->has_length && head->content_length > request->body_size_max)
        return error_wrap(http_body_refuse(request->body_size_max, request->quota_limits_body),
            "Content-Length %llu", (unsigned long long)head->content_length);
    return NULL;
}

Error *http_service_open(HttpService *service, const HttpHead *head, HttpRequest *request) {
    size_t size = strlen(head->target);
    void *path;
    if (size > HTTP_TARGET_SIZE_MAX)
        FAIL(TOO_LARGE, "the address has more than %d bytes", HTTP_TARGET_SIZE_MAX);
    TRY(memory_alloc(size + 1, 1, &path));
    Error *error = http_request_parse_target(request, head->target, path);
    if (!error) error = route_find(head->method, path, &request->match);
    memory_free(path);
    /* callers without access do not learn which addresses exist */
    Error *unknown = NULL;
    bool open = !error && route_info(request->match.route)->role == ROUTE_ROLE_ANYONE;
    if (!open) unknown = identify(service, head, &request->caller);
    if (unknown) {
        error_free(error);
        return unknown;
    }
    TRY(error);
    const RouteInfo *route = route_info(request->match.route);
    if (!may(request->caller.role, route->role))
        FAIL(REFUSED, "this needs the role %s", route_role_name(route->role));
    request->route = route;
    request->own_page = http_browser_is_own_page(head);
    request->secure = http_browser_is_secure(head);
    if (route->role != ROUTE_ROLE_ANYONE) TRY(choose_tenant(service, request));
    return check_body(service, head, request);
}

Error *http_service_answer(
    HttpService *service, const HttpRequest *request, HttpResponse *response) {
    return request->route->handler(service, request, response);
}

Error *http_service_change(HttpService *service, CatalogWork work, void *context) {
    return service->catalog ? catalog_run(service->catalog, work, context)
                            : catalog_run_directly(service->store, work, context);
}
