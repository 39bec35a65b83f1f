#include "compiler/frontend/base/onnx_tensor.h"

#include <string.h>
#include <unistd.h>

#include "base/allocator.h"
#include "compiler/frontend/base/onnx_external.h"
#include "kernels/tensor/string_tensor.h"
#include "kernels/tensor/dtype_bits.h"

Error *onnx_dtype(int32_t data_type, DType *out) {
    if (data_type <= 0 || !dtype_is_known((uint32_t)data_type))
        FAIL(UNSUPPORTED, "element type %d of ONNX", data_type);
    *out = (DType)data_type; /* dtypes.def uses ONNX's numbers */
    return NULL;
}

static Error *read_shape(const Onnx__TensorProto *proto, Shape *out) {
    if (proto->n_dims > SHAPE_RANK_MAX)
        FAIL(UNSUPPORTED, "a tensor of rank %zu; at most %d", proto->n_dims, SHAPE_RANK_MAX);
    for (size_t i = 0; i < proto->n_dims; i++)
        if (proto->dims[i] < 0)
            FAIL(INVALID, "dimension %zu is %lld", i, (long long)proto->dims[i]);
    *out = shape_make((uint32_t)proto->n_dims, proto->dims);
    return NULL;
}

/* The field of a TensorProto that holds elements of this type when raw_data does not. */
typedef struct TypedData {
    const void *items;
    size_t count;
    size_t item_size;
} TypedData;

static TypedData typed_data(const Onnx__TensorProto *proto, DType dtype) {
    switch (dtype) {
    case DTYPE_FLOAT32:
        return (TypedData){proto->float_data, proto->n_float_data, sizeof(float)};
    case DTYPE_FLOAT64:
        return (TypedData){proto->double_data, proto->n_double_data, sizeof(double)};
    case DTYPE_INT64:
        return (TypedData){proto->int64_data, proto->n_int64_data, sizeof(int64_t)};
    case DTYPE_UINT32:
    case DTYPE_UINT64:
        return (TypedData){proto->uint64_data, proto->n_uint64_data, sizeof(uint64_t)};
    case DTYPE_NONE:
    case DTYPE_STRING:
    case DTYPE_COUNT:
        return (TypedData){0};
    case DTYPE_UINT8:
    case DTYPE_INT8:
    case DTYPE_UINT16:
    case DTYPE_INT16:
    case DTYPE_INT32:
    case DTYPE_BOOL:
    case DTYPE_FLOAT16:
    case DTYPE_BFLOAT16:
    case DTYPE_FLOAT8E4M3FN:
    case DTYPE_FLOAT8E4M3FNUZ:
    case DTYPE_FLOAT8E5M2:
    case DTYPE_FLOAT8E5M2FNUZ:
    case DTYPE_UINT4:
    case DTYPE_INT4:
    case DTYPE_FLOAT4E2M1:
    case DTYPE_FLOAT8E8M0:
    case DTYPE_UINT2:
    case DTYPE_INT2:
    case DTYPE_FLOAT6E2M3:
    case DTYPE_FLOAT6E3M2:
        break;
    }
    return (TypedData){proto->int32_data, proto->n_int32_data, sizeof(int32_t)};
}

/* Elements of 2 and 4 bits are packed, one byte in each item; elements of 6 bits have an item
 * each. */
static bool is_one_an_item(DType dtype) { return dtype_bits(dtype) >= 8 || dtype_bits(dtype) == 6; }

static uint64_t item_count(DType dtype, const Shape *shape, uint64_t bytes) {
    return is_one_an_item(dtype) ? (uint64_t)shape_count_unchecked(shape) : bytes;
}

/* The low bytes of an item are the element (little-endian, as this machine is). */
static void copy_typed(TypedData typed, DType dtype, char *out) {
    const uint64_t size = dtype_bits(dtype) < 8 ? 1 : dtype_bits(dtype) / 8;
    const char *items = typed.items;
    if (dtype_bits(dtype) != 6) {
        for (size_t i = 0; i < typed.count; i++)
            memcpy(out + i * size, items + i * typed.item_size, size);
        return;
    }
    for (size_t i = 0; i < typed.count; i += PACKED_GROUP) {
        uint8_t codes[PACKED_GROUP];
        const size_t left = typed.count - i, count = left < PACKED_GROUP ? left : PACKED_GROUP;
        for (size_t k = 0; k < count; k++) memcpy(&codes[k], items + (i + k) * typed.item_size, 1);
        dtype_bits_pack(6, codes, i, count, (uint8_t *)out);
    }
}

/* Checks that the file holds exactly as much data as the shape needs, before memory is
 * allocated. */
static Error *check_held_data(
    const Onnx__TensorProto *proto, TypedData typed, uint64_t items, uint64_t bytes) {
    if (proto->has_raw_data && proto->raw_data.len != bytes)
        FAIL(INVALID, "%zu bytes of data for a tensor of %llu bytes", proto->raw_data.len,
            (unsigned long long)bytes);
    if (!proto->has_raw_data && typed.count != items)
        FAIL(INVALID, "%zu elements of data for a tensor of %llu bytes", typed.count,
            (unsigned long long)bytes);
    return NULL;
}

static Error *read_external(const Onnx__TensorProto *proto, const OnnxFolder *folder,
    Device *device, DType dtype, const Shape *shape, uint64_t bytes, Tensor **out) {
    int descriptor;
    uint64_t offset;
    TRY(onnx_external_open(proto, folder, bytes, &descriptor, &offset));
    Tensor *tensor = NULL;
    Error *error = tensor_create_on_host(device, dtype, shape, &tensor);
    if (!error) error = onnx_external_read(descriptor, offset, tensor_data(tensor), bytes);
    (void)close(descriptor);
    if (error) {
        tensor_release(tensor);
        return error;
    }
    *out = tensor;
    return NULL;
}

static Error *read_held(const Onnx__TensorProto *proto, Device *device, DType dtype,
    const Shape *shape, uint64_t bytes, Tensor **out) {
    TypedData typed = typed_data(proto, dtype);
    TRY(check_held_data(proto, typed, item_count(dtype, shape, bytes), bytes));
    OWN(Tensor, tensor) = NULL;
    TRY(tensor_create_on_host(device, dtype, shape, &tensor));
    if (bytes > 0 && proto->has_raw_data)
        memcpy(tensor_data(tensor), proto->raw_data.data, bytes);
    else if (bytes > 0)
        copy_typed(typed, dtype, tensor_data(tensor));
    *out = TAKE(tensor);
    return NULL;
}

Error *onnx_tensor_make_strings(
    const Shape *shape, const ProtobufCBinaryData *strings, Tensor **out) {
    const int64_t count = shape_count_unchecked(shape);
    void *memory;
    TRY(memory_alloc((size_t)count, sizeof(StringView), &memory));
    StringView *views = memory;
    for (int64_t i = 0; i < count; i++)
        views[i] = (StringView){(const char *)strings[i].data, strings[i].len};
    OWN(Tensor, tensor) = NULL;
    Error *error = string_tensor_create(shape, views, &tensor);
    memory_free(memory);
    TRY(error);
    TRY(string_tensor_check(tensor));
    *out = TAKE(tensor);
    return NULL;
}

static Error *read_strings(const Onnx__TensorProto *proto, const Shape *shape, Tensor **out) {
    int64_t count;
    TRY(shape_count(shape, &count));
    bool external = proto->has_data_location &&
                    proto->data_location == ONNX__TENSOR_PROTO__DATA_LOCATION__EXTERNAL;
    if (external || proto->has_raw_data) FAIL(INVALID, "strings as raw or external data");
    if (proto->n_string_data != (uint64_t)count)
        FAIL(INVALID, "%zu strings for a tensor of %lld", proto->n_string_data, (long long)count);
    return onnx_tensor_make_strings(shape, proto->string_data, out);
}

Error *onnx_tensor_read(
    const Onnx__TensorProto *proto, const OnnxFolder *folder, Device *device, Tensor **out) {
    DType dtype;
    Shape shape;
    uint64_t bytes;
    TRY(onnx_dtype(proto->data_type, &dtype));
    if (proto->segment) FAIL(UNSUPPORTED, "tensors in segments");
    TRY(read_shape(proto, &shape));
    if (dtype == DTYPE_STRING) return read_strings(proto, &shape, out);
    TRY(shape_bytes(&shape, dtype, &bytes));
    bool external = proto->has_data_location &&
                    proto->data_location == ONNX__TENSOR_PROTO__DATA_LOCATION__EXTERNAL;
    OWN(Tensor, tensor) = NULL;
    if (external)
        TRY(read_external(proto, folder, device, dtype, &shape, bytes, &tensor));
    else
        TRY(read_held(proto, device, dtype, &shape, bytes, &tensor));
    uint8_t *data = tensor_data(tensor);
    for (uint64_t i = 0; dtype == DTYPE_BOOL && i < bytes; i++) data[i] = data[i] != 0;
    if (dtype_bits(dtype) < 8)
        dtype_bits_clear_rest(dtype_bits(dtype), (uint64_t)shape_count_unchecked(&shape), data);
    *out = TAKE(tensor);
    return NULL;
}
