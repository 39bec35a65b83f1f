#include "tools/client/route_call.h"

#include <stdio.h>
#include <string.h>

#include "scheduler/http/client/json_body.h"
#include "scheduler/http/client/json_fields.h"
#include "tools/client/answer_line.h"

enum { FIELD_NAME_SIZE = 32 };

const CommandOption route_options[] = {
#define VERB(route, verb, behind, arguments, answer, line, summary, example) {0},
#define OPTION(route, name, kind, value, help) {name, value, false, help},
#include "scheduler/http/server/routes.def"
    {0},
};

/* Each stands where its option stands in route_options. */
static const RouteField route_fields[] = {
#define VERB(route, verb, behind, arguments, answer, line, summary, example) {0},
#define OPTION(route, name, kind, value, help) {name, ROUTE_FIELD_##kind},
#include "scheduler/http/server/routes.def"
    {0},
};

const RouteCall route_verbs[ROUTE_VERB_COUNT] = {
#define VERB(route_, verb, behind, arguments, answer_, line_, summary, example)                    \
    {.route = ROUTE_##route_,                                                                      \
        .fields = &route_fields[ROUTE_OPTIONS_##route_ + 1],                                       \
        .answer = ROUTE_ANSWER_##answer_,                                                          \
        .line = line_},
#include "scheduler/http/server/routes.def"
};

uint32_t route_call_count_names(const RouteCall *call) {
    uint32_t count = 0;
    for (const char *at = route_info(call->route)->pattern; *at; at++) count += *at == '{';
    return count;
}

/* The value of an option that is given. */
static json_object *make_value(RouteFieldKind kind, const char *text, int64_t number) {
    switch (kind) {
    case ROUTE_FIELD_TEXT:
        return json_object_new_string(text);
    case ROUTE_FIELD_INTEGER:
        return json_object_new_int64(number);
    case ROUTE_FIELD_FLAG:
        return json_object_new_boolean(1);
    }
    return NULL;
}

/* Adds an option's value to the body; body NULL: to the query. */
static Error *add_field(
    const CommandContext *context, const RouteField *field, json_object *body, TextBuilder *path) {
    char name[FIELD_NAME_SIZE];
    int64_t number = 0;
    const char *value = command_option(context, field->option);
    if (field->kind == ROUTE_FIELD_INTEGER)
        TRY(command_integer(context, field->option, 1, INT64_MAX, 1, &number));
    if (!value) return NULL;
    (void)snprintf(name, sizeof name, "%s", field->option);
    for (char *dash; (dash = strchr(name, '-'));) *dash = '_';
    if (body)
        json_object_object_add(body, name, make_value(field->kind, value, number));
    else
        http_client_query(path, name, field->kind == ROUTE_FIELD_FLAG ? "1" : value);
    return NULL;
}

/* out_body: NULL for a route that takes none. */
static Error *write_request(const CommandContext *context, const RouteCall *call, TextBuilder *path,
    json_object **out_body) {
    OWN_JSON(body) = NULL;
    remote_path(path, call->route, context->arguments + call->skipped);
    if (route_info(call->route)->body == ROUTE_BODY_JSON) TRY(json_fields_create(&body));
    for (const RouteField *field = call->fields; field && field->option; field++)
        TRY(add_field(context, field, body, path));
    *out_body = TAKE(body);
    return NULL;
}

Error *route_call_ask(
    const CommandContext *context, HttpClient *client, const RouteCall *call, json_object **out) {
    TextBuilder OWN_TEXT(path) = {0};
    json_object *body;
    TRY(write_request(context, call, &path, &body));
    return remote_ask(client, route_info(call->route)->method, &path, body, out);
}

Error *route_call_show(const CommandContext *context, json_object *owned_object, const char *line) {
    if (context->json) return command_print_json(owned_object);
    answer_line_print(line, owned_object);
    json_object_put(owned_object);
    return NULL;
}

typedef struct Lines {
    const CommandContext *context;
    const char *line; /* with the header, as long as that is not printed */
} Lines;

static Error *show_line(void *self, const char *text) {
    Lines *lines = self;
    json_object *object;
    TRY(remote_parse(text, &object));
    const char *end = strchr(lines->line, '\n');
    if (end && !lines->context->json) printf("%.*s\n", (int)(end - lines->line), lines->line);
    if (end) lines->line = end + 1;
    return route_call_show(lines->context, object, lines->line);
}

Error *route_call_run(const CommandContext *context, const RouteCall *call) {
    OWN(HttpClient, client) = NULL;
    TextBuilder OWN_TEXT(path) = {0};
    OWN_JSON(body) = NULL;
    json_object *object;
    const HttpMethod method = route_info(call->route)->method;
    TRY(write_request(context, call, &path, &body));
    TRY(remote_need(context, &client));
    if (call->answer == ROUTE_ANSWER_LINES) {
        Lines lines = {.context = context, .line = call->line};
        return remote_visit_lines(client, method, &path, body, show_line, &lines);
    }
    TRY(remote_ask(client, method, &path, TAKE(body), &object));
    return route_call_show(context, object, call->line);
}
