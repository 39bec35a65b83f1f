#include <assert.h>
#include <string.h>

#include "base/allocator.h"
#include "kernels/operator/attributes_internal.h"

bool attribute_declaration_next(const char **inout_text, AttributeDeclaration *out) {
    const char *at = *inout_text;
    while (*at == ' ') at++;
    if (*at == 0) return false;
    const char *colon = strchr(at, ':');
    assert(colon && colon - at < ATTRIBUTE_NAME_MAX && colon[1]);
    *out = (AttributeDeclaration){.kind = (AttributeKind)colon[1]};
    memcpy(out->name, at, (size_t)(colon - at));
    at = colon + 2;
    if (*at == '?') {
        out->optional = true;
        at++;
    } else if (*at == '=') {
        out->default_text = ++at;
        while (*at != ' ' && *at != 0) at++;
        out->default_size = (size_t)(at - out->default_text);
    }
    *inout_text = at;
    return true;
}

static const char *kind_name(AttributeKind kind) {
    switch (kind) {
    case ATTRIBUTE_INT:
        return "an integer";
    case ATTRIBUTE_FLOAT:
        return "a float";
    case ATTRIBUTE_TEXT:
        return "a text";
    case ATTRIBUTE_DTYPE:
        return "an element type";
    case ATTRIBUTE_INTS:
        return "a list of integers";
    case ATTRIBUTE_FLOATS:
        return "a list of floats";
    case ATTRIBUTE_TEXTS:
        return "a list of texts";
    case ATTRIBUTE_TENSOR:
        return "a tensor";
    }
    return "unknown";
}

/* Makes the declared default value. Only scalar kinds have one. */
static Error *make_default(const AttributeDeclaration *declaration, Attribute *out) {
    char text[ATTRIBUTE_NAME_MAX];
    assert(declaration->default_size < sizeof text);
    memcpy(text, declaration->default_text, declaration->default_size);
    text[declaration->default_size] = 0;
    Attribute made = {.kind = declaration->kind};
    bool ok = true;
    switch (declaration->kind) {
    case ATTRIBUTE_INT:
        ok = text_parse_i64(text, &made.int_value);
        break;
    case ATTRIBUTE_FLOAT:
        ok = text_parse_f64(text, &made.float_value);
        made.float_value = (double)(float)made.float_value; /* ONNX's floats are 32 bits wide */
        break;
    case ATTRIBUTE_TEXT:
        TRY(memory_copy_text(text, &made.text));
        break;
    case ATTRIBUTE_DTYPE:
        made.dtype = dtype_find(text);
        ok = made.dtype != DTYPE_NONE;
        break;
    case ATTRIBUTE_INTS:
    case ATTRIBUTE_FLOATS:
    case ATTRIBUTE_TEXTS:
    case ATTRIBUTE_TENSOR:
        ok = false;
        break;
    }
    assert(ok);
    (void)ok;
    memcpy(made.name, declaration->name, sizeof made.name);
    *out = made;
    return NULL;
}

/* The text form of an empty list has no element type: the list takes the declared one. */
static void adopt_empty_list(Attribute *attribute, AttributeKind declared) {
    if (attribute->kind == ATTRIBUTE_INTS && attribute->count == 0 &&
        (declared == ATTRIBUTE_FLOATS || declared == ATTRIBUTE_TEXTS))
        attribute->kind = declared;
}

static bool is_declared(const OperatorInfo *info, const char *name) {
    AttributeDeclaration declaration;
    for (const char *at = info->attributes; attribute_declaration_next(&at, &declaration);)
        if (strcmp(declaration.name, name) == 0) return true;
    return false;
}

/* Checks that every attribute is declared and of the declared kind, and that required ones are
 * present. */
static Error *check_entries(Attributes *attributes, const OperatorInfo *info) {
    for (uint32_t i = 0; i < attributes->count; i++)
        if (!is_declared(info, attributes->entries[i].name))
            FAIL(INVALID, "unknown attribute %s", attributes->entries[i].name);
    AttributeDeclaration declaration;
    for (const char *at = info->attributes; attribute_declaration_next(&at, &declaration);) {
        Attribute *attribute = (Attribute *)attributes_get(attributes, declaration.name);
        if (!attribute && !declaration.optional && !declaration.default_text)
            FAIL(INVALID, "attribute %s is missing", declaration.name);
        if (!attribute) continue;
        adopt_empty_list(attribute, declaration.kind);
        if (attribute->kind != declaration.kind)
            FAIL(INVALID, "attribute %s is %s, not %s", declaration.name,
                kind_name(attribute->kind), kind_name(declaration.kind));
    }
    return NULL;
}

/* Moves the declared attribute, or its default, to place `index`. */
static Error *settle(
    Attributes *attributes, uint32_t *inout_index, const AttributeDeclaration *declaration) {
    Attribute *at = (Attribute *)attributes_get(attributes, declaration->name);
    if (!at && !declaration->default_text) return NULL;
    if (!at) {
        TRY(attributes_grow(attributes));
        at = &attributes->entries[attributes->count];
        TRY(make_default(declaration, at));
        attributes->count++;
    }
    Attribute moved = *at, *place = &attributes->entries[(*inout_index)++];
    *at = *place;
    *place = moved;
    return NULL;
}

Error *attributes_check(Attributes *attributes, const struct OperatorInfo *operator_info) {
    TRY_WRAP(check_entries(attributes, operator_info), "%s", operator_info->name);
    uint32_t index = 0;
    AttributeDeclaration declaration;
    for (const char *at = operator_info->attributes; attribute_declaration_next(&at, &declaration);)
        TRY(settle(attributes, &index, &declaration));
    attributes->operator_info = operator_info;
    return NULL;
}
