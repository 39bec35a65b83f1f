#include <stdio.h>
#include <string.h>

#include <json-c/linkhash.h>

#include "store/accounts/tenants.h"
#include "store/accounts/tokens.h"
#include "tools/client/route_call.h"
#include "scheduler/http/client/json_fields.h"

const CommandOption command_tenant_options[] = {
    {"weight", "W", false, "its share (default 1)"},
    {"retention", "S", false, "seconds that finished jobs stay (default 7 days)"},
    {"quota", "KEY=VALUE", true, "a limit; VALUE none takes it away"},
    {0},
};
const CommandOption command_token_options[] = {
    {"role", "admin|user|node", false, "default user"},
    {0},
};

static void print_numbers(const char *what, json_object *numbers) {
    if (!json_object_is_type(numbers, json_type_object)) return;
    printf("  %s:", what);
    json_object_object_foreach(numbers, name, value) {
        if (value) printf(" %s %.15g", name, json_object_get_double(value));
    }
    printf("\n");
}

static void print_tenant(json_object *tenant) {
    printf("%-24s weight %lld, finished jobs stay %lld s\n", remote_text(tenant, "tenant"),
        (long long)remote_int(tenant, "weight"), (long long)remote_int(tenant, "retention"));
    print_numbers("limits", remote_field(tenant, "quotas"));
    print_numbers("used", remote_field(tenant, "used"));
}

static Error *add_quota(json_object *quotas, const char *text) {
    const char *equals = strchr(text, '=');
    char name[64];
    QuotaId quota;
    int64_t value;
    (void)snprintf(name, sizeof name, "%.*s", equals ? (int)(equals - text) : 0, text);
    if (!equals || !tenants_find_quota(name, &quota)) {
        TextBuilder OWN_TEXT(known) = {0};
        for (QuotaId id = 1; id < QUOTA_COUNT; id++)
            text_appendf(&known, "%s%s", id > 1 ? ", " : "", tenants_quota_name(id));
        FAIL(USAGE, "--quota %s: KEY=VALUE is wanted; keys: %s", text, text_builder_get(&known));
    }
    if (strcmp(equals + 1, "none") == 0)
        json_object_object_add(quotas, name, NULL);
    else if (text_parse_i64(equals + 1, &value) && value >= 0)
        json_object_object_add(quotas, name, json_object_new_int64(value));
    else
        FAIL(USAGE, "--quota %s: a whole number of at least 0 is wanted, or none", text);
    return NULL;
}

static Error *fill_tenant(const CommandContext *context, json_object *body) {
    int64_t weight, retention_s;
    const char *text;
    TRY(command_integer(context, "weight", 1, TENANT_WEIGHT_MAX, 1, &weight));
    if (command_flag(context, "weight")) json_fields_int(body, "weight", weight);
    TRY(command_integer(context, "retention", 0, INT64_MAX, 0, &retention_s));
    if (command_flag(context, "retention")) json_fields_int(body, "retention", retention_s);
    json_object *quotas = json_object_new_object();
    json_object_object_add(body, "quotas", quotas);
    for (uint32_t i = 0; (text = command_option_at(context, "quota", i)); i++)
        TRY(add_quota(quotas, text));
    return NULL;
}

/* add NAME, list, set NAME */
Error *command_tenant(CommandContext *context) {
    const char *what = context->arguments[0], *name = context->arguments[1];
    bool adds = strcmp(what, "add") == 0, sets = strcmp(what, "set") == 0;
    bool lists = strcmp(what, "list") == 0;
    OWN(HttpClient, client) = NULL;
    TextBuilder OWN_TEXT(path) = {0};
    json_object *body;
    if (!(adds || sets || lists) || lists != (context->argument_count == 1))
        FAIL(USAGE, "tenant: add NAME, list or set NAME is wanted");
    if (lists) {
        remote_path(&path, ROUTE_TENANT_LIST, NULL);
        TRY(remote_need(context, &client));
        return remote_list(context, client, &path, NULL, print_tenant);
    }
    remote_path(&path, sets ? ROUTE_TENANT_SET : ROUTE_TENANT_ADD, &name);
    TRY(json_fields_create(&body));
    if (adds) json_fields_text(body, "tenant", name);
    Error *error = fill_tenant(context, body);
    if (!error) error = remote_need(context, &client);
    if (error) {
        json_object_put(body);
        return error;
    }
    return remote_do(context, client, HTTP_METHOD_POST, &path, body, print_tenant);
}

static void print_token(json_object *token) {
    const char *text = remote_text(token, "token"), *tenant = remote_text(token, "tenant");
    const char *node = remote_text(token, "node");
    char created[32];
    remote_print_time(remote_real(token, "created"), created);
    printf("%6lld  %-6s %-24s %s\n", (long long)remote_int(token, "id"), remote_text(token, "role"),
        *tenant ? tenant
        : *node ? node
                : "-",
        created);
    if (*text) printf("%s\nIt is shown this once.\n", text);
}

static const RouteCall revoke_token = {
    .route = ROUTE_TOKEN_REVOKE,
    .skipped = 1,
    .line = "token {id} revoked",
};

static Error *create(const CommandContext *context, HttpClient *client) {
    TextBuilder OWN_TEXT(path) = {0};
    const char *role = command_option(context, "role");
    json_object *body;
    TokenRole known;
    if (role && !tokens_find_role(role, &known))
        FAIL(USAGE, "--role %s: admin, user or node is wanted", role);
    remote_path(&path, ROUTE_TOKEN_CREATE, NULL);
    TRY(json_fields_create(&body));
    if (role) json_fields_text(body, "role", role);
    if (context->tenant) json_fields_text(body, "tenant", context->tenant);
    return remote_do(context, client, HTTP_METHOD_POST, &path, body, print_token);
}

/* create, list, revoke ID */
Error *command_token(CommandContext *context) {
    const char *what = context->arguments[0];
    bool creates = strcmp(what, "create") == 0, lists = strcmp(what, "list") == 0;
    bool revokes = strcmp(what, "revoke") == 0;
    OWN(HttpClient, client) = NULL;
    TextBuilder OWN_TEXT(path) = {0};
    if (!(creates || lists || revokes) || revokes != (context->argument_count == 2))
        FAIL(USAGE, "token: create, list or revoke ID is wanted");
    if (revokes) return route_call_run(context, &revoke_token);
    TRY(remote_need(context, &client));
    if (creates) return create(context, client);
    remote_path(&path, ROUTE_TOKEN_LIST, NULL);
    return remote_list(context, client, &path, NULL, print_token);
}
