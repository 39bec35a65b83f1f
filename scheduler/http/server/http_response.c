#include "scheduler/http/server/http_response.h"

#include <stdio.h>
#include <unistd.h>

static const char type_json[] = "application/json";
static const char type_lines[] = "application/jsonl";
static const char type_bytes[] = "application/octet-stream";

void http_response_init(HttpResponse *response) {
    *response = (HttpResponse){.descriptor = -1, .content_type = type_json};
}

void http_response_deinit(HttpResponse *response) {
    text_builder_deinit(&response->text);
    if (response->descriptor >= 0) (void)close(response->descriptor);
    if (response->kind == HTTP_BODY_STREAM && response->stream.close)
        response->stream.close(response->stream.self);
    if (response->wait.close) response->wait.close(response->wait.self);
    http_response_init(response);
}

static Error *append(HttpResponse *response, json_object *owned_object) {
    const char *text = json_object_to_json_string_ext(
        owned_object, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE);
    if (text) {
        text_append(&response->text, text);
        text_append(&response->text, "\n");
    } else
        response->text.failed = 1;
    json_object_put(owned_object);
    return text_builder_check(&response->text);
}

Error *http_response_json(HttpResponse *response, json_object *owned_object) {
    response->content_type = type_json;
    return append(response, owned_object);
}

void http_response_lines(HttpResponse *response) { response->content_type = type_lines; }

Error *http_response_line(HttpResponse *response, json_object *owned_object) {
    http_response_lines(response);
    return append(response, owned_object);
}

void http_response_file(HttpResponse *response, int owned_descriptor) {
    response->kind = HTTP_BODY_FILE;
    response->content_type = type_bytes;
    response->descriptor = owned_descriptor;
}

void http_response_constant(
    HttpResponse *response, const char *content_type, const void *data, size_t size) {
    response->kind = HTTP_BODY_CONSTANT;
    response->content_type = content_type;
    response->constant = data;
    response->constant_size = size;
}

void http_response_stream(HttpResponse *response, HttpStream stream) {
    response->kind = HTTP_BODY_STREAM;
    response->content_type = type_lines;
    response->stream = stream;
}

void http_response_wait(HttpResponse *response, HttpWait wait) { response->wait = wait; }

void http_response_bytes(HttpResponse *response, HttpStream stream) {
    http_response_stream(response, stream);
    response->content_type = type_bytes;
}

void http_response_header(HttpResponse *response, const char *name, const char *value) {
    if (response->header_count == HTTP_HEADERS_MAX) return;
    response->headers[response->header_count].name = name;
    (void)snprintf(
        response->headers[response->header_count++].value, HTTP_HEADER_VALUE_SIZE, "%s", value);
}

void http_response_error(HttpResponse *response, Error *owned_error) {
    const ErrorInfo *info = error_info(error_code(owned_error));
    http_response_deinit(response);
    response->status = info->http_status;
    json_object *object = json_object_new_object();
    json_object_object_add(object, "error", json_object_new_string(error_message(owned_error)));
    json_object_object_add(object, "code", json_object_new_string(info->name));
    Error *error = http_response_json(response, object);
    if (error) {
        error_free(error); /* no memory for the words: the status must do */
        text_builder_deinit(&response->text);
    }
    error_free(owned_error);
}
