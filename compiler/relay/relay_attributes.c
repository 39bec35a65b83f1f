/* Attributes of calls of operators. */
#include <string.h>

#include "compiler/relay/relay_build_internal.h"

const RelayValue *relay_attribute(const RelayOperatorCall *call, const char *name) {
    const RelayExpr *expr = call->expr;
    for (uint32_t i = 0; i < expr->attribute_count; i++)
        if (strcmp(expr->attributes[i].name, name) == 0 &&
            expr->attributes[i].value.kind != RELAY_VALUE_NONE)
            return &expr->attributes[i].value;
    return NULL;
}

static void print_value(const RelayValue *value, TextBuilder *out) {
    switch (value->kind) {
    case RELAY_VALUE_NONE:
        text_append(out, "None");
        return;
    case RELAY_VALUE_INT:
        text_appendf(out, "%lld", (long long)value->integer);
        return;
    case RELAY_VALUE_BOOL:
        text_append(out, value->integer ? "True" : "False");
        return;
    case RELAY_VALUE_FLOAT:
        text_appendf(out, "%g", value->number);
        return;
    case RELAY_VALUE_TEXT:
        text_appendf(out, "\"%.40s\"", value->text);
        return;
    case RELAY_VALUE_LIST:
        break;
    }
    text_appendf(out, "a list of %u", value->count);
}

static Error *wrong(const RelayValue *value, const char *name, const char *wanted) {
    TextBuilder OWN_TEXT(text) = {0};
    print_value(value, &text);
    FAIL(INVALID, "attribute %s is %s, not %s", name, text_builder_get(&text), wanted);
}

Error *relay_get_int(
    const RelayOperatorCall *call, const char *name, int64_t otherwise, int64_t *out) {
    const RelayValue *value = relay_attribute(call, name);
    *out = value ? value->integer : otherwise;
    if (!value || value->kind == RELAY_VALUE_INT || value->kind == RELAY_VALUE_BOOL) return NULL;
    return wrong(value, name, "an integer");
}

Error *relay_get_bool(const RelayOperatorCall *call, const char *name, bool otherwise, bool *out) {
    int64_t value;
    TRY(relay_get_int(call, name, otherwise, &value));
    *out = value != 0;
    return NULL;
}

Error *relay_get_float(
    const RelayOperatorCall *call, const char *name, double otherwise, double *out) {
    const RelayValue *value = relay_attribute(call, name);
    *out = !value                           ? otherwise
           : value->kind == RELAY_VALUE_INT ? (double)value->integer
                                            : value->number;
    if (!value || value->kind == RELAY_VALUE_INT || value->kind == RELAY_VALUE_FLOAT) return NULL;
    return wrong(value, name, "a number");
}

Error *relay_get_text(
    const RelayOperatorCall *call, const char *name, const char *otherwise, const char **out) {
    const RelayValue *value = relay_attribute(call, name);
    *out = value ? value->text : otherwise;
    if (value && value->kind != RELAY_VALUE_TEXT) return wrong(value, name, "a text");
    return NULL;
}

Error *relay_get_dtype(
    const RelayOperatorCall *call, const char *name, DType otherwise, DType *out) {
    const char *text;
    TRY(relay_get_text(call, name, "", &text));
    *out = otherwise;
    if (text[0] == '\0' || strcmp(text, "void") == 0) return NULL;
    *out = dtype_find(text);
    if (*out == DTYPE_NONE || *out == DTYPE_STRING)
        FAIL(INVALID, "attribute %s is %.40s, which is no element type", name, text);
    return NULL;
}

Error *relay_get_ints(const RelayOperatorCall *call, const char *name, int64_t out[RELAY_INTS_MAX],
    uint32_t *out_count) {
    const RelayValue *value = relay_attribute(call, name);
    *out_count = RELAY_ABSENT;
    if (!value) return NULL;
    if (value->kind == RELAY_VALUE_INT) {
        out[0] = value->integer;
        *out_count = 1;
        return NULL;
    }
    if (value->kind != RELAY_VALUE_LIST || value->count > RELAY_INTS_MAX)
        return wrong(value, name, "a list of at most 64 integers");
    for (uint32_t i = 0; i < value->count; i++) {
        if (value->items[i].kind != RELAY_VALUE_INT && value->items[i].kind != RELAY_VALUE_BOOL)
            return wrong(&value->items[i], name, "a list of integers");
        out[i] = value->items[i].integer;
    }
    *out_count = value->count;
    return NULL;
}

Error *relay_get_axis(const RelayOperatorCall *call, const char *name, uint32_t rank,
    int64_t otherwise, uint32_t *out) {
    int64_t axis;
    TRY(relay_get_int(call, name, otherwise, &axis));
    if (axis < -(int64_t)rank || axis >= (int64_t)rank)
        FAIL(INVALID, "attribute %s is %lld; the tensor has %u dimensions", name, (long long)axis,
            rank);
    *out = (uint32_t)(axis < 0 ? axis + rank : axis);
    return NULL;
}
