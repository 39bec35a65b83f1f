#include "serialize/container/value_bytes.h"

void value_bytes_write_shape(ByteWriter *writer, const Shape *shape) {
    byte_write_u8(writer, (uint8_t)shape->rank);
    for (uint32_t i = 0; i < shape->rank; i++) byte_write_i64(writer, shape->dims[i]);
}

Error *value_bytes_read_shape(ByteReader *reader, int64_t dims_min, Shape *out) {
    uint8_t rank;
    int64_t dims[SHAPE_RANK_MAX] = {0};
    TRY(byte_read_u8(reader, &rank));
    if (rank > SHAPE_RANK_MAX) FAIL(CORRUPT, "rank %u; at most %d", rank, SHAPE_RANK_MAX);
    for (uint32_t i = 0; i < rank; i++) {
        TRY(byte_read_i64(reader, &dims[i]));
        if (dims[i] < dims_min) FAIL(CORRUPT, "dimension %u is %lld", i, (long long)dims[i]);
    }
    *out = shape_make(rank, dims);
    return NULL;
}

void value_bytes_write_shape_object(ByteWriter *writer, const ShapeObject *shape) {
    byte_write_u8(writer, (uint8_t)shape->count);
    for (uint32_t i = 0; i < shape->count; i++) byte_write_i64(writer, shape->dims[i]);
}

Error *value_bytes_read_shape_object(ByteReader *reader, Value *out) {
    uint8_t count;
    ShapeObject *object;
    int64_t dims[SHAPE_OBJECT_COUNT_MAX];
    TRY(byte_read_u8(reader, &count));
    for (uint32_t i = 0; i < count; i++) TRY(byte_read_i64(reader, &dims[i]));
    TRY(shape_object_create_of(dims, count, &object));
    *out = value_object(OBJECT_SHAPE, object);
    return NULL;
}

Error *value_bytes_read_dtype(ByteReader *reader, bool none_allowed, DType *out) {
    uint8_t number;
    TRY(byte_read_u8(reader, &number));
    if (!(none_allowed && number == DTYPE_NONE) && !dtype_is_known(number))
        FAIL(CORRUPT, "element type %u", number);
    *out = (DType)number;
    return NULL;
}

Error *value_bytes_read_bool(ByteReader *reader, bool *out) {
    uint8_t byte;
    TRY(byte_read_u8(reader, &byte));
    if (byte > 1) FAIL(CORRUPT, "a truth value of %u", byte);
    *out = byte == 1;
    return NULL;
}

void value_bytes_write_scalar(ByteWriter *writer, const Value *value) {
    byte_write_u8(writer, value->tag);
    switch ((ValueTag)value->tag) {
    case VALUE_BOOL:
        byte_write_u8(writer, value->boolean);
        break;
    case VALUE_INT:
        byte_write_i64(writer, value->integer);
        break;
    case VALUE_FLOAT:
        byte_write_f64(writer, value->real);
        break;
    case VALUE_DTYPE:
        byte_write_u8(writer, (uint8_t)value->dtype);
        break;
    case VALUE_NIL:
    case VALUE_OBJECT:
        break;
    }
}

Error *value_bytes_read_scalar(ByteReader *reader, uint8_t tag, Value *out) {
    Value value = {.tag = tag};
    switch (tag) {
    case VALUE_NIL:
        break;
    case VALUE_BOOL:
        TRY(value_bytes_read_bool(reader, &value.boolean));
        break;
    case VALUE_INT:
        TRY(byte_read_i64(reader, &value.integer));
        break;
    case VALUE_FLOAT:
        TRY(byte_read_f64(reader, &value.real));
        break;
    case VALUE_DTYPE:
        TRY(value_bytes_read_dtype(reader, false, &value.dtype));
        break;
    default:
        FAIL(CORRUPT, "a value of kind %u", tag);
    }
    *out = value;
    return NULL;
}

ChunkFilter value_bytes_filter(DType dtype) {
    if (dtype == DTYPE_FLOAT32) return CHUNK_FILTER_FLOAT32;
    if (dtype == DTYPE_BFLOAT16) return CHUNK_FILTER_BFLOAT16;
    if (dtype == DTYPE_FLOAT16) return CHUNK_FILTER_FLOAT16;
    uint32_t bits = dtype_bits(dtype);
    if (bits == 16) return CHUNK_FILTER_WORD16;
    if (bits == 32) return CHUNK_FILTER_WORD32;
    return bits == 64 ? CHUNK_FILTER_WORD64 : CHUNK_FILTER_BYTES;
}
