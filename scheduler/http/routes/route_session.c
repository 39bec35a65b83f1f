#include <math.h>
#include <string.h>

#include "scheduler/http/client/json_body.h"
#include "scheduler/http/client/json_fields.h"
#include "scheduler/http/server/http_browser.h"
#include "scheduler/http/server/http_service.h"

static const char *const no_fields[] = {NULL};

static const char *role_name(CallerRole role) {
    return role == CALLER_ADMIN ? "admin" : role == CALLER_USER ? "user" : "node";
}

static Error *answer_caller(HttpService *service, const Caller *caller, HttpResponse *response) {
    Tenant tenant;
    json_object *object;
    double left_s = NAN;
    TRY(tenants_get_settings(service->store, caller->tenant, &tenant));
    if (caller->session) TRY(http_sessions_check(service->sessions, caller->session, &left_s));
    TRY(json_fields_create(&object));
    json_fields_text(object, "role", role_name(caller->role));
    json_fields_text(object, "tenant", tenant.name);
    json_fields_real(object, "left_seconds", left_s);
    json_fields_text(object, "version", service->version);
    return http_response_json(response, object);
}

/* A page of another site must not sign a browser in, so that its user works for somebody else. */
Error *route_session_begin(
    HttpService *service, const HttpRequest *request, HttpResponse *response) {
    static const char *const fields[] = {"token", NULL};
    const Accounts *accounts = &service->accounts;
    const char *token = NULL;
    char secret[HTTP_SESSION_TEXT_SIZE], cookie[HTTP_COOKIE_SIZE];
    Caller caller;
    OWN_JSON(body) = NULL;
    TRY(http_request_check_query(request, no_fields));
    TRY(json_body_parse(request->body, request->body_size, &body));
    TRY(json_body_check_fields(body, fields));
    TRY(json_body_text(body, "token", &token));
    if (!token) FAIL(INVALID, "the field token is missing");
    if (!request->own_page) FAIL(REFUSED, "only the daemon's own page signs in");
    if (strlen(token) > HTTP_TOKEN_SIZE_MAX) FAIL(UNAUTHENTICATED, "the token is unknown");
    TRY(accounts->class_->check_token(accounts->self, token, &caller));
    if (caller.role == CALLER_NODE) FAIL(REFUSED, "a node's token does not sign in");
    TRY(http_sessions_begin(service->sessions, caller.token, secret, &caller.session));
    http_browser_write_cookie(service->node, secret, request->secure, cookie);
    explicit_bzero(secret, sizeof secret);
    TRY(answer_caller(service, &caller, response));
    http_response_header(response, "Set-Cookie", cookie);
    return NULL;
}

Error *route_session_get(HttpService *service, const HttpRequest *request, HttpResponse *response) {
    TRY(http_request_check_query(request, no_fields));
    return answer_caller(service, &request->caller, response);
}

Error *route_session_end(HttpService *service, const HttpRequest *request, HttpResponse *response) {
    char cookie[HTTP_COOKIE_SIZE];
    TRY(http_request_check_query(request, no_fields));
    if (!request->caller.session) FAIL(CONFLICT, "the request shows a token, not a session");
    http_sessions_end(service->sessions, request->caller.session);
    http_browser_write_cookie(service->node, NULL, request->secure, cookie);
    http_response_header(response, "Set-Cookie", cookie);
    json_object *object;
    TRY(json_fields_create(&object));
    return http_response_json(response, object);
}
