#pragma once
/* Builds JSON objects for answers and requests, field by field. Called by the routes, by service/,
 * by the links between nodes and by the command line. Pure: an object belongs to its caller. */
#include <math.h>
#include <stdint.h>

#include <json-c/json_object.h>

#include "base/error.h"

static inline MUST_CHECK Error *json_fields_create(json_object **out) {
    *out = json_object_new_object();
    if (!*out) FAIL(OUT_OF_MEMORY, "no memory for the answer");
    return NULL;
}
/* key: a constant text that the object does not have yet. value: consumed; NULL: null. */
static inline void json_fields_add(json_object *object, const char *key, json_object *value) {
    (void)json_object_object_add_ex(
        object, key, value, JSON_C_OBJECT_ADD_KEY_IS_NEW | JSON_C_OBJECT_ADD_CONSTANT_KEY);
}
/* value NULL: null. */
static inline void json_fields_text(json_object *object, const char *key, const char *value) {
    json_fields_add(object, key, value ? json_object_new_string(value) : NULL);
}
/* Empty: null. */
static inline void json_fields_text_or_null(
    json_object *object, const char *key, const char *value) {
    json_fields_text(object, key, *value ? value : NULL);
}
static inline void json_fields_int(json_object *object, const char *key, int64_t value) {
    json_fields_add(object, key, json_object_new_int64(value));
}
/* Negative: null. */
static inline void json_fields_int_or_null(json_object *object, const char *key, int64_t value) {
    json_fields_add(object, key, value < 0 ? NULL : json_object_new_int64(value));
}
/* Not finite: null, as JSON has no such numbers. */
static inline void json_fields_real(json_object *object, const char *key, double value) {
    json_fields_add(object, key, isfinite(value) ? json_object_new_double(value) : NULL);
}
