#include "vm/relax/relax_json.h"

#include <string.h>

#include "base/text.h"

enum { NUMBER_SIZE_MAX = 64 };

JsonSpan json_span(const char *text) { return (JsonSpan){text, strlen(text)}; }

static bool is_space(char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; }

static JsonSpan skip_space(JsonSpan text) {
    while (text.size > 0 && is_space(*text.at)) {
        text.at++;
        text.size--;
    }
    return text;
}

static JsonSpan advance(JsonSpan text, size_t size) {
    return skip_space((JsonSpan){text.at + size, text.size - size});
}

/* The size of a string with its quotes; 0: it does not end. */
static size_t string_size(JsonSpan text) {
    for (size_t i = 1; i < text.size; i++) {
        if (text.at[i] == '\\')
            i++;
        else if (text.at[i] == '"')
            return i + 1;
    }
    return 0;
}

/* The size of the value that a text begins with; 0: there is none. Brackets are counted, so any
 * depth takes no stack. */
static size_t value_size(JsonSpan text) {
    size_t depth = 0;
    for (size_t i = 0; i < text.size; i++) {
        char c = text.at[i];
        bool closes = c == '}' || c == ']';
        if (depth == 0 && (closes || c == ',' || is_space(c))) return i;
        if (c == '"') {
            size_t size = string_size((JsonSpan){text.at + i, text.size - i});
            if (size == 0) return 0;
            i += size - 1;
        } else if (c == '{' || c == '[') {
            depth++;
        } else if (closes && --depth == 0) {
            return i + 1;
        }
    }
    return depth == 0 ? text.size : 0;
}

bool json_member(JsonSpan object, const char *name, JsonSpan *out) {
    JsonSpan rest = skip_space(object);
    if (rest.size == 0 || *rest.at != '{') return false;
    rest = advance(rest, 1);
    while (rest.size > 0 && *rest.at == '"') {
        size_t key = string_size(rest);
        bool found = key == strlen(name) + 2 && memcmp(rest.at + 1, name, key - 2) == 0;
        if (key == 0) return false;
        rest = advance(rest, key);
        if (rest.size == 0 || *rest.at != ':') return false;
        rest = advance(rest, 1);
        size_t size = value_size(rest);
        if (size == 0) return false;
        *out = (JsonSpan){rest.at, size};
        if (found) return true;
        rest = advance(rest, size);
        if (rest.size == 0 || *rest.at != ',') return false;
        rest = advance(rest, 1);
    }
    return false;
}

bool json_items(JsonSpan array, JsonSpan *out_rest) {
    JsonSpan rest = skip_space(array);
    if (rest.size == 0 || *rest.at != '[') return false;
    *out_rest = advance(rest, 1);
    return true;
}

bool json_next(JsonSpan *inout_rest, JsonSpan *out) {
    size_t size = value_size(*inout_rest);
    if (size == 0) return false;
    *out = (JsonSpan){inout_rest->at, size};
    *inout_rest = advance(*inout_rest, size);
    if (inout_rest->size > 0 && *inout_rest->at == ',') *inout_rest = advance(*inout_rest, 1);
    return true;
}

/* A copy with an end, for the parsers of numbers. */
static bool copy_number(JsonSpan value, char out[NUMBER_SIZE_MAX]) {
    if (value.size == 0 || value.size >= NUMBER_SIZE_MAX) return false;
    memcpy(out, value.at, value.size);
    out[value.size] = '\0';
    return strchr("-0123456789", out[0]) != NULL;
}

bool json_int(JsonSpan value, int64_t *out) {
    char number[NUMBER_SIZE_MAX];
    return copy_number(value, number) && text_parse_i64(number, out);
}

bool json_number(JsonSpan value, double *out) {
    char number[NUMBER_SIZE_MAX];
    return copy_number(value, number) && text_parse_f64(number, out);
}

bool json_bool(JsonSpan value, bool *out) {
    *out = value.size == 4 && memcmp(value.at, "true", 4) == 0;
    return *out || (value.size == 5 && memcmp(value.at, "false", 5) == 0);
}

bool json_is_string(JsonSpan value, const char *text) {
    size_t size = strlen(text);
    return value.size == size + 2 && value.at[0] == '"' && memcmp(value.at + 1, text, size) == 0;
}
