#include "tools/remote/remote_request.h"

#include <math.h>
#include <string.h>

#include "scheduler/http/client/json_body.h"

Error *remote_parse(const char *text, json_object **out) {
    Error *error = json_body_parse(text, strlen(text), out);
    return error_recode(error_wrap(error, "the server's answer"), ERROR_CORRUPT);
}

void remote_path(TextBuilder *path, RouteId route, const char *const *names) {
    const char *at = route_info(route)->pattern;
    for (const char *brace; (brace = strstr(at, "/{")); names++) {
        text_append_bytes(path, at, (size_t)(brace - at));
        http_client_path(path, *names);
        at = strchr(brace, '}') + 1;
    }
    text_append(path, at);
}

Error *remote_ask(HttpClient *client, HttpMethod method, const TextBuilder *path,
    json_object *owned_body, json_object **out) {
    HttpClientReply OWN_REPLY(reply) = {0};
    OWN_JSON(body) = owned_body;
    TRY(text_builder_check(path));
    HttpClientCall call = {
        .method = method,
        .path = text_builder_get(path),
        .json = body ? json_object_to_json_string_ext(body, JSON_C_TO_STRING_PLAIN) : NULL,
    };
    TRY(http_client_call(client, &call, &reply));
    return remote_parse(text_builder_get(&reply.text), out);
}

Error *remote_ask_route(
    HttpClient *client, RouteId route, const char *const *names, json_object **out) {
    TextBuilder OWN_TEXT(path) = {0};
    remote_path(&path, route, names);
    return remote_ask(client, route_info(route)->method, &path, NULL, out);
}

/* A server that names the same page again would be asked for ever. */
static Error *check_progress(const char *place, const HttpClientReply *reply) {
    if (strcmp(place, reply->place) == 0)
        FAIL(CORRUPT, "the server's list goes on at %s again", place);
    return NULL;
}

static void append_items(json_object *from, json_object *inout_to) {
    if (!json_object_is_type(from, json_type_array)) return;
    if (!json_object_is_type(inout_to, json_type_array)) return;
    for (size_t i = 0; i < json_object_array_length(from); i++)
        json_object_array_add(inout_to, json_object_get(json_object_array_get_idx(from, i)));
}

/* Writes the address of the next page, whose start the reply has. */
static Error *write_next(const TextBuilder *path, const HttpClientReply *reply, TextBuilder *out) {
    text_builder_deinit(out);
    text_append(out, text_builder_get(path));
    http_client_query(out, "after", reply->place);
    return text_builder_check(out);
}

Error *remote_visit_lines(HttpClient *client, HttpMethod method, const TextBuilder *path,
    json_object *body, HttpClientLineVisitor *visit, void *visit_context) {
    TextBuilder OWN_TEXT(next) = {0};
    TRY(text_builder_check(path));
    for (char place[HTTP_CLIENT_PLACE_SIZE] = "";;) {
        HttpClientReply OWN_REPLY(reply) = {0};
        HttpClientCall call = {.method = method,
            .path = text_builder_get(*place ? &next : path),
            .json = body ? json_object_to_json_string_ext(body, JSON_C_TO_STRING_PLAIN) : NULL,
            .visit = visit,
            .visit_context = visit_context};
        TRY(http_client_call(client, &call, &reply));
        if (!*reply.place) return NULL;
        TRY(check_progress(place, &reply));
        memcpy(place, reply.place, sizeof place);
        TRY(write_next(path, &reply, &next));
    }
}

Error *remote_ask_pages(
    HttpClient *client, const TextBuilder *path, const char *list, json_object **out) {
    TextBuilder OWN_TEXT(next) = {0};
    OWN_JSON(first) = NULL;
    TRY(text_builder_check(path));
    for (char place[HTTP_CLIENT_PLACE_SIZE] = "";;) {
        HttpClientReply OWN_REPLY(reply) = {0};
        HttpClientCall call = {.path = text_builder_get(*place ? &next : path)};
        OWN_JSON(page) = NULL;
        TRY(http_client_call(client, &call, &reply));
        TRY(remote_parse(text_builder_get(&reply.text), &page));
        if (!first)
            first = TAKE(page);
        else
            append_items(remote_field(page, list), remote_field(first, list));
        if (!*reply.place) break;
        TRY(check_progress(place, &reply));
        memcpy(place, reply.place, sizeof place);
        TRY(write_next(path, &reply, &next));
    }
    *out = TAKE(first);
    return NULL;
}

Error *remote_send_file(
    HttpClient *client, const TextBuilder *path, const char *file, json_object **out) {
    HttpClientReply OWN_REPLY(reply) = {0};
    TRY(text_builder_check(path));
    HttpClientCall call = {
        .method = HTTP_METHOD_POST, .path = text_builder_get(path), .file = file};
    Error *error = http_client_call(client, &call, &reply);
    ErrorCode code = error_code(error);
    if (code == ERROR_CORRUPT || code == ERROR_UNSUPPORTED) return error_wrap(error, "%s", file);
    TRY(error);
    return remote_parse(text_builder_get(&reply.text), out);
}

json_object *remote_field(json_object *object, const char *name) {
    json_object *value = NULL;
    return json_object_object_get_ex(object, name, &value) ? value : NULL;
}

const char *remote_text(json_object *object, const char *name) {
    json_object *value = remote_field(object, name);
    return json_object_is_type(value, json_type_string) ? json_object_get_string(value) : "";
}

int64_t remote_int(json_object *object, const char *name) {
    json_object *value = remote_field(object, name);
    return json_object_is_type(value, json_type_int) ? json_object_get_int64(value) : -1;
}

double remote_real(json_object *object, const char *name) {
    json_object *value = remote_field(object, name);
    bool number =
        json_object_is_type(value, json_type_double) || json_object_is_type(value, json_type_int);
    return number ? json_object_get_double(value) : NAN;
}

bool remote_flag(json_object *object, const char *name) {
    return json_object_get_boolean(remote_field(object, name));
}
