#pragma once
/* Finds members of JSON text: the metadata of page groups. Skips what it does not need, so text
 * that is no JSON may pass; callers compare every member that they use. Pure: no state. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A part of a text that another owns. */
typedef struct JsonSpan {
    const char *at;
    size_t size;
} JsonSpan;

JsonSpan json_span(const char *text);
/* The value of an object's member; false: there is none, or the span is no object. */
bool json_member(JsonSpan object, const char *name, JsonSpan *out);
/* Begins at an array's first item; false: the span is no array. */
bool json_items(JsonSpan array, JsonSpan *out_rest);
/* The next item; false: there is none. */
bool json_next(JsonSpan *inout_rest, JsonSpan *out);
bool json_int(JsonSpan value, int64_t *out);
bool json_number(JsonSpan value, double *out);
bool json_bool(JsonSpan value, bool *out);
/* Whether the value is this string, which has nothing that JSON escapes. */
bool json_is_string(JsonSpan value, const char *text);
