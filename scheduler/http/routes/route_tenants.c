#include <string.h>

#include <json-c/linkhash.h>

#include "scheduler/http/server/http_page.h"
#include "scheduler/http/server/http_service.h"
#include "scheduler/http/client/json_body.h"
#include "scheduler/http/client/json_fields.h"
#include "store/database/job_id.h"
#include "store/accounts/tenants.h"
#include "store/accounts/tokens.h"

static const char *const no_fields[] = {NULL};

static Error *tenant_json(const HttpService *service, const Tenant *tenant, json_object **out) {
    json_object *object, *quotas, *used;
    JobsApiUse use = {0};
    service->jobs.class_->use(service->jobs.self, tenant->id, &use);
    TRY(json_fields_create(&object));
    json_fields_text(object, "tenant", tenant->name);
    json_fields_int(object, "weight", tenant->weight);
    quotas = json_object_new_object();
    for (QuotaId quota = 1; quota < QUOTA_COUNT; quota++)
        json_fields_int_or_null(quotas, tenants_quota_name(quota), tenant->quotas[quota]);
    json_object_object_add(object, "quotas", quotas);
    used = json_object_new_object();
    json_fields_int(used, "store_bytes", (int64_t)tenant->bytes_stored);
    json_fields_int(used, "output_bytes", (int64_t)tenant->output_bytes);
    json_fields_int(used, "checkpoints", tenant->checkpoints);
    /* the store takes a job that runs for a queued one */
    json_fields_int(used, "queued_jobs",
        tenant->queued_jobs > use.running_jobs ? tenant->queued_jobs - use.running_jobs : 0);
    json_fields_int(used, "running_jobs", use.running_jobs);
    json_fields_real(used, "device_seconds_per_hour", use.device_seconds_per_hour);
    json_object_object_add(object, "used", used);
    json_fields_int(object, "retention", tenant->retention_s);
    json_fields_real(object, "created", tenant->created);
    *out = object;
    return NULL;
}

Error *route_tenant_list(HttpService *service, const HttpRequest *request, HttpResponse *response) {
    OWN(TenantList, list) = NULL;
    HttpPage page;
    json_object *line;
    TRY(http_page_read_text(request, &page));
    TRY(tenants_list_page(service->store, page.after_text, page.limit + 1, &list));
    http_response_lines(response);
    for (size_t i = 0; i < list->count && http_page_take(&page, response); i++) {
        TRY(tenant_json(service, &list->items[i], &line));
        TRY(http_response_line(response, line));
    }
    if (page.count > 0) http_page_end_text(&page, list->items[page.count - 1].name, response);
    return NULL;
}

typedef struct TenantChange {
    const char *name; /* of a new one; NULL: of tenant */
    TenantId tenant;
    int64_t weight;      /* 0: unchanged */
    int64_t retention_s; /* -1: unchanged */
    bool sets[QUOTA_COUNT];
    int64_t quotas[QUOTA_COUNT];
} TenantChange;

static Error *apply(Connection *catalog, void *context) {
    TenantChange *wanted = context;
    if (wanted->name) TRY(tenants_add(catalog, wanted->name, &wanted->tenant));
    if (wanted->weight) TRY(tenants_set_weight(catalog, wanted->tenant, wanted->weight));
    if (wanted->retention_s >= 0)
        TRY(tenants_set_retention(catalog, wanted->tenant, wanted->retention_s));
    for (QuotaId quota = 1; quota < QUOTA_COUNT; quota++)
        if (wanted->sets[quota])
            TRY(tenants_set_quota(catalog, wanted->tenant, quota, wanted->quotas[quota]));
    return NULL;
}

/* {"store_bytes": 1000, "depth": null}: null takes a limit away. */
static Error *read_quotas(json_object *body, TenantChange *wanted) {
    json_object *quotas = NULL;
    if (!json_object_object_get_ex(body, "quotas", &quotas) || !quotas) return NULL;
    if (!json_object_is_type(quotas, json_type_object))
        FAIL(INVALID, "quotas: an object is wanted");
    json_object_object_foreach(quotas, name, value) {
        QuotaId quota;
        if (!tenants_find_quota(name, &quota)) FAIL(INVALID, "there is no quota %.64s", name);
        wanted->sets[quota] = true;
        wanted->quotas[quota] = QUOTA_UNLIMITED;
        if (value) TRY(json_body_number(quotas, name, 0, INT64_MAX, &wanted->quotas[quota]));
    }
    return NULL;
}

static Error *read_change(json_object *body, TenantChange *wanted) {
    wanted->retention_s = -1;
    TRY(json_body_number(body, "weight", 1, TENANT_WEIGHT_MAX, &wanted->weight));
    TRY(json_body_number(body, "retention", 0, INT64_MAX, &wanted->retention_s));
    return read_quotas(body, wanted);
}

static Error *answer_tenant(HttpService *service, TenantId id, HttpResponse *response) {
    Tenant tenant;
    json_object *object;
    TRY(tenants_get(service->store, id, &tenant));
    TRY(tenant_json(service, &tenant, &object));
    return http_response_json(response, object);
}

Error *route_tenant_add(HttpService *service, const HttpRequest *request, HttpResponse *response) {
    static const char *const fields[] = {"tenant", "weight", "retention", "quotas", NULL};
    TenantChange wanted = {0};
    OWN_JSON(body) = NULL;
    TRY(http_request_check_query(request, no_fields));
    TRY(json_body_parse(request->body, request->body_size, &body));
    TRY(json_body_check_fields(body, fields));
    TRY(json_body_text(body, "tenant", &wanted.name));
    if (!wanted.name) FAIL(INVALID, "tenant: a name is wanted");
    TRY(read_change(body, &wanted));
    TRY(http_service_change(service, apply, &wanted));
    return answer_tenant(service, wanted.tenant, response);
}

Error *route_tenant_set(HttpService *service, const HttpRequest *request, HttpResponse *response) {
    static const char *const fields[] = {"weight", "retention", "quotas", NULL};
    TenantChange wanted = {0};
    OWN_JSON(body) = NULL;
    TRY(http_request_check_query(request, no_fields));
    TRY(json_body_parse(request->body, request->body_size, &body));
    TRY(json_body_check_fields(body, fields));
    TRY(read_change(body, &wanted));
    TRY(store_find_tenant(service->store, http_request_name(request, 0), &wanted.tenant));
    TRY(http_service_change(service, apply, &wanted));
    service->jobs.class_->tenant_changed(service->jobs.self, wanted.tenant);
    return answer_tenant(service, wanted.tenant, response);
}

/* text: NULL if the token is not shown. */
static Error *token_json(const Token *token, const char *text, json_object **out) {
    char node[JOB_ID_NODE_TEXT_SIZE] = "";
    json_object *object;
    TRY(json_fields_create(&object));
    if (token->node) job_id_print_node(token->node, node);
    json_fields_int(object, "id", token->id);
    if (text) json_fields_text(object, "token", text);
    json_fields_text_or_null(object, "tenant", token->tenant_name);
    json_fields_text(object, "role", tokens_role_name(token->role));
    json_fields_text_or_null(object, "node", node);
    json_fields_real(object, "created", token->created);
    *out = object;
    return NULL;
}

Error *route_token_list(HttpService *service, const HttpRequest *request, HttpResponse *response) {
    OWN(TokenList, list) = NULL;
    HttpPage page;
    json_object *line;
    TRY(http_page_read(request, NULL, &page));
    TRY(tokens_list(service->store, page.after, page.limit + 1, &list));
    http_response_lines(response);
    for (size_t i = 0; i < list->count && http_page_take(&page, response); i++) {
        TRY(token_json(&list->items[i], NULL, &line));
        TRY(http_response_line(response, line));
    }
    if (page.count > 0) http_page_end(&page, list->items[page.count - 1].id, response);
    return NULL;
}

typedef struct TokenChange {
    TenantId tenant;
    TokenRole role;
    Token token;
    char text[TOKEN_TEXT_SIZE];
} TokenChange;

static Error *create(Connection *catalog, void *context) {
    TokenChange *wanted = context;
    return tokens_create(catalog, wanted->tenant, wanted->role, &wanted->token, wanted->text);
}

/* A node's token is for all tenants; the others without a tenant are the default one's. */
Error *route_token_create(
    HttpService *service, const HttpRequest *request, HttpResponse *response) {
    static const char *const fields[] = {"tenant", "role", NULL};
    TokenChange wanted = {.role = TOKEN_ROLE_USER};
    const char *tenant = NULL, *role = NULL;
    json_object *object;
    OWN_JSON(body) = NULL;
    TRY(http_request_check_query(request, no_fields));
    TRY(json_body_parse(request->body, request->body_size, &body));
    TRY(json_body_check_fields(body, fields));
    TRY(json_body_text(body, "tenant", &tenant));
    TRY(json_body_text(body, "role", &role));
    if (request->caller.session)
        FAIL(REFUSED, "a session makes no tokens, which would outlive it: show a token");
    if (role && !tokens_find_role(role, &wanted.role))
        FAIL(INVALID, "role: user, admin or node is wanted");
    if (tenant)
        TRY(store_find_tenant(service->store, tenant, &wanted.tenant));
    else
        wanted.tenant = wanted.role == TOKEN_ROLE_NODE ? TOKEN_TENANT_NONE : TENANT_DEFAULT;
    TRY(http_service_change(service, create, &wanted));
    TRY(token_json(&wanted.token, wanted.text, &object));
    return http_response_json(response, object);
}

static Error *revoke(Connection *catalog, void *context) {
    return tokens_revoke(catalog, *(const int64_t *)context);
}

Error *route_token_revoke(
    HttpService *service, const HttpRequest *request, HttpResponse *response) {
    int64_t id;
    json_object *object;
    TRY(http_request_check_query(request, no_fields));
    if (!text_parse_i64(http_request_name(request, 0), &id) || id < 1)
        FAIL(NOT_FOUND, "no token %.64s", http_request_name(request, 0));
    TRY(http_service_change(service, revoke, &id));
    TRY(json_fields_create(&object));
    json_fields_int(object, "id", id);
    return http_response_json(response, object);
}
