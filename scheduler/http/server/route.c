#include "scheduler/http/server/route.h"

#include <string.h>

#include "base/text.h"

static const RouteInfo routes[ROUTE_COUNT] = {
#define ROUTE(name, method, pattern, role, body, limit, pace, handler, help)                       \
    {#name, HTTP_METHOD_##method, pattern, ROUTE_ROLE_##role, ROUTE_BODY_##body, limit,            \
        ROUTE_PACE_##pace, handler, help},
#include "scheduler/http/server/routes.def"
};

const RouteInfo *route_info(RouteId route) { return &routes[route]; }

const char *route_role_name(RouteRole role) {
    static const char *const names[] = {"anyone", "user", "admin", "node"};
    return names[role];
}

const char *route_body_name(RouteBody body) {
    static const char *const names[] = {"-", "JSON", "multipart", "stream", "JSON, tensors"};
    return names[body];
}

static int hex_value(char digit) {
    if (digit >= '0' && digit <= '9') return digit - '0';
    if (digit >= 'a' && digit <= 'f') return digit - 'a' + 10;
    if (digit >= 'A' && digit <= 'F') return digit - 'A' + 10;
    return -1;
}

Error *route_decode(const char *text, size_t length, bool plus, char *out) {
    size_t size = 0;
    for (size_t i = 0; i < length; i++) {
        int value = (unsigned char)text[i];
        if (text[i] == '%') {
            int high = length - i > 2 ? hex_value(text[i + 1]) : -1;
            int low = length - i > 2 ? hex_value(text[i + 2]) : -1;
            if (high < 0 || low < 0) FAIL(INVALID, "the address has a broken %%XX escape");
            value = high * 16 + low;
            i += 2;
        } else if (plus && text[i] == '+')
            value = ' ';
        if (value < 0x20 || value == 0x7f) FAIL(INVALID, "the address has a control character");
        out[size++] = (char)value;
    }
    out[size] = 0;
    if (!text_is_utf8(out, size)) FAIL(INVALID, "the address is not UTF-8");
    return NULL;
}

/* A path cut at its slashes; still encoded. */
typedef struct Segments {
    uint32_t count;
    struct {
        const char *text;
        size_t length;
    } items[ROUTE_SEGMENTS_MAX];
} Segments;

static bool split(const char *path, Segments *out) {
    out->count = 0;
    if (path[0] != '/') return false;
    for (const char *at = path + 1;; at++) {
        const char *end = strchrnul(at, '/');
        if (out->count == ROUTE_SEGMENTS_MAX) return false;
        out->items[out->count].text = at;
        out->items[out->count++].length = (size_t)(end - at);
        if (!*end) return true;
        at = end;
    }
}

static bool is_name(const Segments *pattern, uint32_t i) {
    return pattern->items[i].text[0] == '{';
}

/* Fixed segments are compared as they came: an address has one spelling. */
static bool fits(const Segments *pattern, const Segments *path) {
    if (pattern->count != path->count) return false;
    for (uint32_t i = 0; i < path->count; i++) {
        size_t length = path->items[i].length;
        if (is_name(pattern, i) ? length == 0
                                : length != pattern->items[i].length ||
                                      memcmp(path->items[i].text, pattern->items[i].text, length))
            return false;
    }
    return true;
}

static Error *take_names(const Segments *pattern, const Segments *path, RouteMatch *match) {
    match->name_count = 0;
    for (uint32_t i = 0; i < path->count; i++) {
        if (!is_name(pattern, i)) continue;
        if (path->items[i].length >= ROUTE_NAME_SIZE)
            FAIL(INVALID, "a name in the address has more than %d characters", ROUTE_NAME_SIZE - 1);
        TRY(route_decode(
            path->items[i].text, path->items[i].length, false, match->names[match->name_count++]));
    }
    return NULL;
}

static Error *fail_method(const Segments *path) {
    TextBuilder OWN_TEXT(methods) = {0};
    for (RouteId route = 0; route < ROUTE_COUNT; route++) {
        Segments pattern;
        if (split(routes[route].pattern, &pattern) && fits(&pattern, path))
            text_appendf(
                &methods, "%s%s", methods.size ? ", " : "", http_method_name(routes[route].method));
    }
    if (!methods.size) FAIL(NOT_FOUND, "no such address");
    FAIL(METHOD, "this address takes %s", text_builder_get(&methods));
}

Error *route_find(const char *method, const char *path, RouteMatch *out_match) {
    Segments segments, pattern;
    if (!split(path, &segments)) FAIL(NOT_FOUND, "no such address");
    for (RouteId route = 0; route < ROUTE_COUNT; route++) {
        if (strcmp(method, http_method_name(routes[route].method)) != 0) continue;
        if (!split(routes[route].pattern, &pattern) || !fits(&pattern, &segments)) continue;
        out_match->route = route;
        return take_names(&pattern, &segments, out_match);
    }
    return fail_method(&segments);
}
