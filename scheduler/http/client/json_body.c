#include "scheduler/http/client/json_body.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include <json-c/json_tokener.h>
#include <json-c/linkhash.h>

#include "base/text.h"

/* json-c's strict mode still accepts NaN, Infinity, texts in single quotes, comments, and line ends
 * in texts. Outside of texts JSON has few characters, and none of those is among them. */
static Error *check_characters(
    const char *text, size_t size, const char *plain, size_t *out_colons) {
    bool quoted = false;
    *out_colons = 0;
    for (size_t i = 0; i < size; i++) {
        *out_colons += !quoted && text[i] == ':';
        if (quoted && text[i] == '\\')
            i++;
        else if (text[i] == '"')
            quoted = !quoted;
        else if (text[i] == 0 || (quoted ? (unsigned char)text[i] < 0x20 : !strchr(plain, text[i])))
            FAIL(INVALID, "JSON: an unexpected character at byte %zu", i);
    }
    return NULL;
}

/* Counts the members of all objects inside. The parser limits the nesting. */
static size_t count_members(json_object *value) {
    size_t count = 0;
    if (json_object_is_type(value, json_type_array))
        for (size_t i = 0; i < json_object_array_length(value); i++)
            count += count_members(json_object_array_get_idx(value, i));
    if (!json_object_is_type(value, json_type_object)) return count;
    json_object_object_foreach(value, key, member) {
        (void)key;
        count += 1 + count_members(member);
    }
    return count;
}

/* plain: the characters that may stand outside of texts. */
static Error *parse(const void *data, size_t size, const char *plain, json_object **out) {
    if (size == 0) {
        *out = json_object_new_object();
        if (!*out) FAIL(OUT_OF_MEMORY, "no memory for an empty object");
        return NULL;
    }
    if (size > INT32_MAX) FAIL(TOO_LARGE, "JSON of %zu bytes", size);
    size_t colons;
    TRY(check_characters(data, size, plain, &colons));
    json_tokener *tokener = json_tokener_new_ex(JSON_BODY_DEPTH_MAX);
    if (!tokener) FAIL(OUT_OF_MEMORY, "no memory to parse JSON");
    json_tokener_set_flags(tokener, JSON_TOKENER_STRICT | JSON_TOKENER_VALIDATE_UTF8);
    json_object *object = json_tokener_parse_ex(tokener, data, (int)size);
    enum json_tokener_error problem = json_tokener_get_error(tokener);
    size_t end = json_tokener_get_parse_end(tokener);
    json_tokener_free(tokener);
    for (; problem == json_tokener_success && end < size; end++)
        if (!strchr(" \t\r\n", ((const char *)data)[end]))
            problem = json_tokener_error_parse_unexpected;
    if (problem == json_tokener_success && !json_object_is_type(object, json_type_object)) {
        json_object_put(object);
        FAIL(INVALID, "JSON: an object is wanted");
    }
    if (problem != json_tokener_success) {
        json_object_put(object);
        FAIL(INVALID, "JSON: %s at byte %zu",
            problem == json_tokener_continue ? "it ends early" : json_tokener_error_desc(problem),
            end);
    }
    if (count_members(object) != colons) { /* json-c keeps the last one and says nothing */
        json_object_put(object);
        FAIL(INVALID, "JSON: a field is given twice");
    }
    *out = object;
    return NULL;
}

#define PLAIN_CHARACTERS "{}[]:, \t\r\n0123456789+-.Eaeflnrstu"

Error *json_body_parse(const void *data, size_t size, json_object **out) {
    return parse(data, size, PLAIN_CHARACTERS, out);
}

/* json-c reads these numbers in any case; then only their own letters come together. */
Error *json_body_parse_floats(const void *data, size_t size, json_object **out) {
    return parse(data, size, PLAIN_CHARACTERS "INaity", out);
}

Error *json_body_check_fields(json_object *object, const char *const *names) {
    json_object_object_foreach(object, key, value) {
        bool known = false;
        (void)value;
        for (size_t i = 0; !known && names[i]; i++) known = strcmp(key, names[i]) == 0;
        if (!known) FAIL(INVALID, "there is no field %.64s", key);
    }
    return NULL;
}

/* NULL: missing or null. */
static json_object *find(json_object *object, const char *name) {
    json_object *value = NULL;
    return json_object_object_get_ex(object, name, &value) ? value : NULL;
}

Error *json_body_text(json_object *object, const char *name, const char **inout) {
    json_object *value = find(object, name);
    if (!value) return NULL;
    if (!json_object_is_type(value, json_type_string)) FAIL(INVALID, "%s: a text is wanted", name);
    const char *text = json_object_get_string(value);
    if (strlen(text) != (size_t)json_object_get_string_len(value))
        FAIL(INVALID, "%s: the text has a NUL", name);
    *inout = text;
    return NULL;
}

Error *json_body_number(
    json_object *object, const char *name, int64_t min, int64_t max, int64_t *inout) {
    json_object *value = find(object, name);
    if (!value) return NULL;
    errno = 0;
    int64_t number = json_object_is_type(value, json_type_int) ? json_object_get_int64(value) : 0;
    /* beyond int64 json-c answers the nearest one, or a uint64 */
    bool exact = json_object_is_type(value, json_type_int) &&
                 (number != INT64_MAX || json_object_get_uint64(value) == INT64_MAX);
    if (!exact || number < min || number > max)
        FAIL(INVALID, "%s: a whole number from %lld to %lld is wanted", name, (long long)min,
            (long long)max);
    *inout = number;
    return NULL;
}

Error *json_body_real(
    json_object *object, const char *name, double min, double max, double *inout) {
    json_object *value = find(object, name);
    if (!value) return NULL;
    bool number =
        json_object_is_type(value, json_type_int) || json_object_is_type(value, json_type_double);
    double real = number ? json_object_get_double(value) : 0;
    if (!number || !isfinite(real) || real < min || real > max)
        FAIL(INVALID, "%s: a number from %g to %g is wanted", name, min, max);
    *inout = real;
    return NULL;
}

Error *json_body_flag(json_object *object, const char *name, bool *inout) {
    json_object *value = find(object, name);
    if (!value) return NULL;
    if (!json_object_is_type(value, json_type_boolean))
        FAIL(INVALID, "%s: true or false is wanted", name);
    *inout = json_object_get_boolean(value);
    return NULL;
}
