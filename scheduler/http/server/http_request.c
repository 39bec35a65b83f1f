#include "scheduler/http/server/http_request.h"

#include <string.h>

#include "base/allocator.h"

static Error *add_field(HttpRequest *request, const char *text, size_t length, char **inout_at) {
    const char *equals = memchr(text, '=', length);
    size_t name_length = equals ? (size_t)(equals - text) : length;
    if (request->query_count == HTTP_QUERY_MAX)
        FAIL(INVALID, "the query has more than %d fields", HTTP_QUERY_MAX);
    HttpField *field = &request->query[request->query_count];
    field->name = *inout_at;
    TRY(route_decode(text, name_length, true, field->name));
    *inout_at += name_length + 1;
    field->value = *inout_at;
    size_t value_length = equals ? length - name_length - 1 : 0;
    TRY(route_decode(equals ? equals + 1 : text, value_length, true, field->value));
    *inout_at += value_length + 1;
    request->query_count++;
    return NULL;
}

Error *http_request_parse_target(HttpRequest *request, const char *target, char *out_path) {
    size_t size = strlen(target), path_size = strcspn(target, "?");
    void *memory;
    if (size > HTTP_TARGET_SIZE_MAX)
        FAIL(TOO_LARGE, "the address has more than %d bytes", HTTP_TARGET_SIZE_MAX);
    memcpy(out_path, target, path_size);
    out_path[path_size] = 0;
    /* a field grows by one terminating NUL at most */
    TRY(memory_alloc(size + 2 * HTTP_QUERY_MAX + 2, 1, &memory));
    memory_free(request->query_text);
    request->query_text = memory;
    request->query_count = 0;
    char *at = memory;
    for (const char *text = target + path_size; *text;) {
        text++; /* the '?' or '&' */
        size_t length = strcspn(text, "&");
        if (length) TRY(add_field(request, text, length, &at));
        text += length;
    }
    return NULL;
}

void http_request_deinit(HttpRequest *request) {
    memory_free(request->query_text);
    request->query_text = NULL;
    request->query_count = 0;
}

const char *http_request_query_at(const HttpRequest *request, const char *name, uint32_t index) {
    for (uint32_t i = 0; i < request->query_count; i++)
        if (strcmp(request->query[i].name, name) == 0 && index-- == 0)
            return request->query[i].value;
    return NULL;
}

const char *http_request_query(const HttpRequest *request, const char *name) {
    return http_request_query_at(request, name, 0);
}

Error *http_request_query_number(
    const HttpRequest *request, const char *name, int64_t otherwise, int64_t *out) {
    const char *text = http_request_query(request, name);
    int64_t value = otherwise;
    if (text && (!text_parse_i64(text, &value) || value < 0))
        FAIL(INVALID, "?%s= wants a whole number of at least 0", name);
    *out = value;
    return NULL;
}

Error *http_request_query_flag(const HttpRequest *request, const char *name, bool *out) {
    const char *text = http_request_query(request, name);
    if (text && strcmp(text, "1") && strcmp(text, "true") && strcmp(text, "0") &&
        strcmp(text, "false"))
        FAIL(INVALID, "?%s= is 1 or 0", name);
    *out = text && (text[0] == '1' || text[0] == 't');
    return NULL;
}

Error *http_request_check_query(const HttpRequest *request, const char *const *names) {
    for (uint32_t i = 0; i < request->query_count; i++) {
        bool known = strcmp(request->query[i].name, "tenant") == 0;
        for (size_t k = 0; !known && names[k]; k++)
            known = strcmp(request->query[i].name, names[k]) == 0;
        if (!known) FAIL(INVALID, "this address has no query field %.64s", request->query[i].name);
    }
    return NULL;
}
