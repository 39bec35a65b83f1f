#include "kernels/operator/attributes.h"

#include <assert.h>
#include <string.h>

#include "base/allocator.h"
#include "kernels/operator/attributes_internal.h"

Error *attributes_create(Attributes **out) {
    void *block;
    TRY(memory_alloc(1, sizeof(Attributes), &block));
    Attributes *attributes = block;
    refcount_init(&attributes->refcount);
    *out = attributes;
    return NULL;
}

Attributes *attributes_retain(Attributes *attributes) {
    refcount_retain(&attributes->refcount);
    return attributes;
}

void attribute_deinit(Attribute *attribute) {
    switch (attribute->kind) {
    case ATTRIBUTE_TEXT:
        memory_free(attribute->text);
        break;
    case ATTRIBUTE_INTS:
        memory_free(attribute->ints);
        break;
    case ATTRIBUTE_FLOATS:
        memory_free(attribute->floats);
        break;
    case ATTRIBUTE_TEXTS:
        for (uint32_t i = 0; attribute->texts && i < attribute->count; i++)
            memory_free(attribute->texts[i]);
        memory_free(attribute->texts);
        break;
    case ATTRIBUTE_TENSOR:
        tensor_release(attribute->tensor);
        break;
    case ATTRIBUTE_INT:
    case ATTRIBUTE_FLOAT:
    case ATTRIBUTE_DTYPE:
        break;
    }
}

void attributes_release(Attributes *attributes) {
    if (!attributes || !refcount_release(&attributes->refcount)) return;
    for (uint32_t i = 0; i < attributes->count; i++) attribute_deinit(&attributes->entries[i]);
    memory_free(attributes->entries);
    memory_free(attributes);
}

static bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

Error *attributes_check_name(const char *name) {
    size_t length = strnlen(name, ATTRIBUTE_NAME_MAX);
    if (length == 0 || length >= ATTRIBUTE_NAME_MAX)
        FAIL(INVALID, "an attribute name of %zu letters or more", length);
    for (size_t i = 0; i < length; i++)
        if (!is_letter(name[i])) FAIL(INVALID, "attribute name \"%s\"", name);
    return NULL;
}

const Attribute *attributes_get(const Attributes *attributes, const char *name) {
    for (uint32_t i = 0; i < attributes->count; i++)
        if (strcmp(attributes->entries[i].name, name) == 0) return &attributes->entries[i];
    return NULL;
}

Error *attributes_grow(Attributes *attributes) {
    void *entries = attributes->entries;
    if (attributes->count == ATTRIBUTES_COUNT_MAX)
        FAIL(INVALID, "more than %d attributes", ATTRIBUTES_COUNT_MAX);
    TRY(memory_grow(&entries, attributes->count, &attributes->capacity, sizeof(Attribute)));
    attributes->entries = entries;
    return NULL;
}

Error *attributes_put(Attributes *attributes, const char *name, Attribute owned_attribute) {
    Error *error = attributes_check_name(name);
    Attribute *found = error ? NULL : (Attribute *)attributes_get(attributes, name);
    if (!error && !found) error = attributes_grow(attributes);
    if (error) {
        attribute_deinit(&owned_attribute);
        return error;
    }
    if (found)
        attribute_deinit(found);
    else
        found = &attributes->entries[attributes->count++];
    *found = owned_attribute;
    memset(found->name, 0, sizeof found->name);
    memcpy(found->name, name, strlen(name)); /* attributes_check_name has checked the length */
    attributes->operator_info = NULL;
    return NULL;
}

Error *attributes_set_int(Attributes *attributes, const char *name, int64_t value) {
    return attributes_put(attributes, name, (Attribute){.kind = ATTRIBUTE_INT, .int_value = value});
}

Error *attributes_set_float(Attributes *attributes, const char *name, double value) {
    return attributes_put(
        attributes, name, (Attribute){.kind = ATTRIBUTE_FLOAT, .float_value = value});
}

Error *attributes_set_text(Attributes *attributes, const char *name, const char *value) {
    if (strnlen(value, ATTRIBUTE_TEXT_MAX + 1) > ATTRIBUTE_TEXT_MAX)
        FAIL(INVALID, "attribute %s is longer than %d bytes", name, ATTRIBUTE_TEXT_MAX);
    Attribute attribute = {.kind = ATTRIBUTE_TEXT};
    TRY(memory_copy_text(value, &attribute.text));
    return attributes_put(attributes, name, attribute);
}

Error *attributes_set_dtype(Attributes *attributes, const char *name, DType value) {
    if (!dtype_is_known(value)) FAIL(INVALID, "attribute %s: element type %d", name, (int)value);
    return attributes_put(attributes, name, (Attribute){.kind = ATTRIBUTE_DTYPE, .dtype = value});
}

static Error *check_list(const char *name, uint32_t count) {
    if (count > ATTRIBUTE_LIST_MAX)
        FAIL(INVALID, "attribute %s has %u elements, %d are allowed", name, count,
            ATTRIBUTE_LIST_MAX);
    return NULL;
}

Error *attributes_set_ints(
    Attributes *attributes, const char *name, const int64_t *values, uint32_t count) {
    TRY(check_list(name, count));
    void *copy;
    TRY(memory_alloc(count, sizeof values[0], &copy));
    if (count) memcpy(copy, values, count * sizeof values[0]);
    return attributes_put(
        attributes, name, (Attribute){.kind = ATTRIBUTE_INTS, .count = count, .ints = copy});
}

Error *attributes_set_floats(
    Attributes *attributes, const char *name, const double *values, uint32_t count) {
    TRY(check_list(name, count));
    void *copy;
    TRY(memory_alloc(count, sizeof values[0], &copy));
    if (count) memcpy(copy, values, count * sizeof values[0]);
    return attributes_put(
        attributes, name, (Attribute){.kind = ATTRIBUTE_FLOATS, .count = count, .floats = copy});
}

Error *attributes_set_texts(
    Attributes *attributes, const char *name, const char *const *values, uint32_t count) {
    TRY(check_list(name, count));
    void *copies;
    TRY(memory_alloc(count, sizeof(char *), &copies));
    Attribute attribute = {.kind = ATTRIBUTE_TEXTS, .count = count, .texts = copies};
    for (uint32_t i = 0; i < count; i++) {
        Error *error = memory_copy_text(values[i], &attribute.texts[i]);
        if (error) {
            attribute_deinit(&attribute);
            return error;
        }
    }
    return attributes_put(attributes, name, attribute);
}

Error *attributes_set_tensor(Attributes *attributes, const char *name, struct Tensor *value) {
    if (!value->storage->device->class_->host_memory)
        FAIL(INVALID, "attribute %s is not in host memory", name);
    return attributes_put(
        attributes, name, (Attribute){.kind = ATTRIBUTE_TENSOR, .tensor = tensor_retain(value)});
}

static Error *copy_one(const Attribute *from, Attributes *to) {
    switch (from->kind) {
    case ATTRIBUTE_INT:
    case ATTRIBUTE_FLOAT:
    case ATTRIBUTE_DTYPE:
        return attributes_put(to, from->name, *from);
    case ATTRIBUTE_TEXT:
        return attributes_set_text(to, from->name, from->text);
    case ATTRIBUTE_INTS:
        return attributes_set_ints(to, from->name, from->ints, from->count);
    case ATTRIBUTE_FLOATS:
        return attributes_set_floats(to, from->name, from->floats, from->count);
    case ATTRIBUTE_TEXTS:
        return attributes_set_texts(to, from->name, (const char *const *)from->texts, from->count);
    case ATTRIBUTE_TENSOR:
        return attributes_set_tensor(to, from->name, from->tensor);
    }
    return NULL;
}

Error *attributes_copy_declared(
    const Attributes *from, const OperatorInfo *operator_info, Attributes *to) {
    AttributeDeclaration declaration;
    for (const char *at = operator_info->attributes;
         attribute_declaration_next(&at, &declaration);) {
        const Attribute *found = attributes_get(from, declaration.name);
        if (found && found->kind == declaration.kind) TRY(copy_one(found, to));
    }
    return NULL;
}

#ifndef NDEBUG
static bool is_declared(const Attributes *attributes, const char *name) {
    if (!attributes->operator_info) return false;
    AttributeDeclaration declaration;
    for (const char *at = attributes->operator_info->attributes;
         attribute_declaration_next(&at, &declaration);)
        if (strcmp(declaration.name, name) == 0) return true;
    return false;
}
#endif

static const Attribute *get(const Attributes *attributes, const char *name, AttributeKind kind) {
    const Attribute *attribute = attributes_get(attributes, name);
    assert(attribute || is_declared(attributes, name));
    assert(!attribute || attribute->kind == kind);
    (void)kind;
    return attribute;
}

bool attributes_has(const Attributes *attributes, const char *name) {
    return attributes_get(attributes, name) != NULL;
}

int64_t attributes_int(const Attributes *attributes, const char *name) {
    const Attribute *attribute = get(attributes, name, ATTRIBUTE_INT);
    return attribute ? attribute->int_value : 0;
}

double attributes_float(const Attributes *attributes, const char *name) {
    const Attribute *attribute = get(attributes, name, ATTRIBUTE_FLOAT);
    return attribute ? attribute->float_value : 0;
}

double attributes_float_at(const Attributes *attributes, uint32_t index) {
    assert(index < attributes->count && attributes->entries[index].kind == ATTRIBUTE_FLOAT);
    return attributes->entries[index].float_value;
}

const char *attributes_text(const Attributes *attributes, const char *name) {
    const Attribute *attribute = get(attributes, name, ATTRIBUTE_TEXT);
    return attribute ? attribute->text : "";
}

DType attributes_dtype(const Attributes *attributes, const char *name) {
    const Attribute *attribute = get(attributes, name, ATTRIBUTE_DTYPE);
    return attribute ? attribute->dtype : DTYPE_NONE;
}

const int64_t *attributes_ints(
    const Attributes *attributes, const char *name, uint32_t *out_count) {
    const Attribute *attribute = get(attributes, name, ATTRIBUTE_INTS);
    *out_count = attribute ? attribute->count : 0;
    return attribute ? attribute->ints : NULL;
}

const double *attributes_floats(
    const Attributes *attributes, const char *name, uint32_t *out_count) {
    const Attribute *attribute = get(attributes, name, ATTRIBUTE_FLOATS);
    *out_count = attribute ? attribute->count : 0;
    return attribute ? attribute->floats : NULL;
}

uint32_t attributes_text_count(const Attributes *attributes, const char *name) {
    const Attribute *attribute = get(attributes, name, ATTRIBUTE_TEXTS);
    return attribute ? attribute->count : 0;
}

const char *attributes_string_at(const Attributes *attributes, const char *name, uint32_t index) {
    const Attribute *attribute = get(attributes, name, ATTRIBUTE_TEXTS);
    return attribute && index < attribute->count ? attribute->texts[index] : NULL;
}

struct Tensor *attributes_tensor(const Attributes *attributes, const char *name) {
    const Attribute *attribute = get(attributes, name, ATTRIBUTE_TENSOR);
    return attribute ? attribute->tensor : NULL;
}
