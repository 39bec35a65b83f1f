#pragma once
/* Reads JSON from outside: parsed strictly, within limits, field by field. Called by the routes, by
 * the links between nodes and by the command line. Pure: an object belongs to its caller. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <json-c/json_object.h>

#include "base/error.h"

enum { JSON_BODY_DEPTH_MAX = 100 };

/* Parses one object with nothing after it. Empty text is an empty object. Release with
 * json_object_put. Errors: INVALID the fault and its place. */
MUST_CHECK Error *json_body_parse(const void *data, size_t size, json_object **out);
/* The same, where numbers may also be NaN, Infinity and -Infinity. */
MUST_CHECK Error *json_body_parse_floats(const void *data, size_t size, json_object **out);
/* Refuses unknown fields; names ends with NULL. Errors: INVALID a field that is not in names. */
MUST_CHECK Error *json_body_check_fields(json_object *object, const char *const *names);

/* Read one field. A missing field or null leaves *inout unchanged. Errors: INVALID another type, a
 * value out of range, a text with a NUL in it. Texts are borrowed from the object. */
MUST_CHECK Error *json_body_text(json_object *object, const char *name, const char **inout);
MUST_CHECK Error *json_body_number(
    json_object *object, const char *name, int64_t min, int64_t max, int64_t *inout);
MUST_CHECK Error *json_body_real(
    json_object *object, const char *name, double min, double max, double *inout);
MUST_CHECK Error *json_body_flag(json_object *object, const char *name, bool *inout);

static inline void json_body_put(json_object **object) { json_object_put(*object); }
#define OWN_JSON(name) __attribute__((cleanup(json_body_put))) json_object *name
