#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/thread.h"
#include "scheduler/http/server/http_page.h"
#include "scheduler/http/server/http_service.h"
#include "scheduler/http/client/json_body.h"
#include "scheduler/http/client/json_fields.h"
#include "scheduler/http/client/server_key.h"
#include "scheduler/http/client/server_url.h"
#include "scheduler/migration/node_drain.h"
#include "scheduler/migration/node_hello.h"
#include "store/database/job_id.h"
#include "store/database/store_name.h"
#include "store/accounts/nodes.h"

enum { ADD_LIMIT_MS = 10000, LIST_LIMIT_MS = 3000, ASKED_AT_ONCE = 8 };

static const char *const no_fields[] = {NULL};

/* Says hello to one node. */
typedef struct NodeCheck {
    const HttpService *service;
    const Node *node;
    NodeHello hello;
    Error *error;
    pthread_t thread;
    bool has_thread;
} NodeCheck;

static Error *ask(const HttpService *service, const Node *node, uint32_t limit_ms, NodeHello *out) {
    if (!service->nodes) FAIL(UNSUPPORTED, "this daemon speaks to no other nodes");
    return service->nodes->hello(node, service->node, limit_ms, out);
}

static Error *check_hello(const NodeCheck *check) {
    char number[JOB_ID_NODE_TEXT_SIZE];
    if (check->hello.node != check->node->node) {
        job_id_print_node(check->hello.node, number);
        FAIL(REFUSED, "another home answers there, %s", number);
    }
    if (!check->hello.is_node) FAIL(REFUSED, "its token has not the role node");
    return NULL;
}

static void *run_check(void *argument) {
    NodeCheck *check = argument;
    check->error = ask(check->service, check->node, LIST_LIMIT_MS, &check->hello);
    if (!check->error) check->error = check_hello(check);
    return NULL;
}

/* Some at once: those that do not answer take all of the time that they are given. */
static void run_checks(NodeCheck *checks, size_t count) {
    for (size_t i = 0; i < count; i++) {
        checks[i].has_thread = thread_start(&checks[i].thread, "node-check", run_check, &checks[i]);
        if (!checks[i].has_thread) (void)run_check(&checks[i]);
    }
    for (size_t i = 0; i < count; i++)
        if (checks[i].has_thread) (void)pthread_join(checks[i].thread, NULL);
}

/* The token stays here. */
static Error *node_json(const Node *node, json_object **out) {
    char number[JOB_ID_NODE_TEXT_SIZE];
    TRY(json_fields_create(out));
    job_id_print_node(node->node, number);
    json_fields_text(*out, "node", node->name);
    json_fields_text(*out, "number", number);
    json_fields_text(*out, "url", node->url);
    json_fields_text_or_null(*out, "fingerprint", node->fingerprint);
    return NULL;
}

static Error *add_line(HttpResponse *response, const NodeCheck *check) {
    json_object *line;
    bool reachable = !check->error;
    TRY(node_json(check->node, &line));
    json_fields_add(line, "reachable", json_object_new_boolean(reachable));
    json_fields_text(line, "layover", reachable ? check->hello.layover : NULL);
    json_fields_int_or_null(line, "unfinished", reachable ? check->hello.unfinished : -1);
    json_fields_int_or_null(line, "active", reachable ? check->hello.active : -1);
    json_fields_int_or_null(line, "waiting", reachable ? check->hello.waiting : -1);
    json_fields_int_or_null(line, "devices", reachable ? check->hello.devices : -1);
    json_fields_text(line, "error", reachable ? NULL : error_message(check->error));
    return http_response_line(response, line);
}

Error *route_node_list(HttpService *service, const HttpRequest *request, HttpResponse *response) {
    OWN(NodeList, list) = NULL;
    HttpPage page;
    TRY(http_page_read_text(request, &page));
    TRY(nodes_list_page(service->store, page.after_text, page.limit + 1, &list));
    http_response_lines(response);
    while (page.count < list->count && http_page_take(&page, response)) continue;
    for (size_t start = 0; start < page.count; start += ASKED_AT_ONCE) {
        NodeCheck checks[ASKED_AT_ONCE] = {0};
        size_t left = page.count - start, count = left < ASKED_AT_ONCE ? left : ASKED_AT_ONCE;
        Error *error = NULL;
        for (size_t i = 0; i < count; i++)
            checks[i] = (NodeCheck){.service = service, .node = &list->items[start + i]};
        run_checks(checks, count);
        for (size_t i = 0; i < count; i++) {
            if (!error) error = add_line(response, &checks[i]);
            error_free(checks[i].error);
        }
        TRY(error);
    }
    if (page.count > 0) http_page_end_text(&page, list->items[page.count - 1].name, response);
    return NULL;
}

static Error *copy_text(json_object *body, const char *field, char *out, size_t size) {
    const char *text = "";
    TRY(json_body_text(body, field, &text));
    if (strlen(text) >= size) FAIL(INVALID, "%s: it has more than %zu bytes", field, size - 1);
    memcpy(out, text, strlen(text) + 1);
    return NULL;
}

static Error *read_node(const HttpRequest *request, Node *out) {
    static const char *const fields[] = {"node", "url", "token", "fingerprint", NULL};
    OWN_JSON(body) = NULL;
    TRY(json_body_parse(request->body, request->body_size, &body));
    TRY(json_body_check_fields(body, fields));
    TRY(copy_text(body, "node", out->name, sizeof out->name));
    TRY(copy_text(body, "url", out->url, sizeof out->url));
    TRY(copy_text(body, "token", out->token, sizeof out->token));
    TRY(copy_text(body, "fingerprint", out->fingerprint, sizeof out->fingerprint));
    TRY(store_name_check("node", out->name));
    if (!*out->url) FAIL(INVALID, "url: https://HOST:PORT is wanted");
    if (!*out->token) FAIL(INVALID, "token: one with the role node, made there, is wanted");
    if (*out->fingerprint && !server_key_is_text(out->fingerprint))
        FAIL(INVALID, "fingerprint: sha256// and 44 letters of base64 are wanted");
    return NULL;
}

/* Shows the node's key. Only people know who holds which key: they send the shown one back if it is
 * right. */
static Error *show_key(const HttpService *service, const Node *node, HttpResponse *response) {
    char key[SERVER_KEY_TEXT_SIZE];
    json_object *object;
    TextBuilder OWN_TEXT(words) = {0};
    if (!service->nodes) FAIL(UNSUPPORTED, "this daemon speaks to no other nodes");
    TRY_WRAP(service->nodes->find_key(node->url, ADD_LIMIT_MS, key), "node %s", node->name);
    text_appendf(&words,
        "%s has the key %s: give this fingerprint if it is what that node's daemon said when it "
        "started",
        node->url, key);
    TRY(text_builder_check(&words));
    TRY(json_fields_create(&object));
    json_fields_text(object, "error", text_builder_get(&words));
    json_fields_text(object, "code", error_info(ERROR_CONFLICT)->name);
    json_fields_text(object, "fingerprint", key);
    response->status = error_info(ERROR_CONFLICT)->http_status;
    return http_response_json(response, object);
}

static Error *meet(const HttpService *service, Node *node, NodeHello *out_hello) {
    TRY(ask(service, node, ADD_LIMIT_MS, out_hello));
    if (out_hello->node == service->node) FAIL(CONFLICT, "that is this home");
    if (!out_hello->is_node)
        FAIL(REFUSED, "its token has not the role node; make one there with token create --role "
                      "node");
    node->node = out_hello->node;
    return NULL;
}

static Error *add_node(Connection *catalog, void *context) { return nodes_add(catalog, context); }

Error *route_node_add(HttpService *service, const HttpRequest *request, HttpResponse *response) {
    Node node = {0};
    NodeHello hello;
    bool tls;
    json_object *object;
    TRY(http_request_check_query(request, no_fields));
    if (request->caller.session)
        FAIL(REFUSED, "a session adds no nodes, whose trust would outlive it: show a token");
    TRY(read_node(request, &node));
    TRY_WRAP(server_url_check(node.url, &tls), "node %s", node.name);
    if (tls && !*node.fingerprint) return show_key(service, &node, response);
    TRY_WRAP(meet(service, &node, &hello), "node %s", node.name);
    TRY(http_service_change(service, add_node, &node));
    TRY(node_json(&node, &object));
    json_fields_text(object, "layover", hello.layover);
    return http_response_json(response, object);
}

static Error *remove_node(Connection *catalog, void *context) {
    return nodes_remove(catalog, context);
}

Error *route_node_remove(HttpService *service, const HttpRequest *request, HttpResponse *response) {
    char name[ROUTE_NAME_SIZE];
    json_object *object;
    TRY(http_request_check_query(request, no_fields));
    (void)snprintf(name, sizeof name, "%s", http_request_name(request, 0));
    TRY(http_service_change(service, remove_node, name));
    TRY(json_fields_create(&object));
    json_fields_text(object, "node", name);
    return http_response_json(response, object);
}

static Error *count_tenant(void *context, const JobsApiTenant *tenant) {
    NodeHello *hello = context;
    hello->unfinished += tenant->queued + tenant->running + tenant->suspended;
    hello->active += tenant->queued + tenant->running;
    hello->waiting += tenant->queued;
    return NULL;
}

static Error *count_device(void *context, const JobsApiDevice *device) {
    (void)device;
    ((NodeHello *)context)->devices++;
    return NULL;
}

typedef struct TokenBinding {
    int64_t token;
    uint64_t node;
} TokenBinding;

static Error *bind_token(Connection *catalog, void *context) {
    const TokenBinding *binding = context;
    return tokens_bind_node(catalog, binding->token, binding->node);
}

Error *route_peer_hello(HttpService *service, const HttpRequest *request, HttpResponse *response) {
    static const Caller everybody = {.tenant = TENANT_DEFAULT, .role = CALLER_ADMIN};
    const JobsApi *jobs = &service->jobs;
    const Caller *caller = &request->caller;
    NodeHello hello = {.node = service->node, .is_node = caller->role == CALLER_NODE};
    TokenBinding binding = {.token = caller->token};
    json_object *object;
    OWN_JSON(body) = NULL;
    TRY(http_request_check_query(request, no_fields));
    TRY(json_body_parse(request->body, request->body_size, &body));
    TRY(node_hello_read(body, &binding.node, &hello.protocol));
    if (binding.node == service->node) FAIL(CONFLICT, "that is this home");
    /* an admin may look, and speaks for no node */
    if (hello.is_node && caller->node != binding.node)
        TRY(http_service_change(service, bind_token, &binding));
    TRY(jobs->class_->tenants(jobs->self, &everybody, "", SIZE_MAX, count_tenant, &hello));
    TRY(jobs->class_->devices(jobs->self, &everybody, count_device, &hello));
    if (service->drain) {
        NodeDrainStatus status;
        node_drain_get_status(service->drain, &status);
        hello.draining = status.draining;
    }
    (void)snprintf(
        hello.layover, sizeof hello.layover, "%s", service->version ? service->version : "");
    TRY(node_hello_answer(&hello, &object));
    return http_response_json(response, object);
}
