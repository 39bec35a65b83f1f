#include <string.h>

#include "base/allocator.h"
#include "base/text.h"
#include "compiler/frontend/base/onnx_internal.h"
#include "compiler/frontend/base/onnx_tensor.h"

static const Onnx__AttributeProto *find_in(const Onnx__NodeProto *proto, const char *name) {
    for (size_t i = 0; i < proto->n_attribute; i++)
        if (proto->attribute[i]->name && strcmp(proto->attribute[i]->name, name) == 0)
            return proto->attribute[i];
    return NULL;
}

static const Onnx__AttributeProto *find_default(
    const OnnxLocalFunction *function, const char *name) {
    for (uint32_t i = 0; i < function->default_count; i++)
        if (strcmp(function->defaults[i]->name, name) == 0) return function->defaults[i];
    return NULL;
}

/* Resolves an attribute in a function's body that refers to an attribute of the call, or to the
 * function's default value. NULL when neither exists. */
static const Onnx__AttributeProto *follow(
    const Onnx__AttributeProto *attribute, const OnnxScope *scope) {
    /* the default of the innermost function that has one so far */
    const Onnx__AttributeProto *fallback = NULL;
    while (attribute && attribute->ref_attr_name && attribute->ref_attr_name[0]) {
        if (!scope->caller) return NULL;
        const char *name = attribute->ref_attr_name;
        const Onnx__AttributeProto *otherwise = find_default(scope->function, name);
        if (otherwise) fallback = otherwise;
        attribute = find_in(scope->caller, name);
        if (!attribute) return fallback;
        scope = scope->caller_scope;
    }
    return attribute;
}

const Onnx__AttributeProto *onnx_attribute_find(const OnnxNode *node, const char *name) {
    return follow(find_in(node->proto, name), node->scope);
}

Error *onnx_attribute_int(const OnnxNode *node, const char *name, int64_t otherwise, int64_t *out) {
    const Onnx__AttributeProto *attribute = onnx_attribute_find(node, name);
    if (attribute && !attribute->has_i) FAIL(INVALID, "attribute %s is not an integer", name);
    *out = attribute ? attribute->i : otherwise;
    return NULL;
}

bool onnx_text_is(const ProtobufCBinaryData *text, const char *word) {
    const size_t length = strlen(word);
    return text->len == length && memcmp(text->data, word, length) == 0;
}

Error *onnx_attribute_ints(
    const OnnxNode *node, const char *name, const Onnx__AttributeProto **out) {
    const Onnx__AttributeProto *attribute = onnx_attribute_find(node, name);
    if (attribute && attribute->has_type &&
        attribute->type != ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INTS)
        FAIL(INVALID, "attribute %s is not a list of integers", name);
    *out = attribute;
    return NULL;
}

Error *onnx_attribute_graph(const OnnxNode *node, const char *name, const Onnx__GraphProto **out) {
    const Onnx__AttributeProto *attribute = onnx_attribute_find(node, name);
    if (!attribute || !attribute->g) FAIL(INVALID, "attribute %s (a graph) is missing", name);
    *out = attribute->g;
    return NULL;
}

char onnx_attribute_kind(const char *declaration, const char *name) {
    size_t length = strlen(name);
    for (const char *at = declaration; *at;) {
        if (strncmp(at, name, length) == 0 && at[length] == ':') return at[length + 1];
        while (*at && *at != ' ') at++;
        while (*at == ' ') at++;
    }
    return 0;
}

/* Attribute bytes to a text; released by the caller. */
static Error *copy_bytes(const ProtobufCBinaryData *bytes, const char *name, char **out) {
    if (!text_is_utf8((const char *)bytes->data, bytes->len))
        FAIL(INVALID, "attribute %s is not UTF-8", name);
    void *copy;
    TRY(memory_alloc(bytes->len + 1, 1, &copy));
    if (bytes->len) memcpy(copy, bytes->data, bytes->len);
    *out = copy;
    return NULL;
}

static Error *set_text(Attributes *attributes, const Onnx__AttributeProto *from, const char *name) {
    char *text;
    TRY(copy_bytes(&from->s, name, &text));
    Error *error = attributes_set_text(attributes, name, text);
    memory_free(text);
    return error;
}

static Error *set_texts(
    Attributes *attributes, const Onnx__AttributeProto *from, const char *name) {
    void *memory;
    TRY(memory_alloc(from->n_strings, sizeof(char *), &memory));
    char **texts = memory;
    Error *error = NULL;
    for (size_t i = 0; i < from->n_strings && !error; i++)
        error = copy_bytes(&from->strings[i], name, &texts[i]);
    if (!error)
        error = attributes_set_texts(
            attributes, name, (const char *const *)texts, (uint32_t)from->n_strings);
    for (size_t i = 0; i < from->n_strings; i++) memory_free(texts[i]);
    memory_free(memory);
    return error;
}

static Error *set_floats(
    Attributes *attributes, const Onnx__AttributeProto *from, const char *name) {
    void *memory;
    TRY(memory_alloc(from->n_floats, sizeof(double), &memory));
    double *values = memory;
    for (size_t i = 0; i < from->n_floats; i++) values[i] = (double)from->floats[i];
    Error *error = attributes_set_floats(attributes, name, values, (uint32_t)from->n_floats);
    memory_free(memory);
    return error;
}

static Error *set_tensor(const OnnxNode *node, Attributes *attributes,
    const Onnx__AttributeProto *from, const char *name) {
    OWN(Tensor, tensor) = NULL;
    TRY(onnx_tensor_read(from->t, node->import->folder, node->import->device, &tensor));
    if (tensor->dtype == DTYPE_STRING) FAIL(UNSUPPORTED, "attribute %s: strings", name);
    return attributes_set_tensor(attributes, name, tensor);
}

static bool holds(const Onnx__AttributeProto *from, char kind) {
    switch (kind) {
    case 'i':
    case 'd':
        return from->has_i;
    case 'f':
        return from->has_f;
    case 's':
        return from->has_s;
    case 't':
        return from->t != NULL;
    case 'I':
        return !from->has_type || from->type == ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INTS;
    case 'F':
        return !from->has_type || from->type == ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOATS;
    default:
        return !from->has_type || from->type == ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRINGS;
    }
}

static Error *set_one(const OnnxNode *node, Attributes *attributes,
    const Onnx__AttributeProto *from, const char *name, char kind) {
    DType dtype;
    if (!holds(from, kind)) FAIL(INVALID, "attribute %s has the wrong type", name);
    if (from->n_ints > ATTRIBUTE_LIST_MAX || from->n_floats > ATTRIBUTE_LIST_MAX ||
        from->n_strings > ATTRIBUTE_LIST_MAX)
        FAIL(UNSUPPORTED, "attribute %s has more than %d entries", name, ATTRIBUTE_LIST_MAX);
    switch (kind) {
    case 'i':
        return attributes_set_int(attributes, name, from->i);
    case 'f':
        return attributes_set_float(attributes, name, (double)from->f);
    case 's':
        return set_text(attributes, from, name);
    case 'I':
        return attributes_set_ints(attributes, name, from->ints, (uint32_t)from->n_ints);
    case 'F':
        return set_floats(attributes, from, name);
    case 'S':
        return set_texts(attributes, from, name);
    case 't':
        return set_tensor(node, attributes, from, name);
    default:
        if (from->i < INT32_MIN || from->i > INT32_MAX) FAIL(INVALID, "attribute %s", name);
        TRY_WRAP(onnx_dtype((int32_t)from->i, &dtype), "attribute %s", name);
        return attributes_set_dtype(attributes, name, dtype);
    }
}

static bool is_skipped(const char *const *skipped, const char *name) {
    /* a hint for memory planners of the first ONNX versions, without meaning */
    if (strcmp(name, "consumed_inputs") == 0) return true;
    for (; skipped && *skipped; skipped++)
        if (strcmp(*skipped, name) == 0) return true;
    return false;
}

Error *onnx_attribute_convert_declared(
    const OnnxNode *node, const char *declaration, const char *const *skipped, Attributes **out) {
    OWN(Attributes, attributes) = NULL;
    TRY(attributes_create(&attributes));
    for (size_t i = 0; i < node->proto->n_attribute; i++) {
        const char *name = node->proto->attribute[i]->name;
        if (!name || !name[0]) FAIL(INVALID, "an attribute without a name");
        const Onnx__AttributeProto *from = follow(node->proto->attribute[i], node->scope);
        if (!from || is_skipped(skipped, name)) continue;
        char kind = onnx_attribute_kind(declaration, name);
        if (!kind) FAIL(UNSUPPORTED, "attribute %s", name);
        TRY(set_one(node, attributes, from, name, kind));
    }
    *out = TAKE(attributes);
    return NULL;
}

Error *onnx_attribute_convert(
    const OnnxNode *node, const char *operator_name, const char *const *skipped, Attributes **out) {
    const OperatorInfo *info = operator_find(operator_name);
    if (!info) FAIL(UNSUPPORTED, "operator %s", operator_name);
    return onnx_attribute_convert_declared(node, info->attributes, skipped, out);
}

Error *onnx_attribute_check(const OnnxNode *node, const char *const *known) {
    for (size_t i = 0; i < node->proto->n_attribute; i++) {
        const char *name = node->proto->attribute[i]->name;
        if (!name || !name[0]) FAIL(INVALID, "an attribute without a name");
        uint32_t at = 0;
        while (known[at] && strcmp(known[at], name) != 0) at++;
        if (!known[at]) FAIL(UNSUPPORTED, "attribute %s", name);
    }
    return NULL;
}
