#include <string.h>

#include "base/allocator.h"
#include "base/digest.h"
#include "kernels/operator/attributes_internal.h"

/* u32 count, then each: text name, u8 kind letter, and
 *   i  i64        f  f64        s  text       d  u32 element type
 *   I  u32 count, i64…          F  u32 count, f64…      S  u32 count, text…
 *   t  u32 element type, u32 rank, i64 dims…, u64 size, bytes (compact, little-endian) */

static void write_tensor(const Tensor *tensor, ByteWriter *writer) {
    byte_write_u32(writer, (uint32_t)tensor->dtype);
    byte_write_u32(writer, tensor->shape.rank);
    for (uint32_t i = 0; i < tensor->shape.rank; i++) byte_write_i64(writer, tensor->shape.dims[i]);
    byte_write_u64(writer, tensor_bytes(tensor));
    byte_write_bytes(writer, tensor_data(tensor), tensor_bytes(tensor));
}

static void write_one(const Attribute *attribute, ByteWriter *writer) {
    byte_write_text(writer, attribute->name);
    byte_write_u8(writer, (uint8_t)attribute->kind);
    switch (attribute->kind) {
    case ATTRIBUTE_INT:
        byte_write_i64(writer, attribute->int_value);
        break;
    case ATTRIBUTE_FLOAT:
        byte_write_f64(writer, attribute->float_value);
        break;
    case ATTRIBUTE_TEXT:
        byte_write_text(writer, attribute->text);
        break;
    case ATTRIBUTE_DTYPE:
        byte_write_u32(writer, (uint32_t)attribute->dtype);
        break;
    case ATTRIBUTE_INTS:
        byte_write_u32(writer, attribute->count);
        for (uint32_t i = 0; i < attribute->count; i++) byte_write_i64(writer, attribute->ints[i]);
        break;
    case ATTRIBUTE_FLOATS:
        byte_write_u32(writer, attribute->count);
        for (uint32_t i = 0; i < attribute->count; i++)
            byte_write_f64(writer, attribute->floats[i]);
        break;
    case ATTRIBUTE_TEXTS:
        byte_write_u32(writer, attribute->count);
        for (uint32_t i = 0; i < attribute->count; i++)
            byte_write_text(writer, attribute->texts[i]);
        break;
    case ATTRIBUTE_TENSOR:
        write_tensor(attribute->tensor, writer);
        break;
    }
}

void attributes_write(const Attributes *attributes, ByteWriter *writer) {
    byte_write_u32(writer, attributes->count);
    for (uint32_t i = 0; i < attributes->count; i++) write_one(&attributes->entries[i], writer);
}

static Error *read_tensor(ByteReader *reader, Tensor **out) {
    uint32_t dtype, rank;
    TRY(byte_read_u32(reader, &dtype));
    TRY(byte_read_u32(reader, &rank));
    if (!dtype_is_known(dtype)) FAIL(CORRUPT, "element type %u", dtype);
    if (rank > SHAPE_RANK_MAX) FAIL(CORRUPT, "rank %u", rank);
    Shape shape = {.rank = rank};
    for (uint32_t i = 0; i < rank; i++) TRY(byte_read_i64(reader, &shape.dims[i]));
    uint64_t bytes, size;
    TRY(byte_read_u64(reader, &size));
    TRY(error_recode(shape_bytes(&shape, (DType)dtype, &bytes), ERROR_CORRUPT));
    if (size != bytes) FAIL(CORRUPT, "a tensor's size is not that of its shape");
    const uint8_t *view;
    TRY(byte_read_view(reader, size, &view));
    OWN(Tensor, tensor) = NULL;
    TRY(tensor_create_on_host(device_host(), (DType)dtype, &shape, &tensor));
    if (size) memcpy(tensor_data(tensor), view, size);
    tensor->storage->sealed = true;
    *out = TAKE(tensor);
    return NULL;
}

static Error *read_ints(ByteReader *reader, Attribute *attribute) {
    uint32_t count;
    TRY(byte_read_count(reader, sizeof(int64_t), &count));
    if (count > ATTRIBUTE_LIST_MAX) FAIL(CORRUPT, "a list of %u", count);
    void *values;
    TRY(memory_alloc(count, sizeof(int64_t), &values));
    /* set before the elements, so that a failure frees it; byte_read_count has checked the count */
    attribute->ints = values;
    attribute->count = count;
    for (uint32_t i = 0; i < count; i++) TRY(byte_read_i64(reader, &attribute->ints[i]));
    return NULL;
}

static Error *read_floats(ByteReader *reader, Attribute *attribute) {
    uint32_t count;
    TRY(byte_read_count(reader, sizeof(double), &count));
    if (count > ATTRIBUTE_LIST_MAX) FAIL(CORRUPT, "a list of %u", count);
    void *values;
    TRY(memory_alloc(count, sizeof(double), &values));
    attribute->floats = values;
    attribute->count = count;
    for (uint32_t i = 0; i < count; i++) TRY(byte_read_f64(reader, &attribute->floats[i]));
    return NULL;
}

static Error *read_texts(ByteReader *reader, Attribute *attribute) {
    uint32_t count;
    TRY(byte_read_count(reader, sizeof(uint32_t), &count));
    if (count > ATTRIBUTE_LIST_MAX) FAIL(CORRUPT, "a list of %u", count);
    void *values;
    TRY(memory_alloc(count, sizeof(char *), &values));
    attribute->texts = values;
    attribute->count = count;
    for (uint32_t i = 0; i < count; i++)
        TRY(byte_read_text(reader, ATTRIBUTE_TEXT_MAX, &attribute->texts[i]));
    return NULL;
}

static Error *read_value(ByteReader *reader, Attribute *attribute) {
    switch (attribute->kind) {
    case ATTRIBUTE_INT:
        return byte_read_i64(reader, &attribute->int_value);
    case ATTRIBUTE_FLOAT:
        return byte_read_f64(reader, &attribute->float_value);
    case ATTRIBUTE_TEXT:
        return byte_read_text(reader, ATTRIBUTE_TEXT_MAX, &attribute->text);
    case ATTRIBUTE_DTYPE: {
        uint32_t dtype;
        TRY(byte_read_u32(reader, &dtype));
        if (!dtype_is_known(dtype)) FAIL(CORRUPT, "element type %u", dtype);
        attribute->dtype = (DType)dtype;
        return NULL;
    }
    case ATTRIBUTE_INTS:
        return read_ints(reader, attribute);
    case ATTRIBUTE_FLOATS:
        return read_floats(reader, attribute);
    case ATTRIBUTE_TEXTS:
        return read_texts(reader, attribute);
    case ATTRIBUTE_TENSOR:
        return read_tensor(reader, &attribute->tensor);
    }
    FAIL(CORRUPT, "attribute kind %d", (int)attribute->kind);
}

static Error *read_one(ByteReader *reader, Attributes *attributes) {
    char *name = NULL;
    TRY(byte_read_text(reader, ATTRIBUTE_NAME_MAX - 1, &name));
    uint8_t kind = 0;
    Error *error = byte_read_u8(reader, &kind);
    Attribute attribute = {.kind = (AttributeKind)kind};
    if (!error) error = read_value(reader, &attribute);
    if (!error && attributes_get(attributes, name))
        error = error_make(ERROR_CORRUPT, __FILE__, __LINE__, "attribute %s twice", name);
    if (error)
        attribute_deinit(&attribute);
    else
        error = error_recode(attributes_put(attributes, name, attribute), ERROR_CORRUPT);
    if (error) error = error_wrap(error, "attribute \"%s\"", name);
    memory_free(name);
    return error;
}

Error *attributes_read(ByteReader *reader, Attributes **out) {
    uint32_t count;
    TRY(byte_read_count(reader, sizeof(uint32_t) + 1, &count));
    if (count > ATTRIBUTES_COUNT_MAX) FAIL(CORRUPT, "%u attributes", count);
    OWN(Attributes, attributes) = NULL;
    TRY(attributes_create(&attributes));
    for (uint32_t i = 0; i < count; i++) TRY(read_one(reader, attributes));
    *out = TAKE(attributes);
    return NULL;
}

static bool texts_equal(const Attribute *a, const Attribute *b) {
    for (uint32_t i = 0; i < a->count; i++)
        if (strcmp(a->texts[i], b->texts[i]) != 0) return false;
    return true;
}

static bool tensors_equal(const Tensor *a, const Tensor *b) {
    if (a->dtype != b->dtype || !shape_equal(&a->shape, &b->shape)) return false;
    size_t bytes = tensor_bytes(a);
    return bytes == 0 || memcmp(tensor_data(a), tensor_data(b), bytes) == 0;
}

/* Compares bit for bit: -0 and 0 differ, and a NaN equals itself. */
static bool one_equal(const Attribute *a, const Attribute *b) {
    if (strcmp(a->name, b->name) != 0 || a->kind != b->kind) return false;
    switch (a->kind) {
    case ATTRIBUTE_INT:
        return a->int_value == b->int_value;
    case ATTRIBUTE_FLOAT:
        return memcmp(&a->float_value, &b->float_value, sizeof(double)) == 0;
    case ATTRIBUTE_TEXT:
        return strcmp(a->text, b->text) == 0;
    case ATTRIBUTE_DTYPE:
        return a->dtype == b->dtype;
    case ATTRIBUTE_INTS:
        return a->count == b->count && memcmp(a->ints, b->ints, a->count * sizeof(int64_t)) == 0;
    case ATTRIBUTE_FLOATS:
        return a->count == b->count && memcmp(a->floats, b->floats, a->count * sizeof(double)) == 0;
    case ATTRIBUTE_TEXTS:
        return a->count == b->count && texts_equal(a, b);
    case ATTRIBUTE_TENSOR:
        return tensors_equal(a->tensor, b->tensor);
    }
    return false;
}

bool attributes_equal(const Attributes *a, const Attributes *b) {
    if (a->count != b->count) return false;
    for (uint32_t i = 0; i < a->count; i++)
        if (!one_equal(&a->entries[i], &b->entries[i])) return false;
    return true;
}

static uint64_t hash_one(const Attribute *attribute) {
    const void *data = &attribute->int_value;
    size_t size = sizeof(int64_t);
    if (attribute->kind == ATTRIBUTE_TEXT) {
        data = attribute->text;
        size = strlen(attribute->text);
    } else if (attribute->kind == ATTRIBUTE_DTYPE) {
        size = sizeof attribute->dtype;
    } else if (attribute->kind == ATTRIBUTE_INTS || attribute->kind == ATTRIBUTE_FLOATS) {
        data = attribute->ints;
        size = attribute->count * sizeof(int64_t);
    } else if (attribute->kind == ATTRIBUTE_TENSOR) {
        data = tensor_data(attribute->tensor);
        size = tensor_bytes(attribute->tensor);
    } else if (attribute->kind == ATTRIBUTE_TEXTS) {
        uint64_t hash = 0;
        for (uint32_t i = 0; i < attribute->count; i++)
            hash = hash * 31 + digest_xxh3(attribute->texts[i], strlen(attribute->texts[i]));
        return hash;
    }
    return digest_xxh3(data, size);
}

uint64_t attributes_hash(const Attributes *attributes) {
    uint64_t hash = attributes->count;
    for (uint32_t i = 0; i < attributes->count; i++) {
        const Attribute *attribute = &attributes->entries[i];
        uint64_t pair[3] = {
            hash, digest_xxh3(attribute->name, strlen(attribute->name)), hash_one(attribute)};
        hash = digest_xxh3(pair, sizeof pair);
    }
    return hash;
}
