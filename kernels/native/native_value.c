#include "kernels/native/native_value.h"

uint64_t native_tensor_bytes(const NativeTensor *tensor) {
    return (uint64_t)shape_count_unchecked(&tensor->shape) * (dtype_bits(tensor->dtype) / 8);
}

const char *native_kind_name(NativeKind kind) {
    static const char *const names[NATIVE_KIND_COUNT] = {
        "nil", "int", "bool", "float", "dtype", "string", "shape", "tensor", "tuple"};
    return kind < NATIVE_KIND_COUNT ? names[kind] : "unknown value";
}

/* ---- writing ---- */

static void write_shape(ByteWriter *writer, const Shape *shape) {
    byte_write_u32(writer, shape->rank);
    for (uint32_t i = 0; i < shape->rank; i++) byte_write_i64(writer, shape->dims[i]);
}

static void write_dims(ByteWriter *writer, const void *dims, uint32_t count) {
    byte_write_u32(writer, count);
    byte_write_bytes(writer, dims, count * sizeof(int64_t));
}

static void write_string(ByteWriter *writer, const char *data, size_t size) {
    byte_write_u32(writer, (uint32_t)size);
    byte_write_bytes(writer, data, size);
    byte_write_u8(writer, 0);
}

void native_value_write(ByteWriter *writer, const NativeValue *value) {
    byte_write_u8(writer, (uint8_t)value->kind);
    switch (value->kind) {
    case NATIVE_NIL:
    case NATIVE_KIND_COUNT:
        return;
    case NATIVE_INT:
    case NATIVE_BOOL:
        byte_write_i64(writer, value->integer);
        return;
    case NATIVE_FLOAT:
        byte_write_f64(writer, value->real);
        return;
    case NATIVE_DTYPE:
        byte_write_u8(writer, (uint8_t)value->dtype);
        return;
    case NATIVE_STRING:
        write_string(writer, value->string.data, value->string.size);
        return;
    case NATIVE_SHAPE:
        write_dims(writer, value->shape.dims, value->shape.count);
        return;
    case NATIVE_TENSOR:
        byte_write_u8(writer, (uint8_t)value->tensor.dtype);
        write_shape(writer, &value->tensor.shape);
        byte_write_u64(writer, value->tensor.place);
        return;
    case NATIVE_TUPLE:
        byte_write_u32(writer, value->field_count);
    }
}

/* ---- reading ---- */

static Error *read_shape(ByteReader *reader, Shape *out) {
    uint32_t rank;
    int64_t count;
    TRY(byte_read_count(reader, sizeof(int64_t), &rank));
    if (rank > SHAPE_RANK_MAX)
        FAIL(CORRUPT, "a tensor of %u dimensions; %d are the most", rank, SHAPE_RANK_MAX);
    *out = (Shape){.rank = rank};
    for (uint32_t i = 0; i < rank; i++) TRY(byte_read_i64(reader, &out->dims[i]));
    return error_recode(shape_count(out, &count), ERROR_CORRUPT);
}

static Error *read_dims(ByteReader *reader, NativeValue *out) {
    const uint8_t *bytes;
    TRY(byte_read_count(reader, sizeof(int64_t), &out->shape.count));
    if (out->shape.count > NATIVE_SHAPE_MAX)
        FAIL(CORRUPT, "a shape of %u numbers; %d are the most", out->shape.count, NATIVE_SHAPE_MAX);
    TRY(byte_read_view(reader, out->shape.count * sizeof(int64_t), &bytes));
    out->shape.dims = bytes;
    return NULL;
}

static Error *read_string(ByteReader *reader, NativeValue *out) {
    uint32_t size;
    const uint8_t *bytes;
    TRY(byte_read_count(reader, 1, &size));
    TRY(byte_read_view(reader, (size_t)size + 1, &bytes));
    if (bytes[size] != 0) FAIL(CORRUPT, "a string without its end");
    out->string.data = (const char *)bytes;
    out->string.size = size;
    return NULL;
}

static Error *read_dtype(ByteReader *reader, DType *out) {
    uint8_t number;
    TRY(byte_read_u8(reader, &number));
    if (!dtype_is_known(number)) FAIL(CORRUPT, "element type %u is none", number);
    *out = (DType)number;
    return NULL;
}

static Error *read_tensor(ByteReader *reader, NativeTensor *out) {
    uint64_t bytes;
    *out = (NativeTensor){0};
    TRY(read_dtype(reader, &out->dtype));
    if (dtype_bits(out->dtype) % 8 != 0 || dtype_bits(out->dtype) == 0)
        FAIL(CORRUPT, "a tensor of %s is not passed", dtype_name(out->dtype));
    TRY(read_shape(reader, &out->shape));
    TRY(error_recode(shape_bytes(&out->shape, out->dtype, &bytes), ERROR_CORRUPT));
    return byte_read_u64(reader, &out->place);
}

Error *native_value_read(ByteReader *reader, NativeValue *out) {
    uint8_t kind;
    TRY(byte_read_u8(reader, &kind));
    *out = (NativeValue){.kind = (NativeKind)kind};
    switch (out->kind) {
    case NATIVE_NIL:
        return NULL;
    case NATIVE_INT:
    case NATIVE_BOOL:
        return byte_read_i64(reader, &out->integer);
    case NATIVE_FLOAT:
        return byte_read_f64(reader, &out->real);
    case NATIVE_DTYPE:
        return read_dtype(reader, &out->dtype);
    case NATIVE_STRING:
        return read_string(reader, out);
    case NATIVE_SHAPE:
        return read_dims(reader, out);
    case NATIVE_TENSOR:
        return read_tensor(reader, &out->tensor);
    case NATIVE_TUPLE:
        return byte_read_u32(reader, &out->field_count);
    case NATIVE_KIND_COUNT:
        break;
    }
    FAIL(CORRUPT, "a value of kind %u is none", kind);
}

/* ---- arrays of values ---- */

Error *native_values_check(const NativeValue *values, uint32_t count, uint32_t top) {
    uint32_t open[NATIVE_DEPTH_MAX + 1] = {top}; /* values that each level still waits for */
    uint32_t depth = 0;
    for (uint32_t i = 0; i < count; i++) {
        while (depth && !open[depth]) depth--;
        if (!open[depth]) FAIL(CORRUPT, "%u values, of which %u belong to none", count, count - i);
        open[depth]--;
        if (values[i].kind != NATIVE_TUPLE) continue;
        if (depth == NATIVE_DEPTH_MAX)
            FAIL(CORRUPT, "more than %d tuples inside each other", NATIVE_DEPTH_MAX);
        open[++depth] = values[i].field_count;
    }
    for (uint32_t i = 0; i <= depth; i++)
        if (open[i]) FAIL(CORRUPT, "%u values are too few", count);
    return NULL;
}
