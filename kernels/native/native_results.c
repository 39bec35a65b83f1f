#include "kernels/native/native_results.h"

#include <string.h>

#include "base/text.h"
#include "kernels/native/native_memory.h"
#include "kernels/native/native_runtime.h"

static Error *take_shape(const int64_t *dims, size_t rank, Shape *out) {
    int64_t count;
    if (rank > SHAPE_RANK_MAX)
        FAIL(UNSUPPORTED, "gave a tensor of %zu dimensions; %d are the most", rank, SHAPE_RANK_MAX);
    *out = shape_make((uint32_t)rank, dims);
    return error_wrap(shape_count(out, &count), "gave a tensor");
}

/* A shape that is a value has any numbers. */
static Error *take_dims(const AbiDims *dims, NativeValue *out) {
    if (dims->size > NATIVE_SHAPE_MAX)
        FAIL(UNSUPPORTED, "gave a shape of %zu numbers; %d are the most", (size_t)dims->size,
            NATIVE_SHAPE_MAX);
    out->kind = NATIVE_SHAPE;
    out->shape.dims = dims->data;
    out->shape.count = (uint32_t)dims->size;
    return NULL;
}

static bool is_compact(const DLTensor *tensor) {
    int64_t step = 1;
    if (!tensor->strides) return true;
    for (int32_t i = tensor->ndim - 1; i >= 0; i--) {
        if (tensor->shape[i] != 1 && tensor->strides[i] != step) return false;
        step *= tensor->shape[i];
    }
    return true;
}

static Error *take_tensor(const DLTensor *tensor, NativeValue *out) {
    *out = (NativeValue){.kind = NATIVE_TENSOR};
    out->tensor.dtype =
        dtype_from_dlpack(tensor->dtype.code, tensor->dtype.bits, tensor->dtype.lanes);
    if (dtype_bits(out->tensor.dtype) == 0 || dtype_bits(out->tensor.dtype) % 8 != 0)
        FAIL(UNSUPPORTED, "gave a tensor of an element type that is not passed on");
    if (tensor->device.device_type != kDLCPU || !is_compact(tensor))
        FAIL(UNSUPPORTED, "gave a tensor that is not compact in host memory");
    if (tensor->ndim < 0) FAIL(UNSUPPORTED, "gave a tensor of %d dimensions", tensor->ndim);
    TRY(take_shape(tensor->shape, (size_t)tensor->ndim, &out->tensor.shape));
    out->tensor.data = (uint8_t *)tensor->data + tensor->byte_offset;
    return NULL;
}

static Error *take_tuple(const AbiArrayObject *array, NativeValue *out) {
    if (array->count < 0 || array->count > NATIVE_VALUES_MAX)
        FAIL(UNSUPPORTED, "gave a tuple of %lld values; %d are the most", (long long)array->count,
            NATIVE_VALUES_MAX);
    out->kind = NATIVE_TUPLE;
    out->field_count = (uint32_t)array->count;
    return NULL;
}

static Error *refuse(int32_t type) {
    TextBuilder OWN_TEXT(name) = {0};
    native_runtime_append_type(type, &name);
    TRY(text_builder_check(&name));
    FAIL(UNSUPPORTED, "gave a value of %s, which is not passed on", text_builder_get(&name));
}

static Error *take(const AbiAny *result, NativeValue *out) {
    *out = (NativeValue){.kind = NATIVE_NIL};
    switch (result->type) {
    case ABI_NONE:
        return NULL;
    case ABI_INT:
        *out = (NativeValue){.kind = NATIVE_INT, .integer = result->integer};
        return NULL;
    case ABI_BOOL:
        *out = (NativeValue){.kind = NATIVE_BOOL, .integer = result->integer != 0};
        return NULL;
    case ABI_FLOAT:
        *out = (NativeValue){.kind = NATIVE_FLOAT, .real = result->real};
        return NULL;
    case ABI_DTYPE:
        out->kind = NATIVE_DTYPE;
        out->dtype = dtype_from_dlpack(result->dtype.code, result->dtype.bits, result->dtype.lanes);
        if (out->dtype == DTYPE_NONE) FAIL(UNSUPPORTED, "gave an unknown element type");
        return NULL;
    case ABI_SMALL_TEXT:
        out->kind = NATIVE_STRING;
        out->string.data = result->small;
        out->string.size = result->small_size < sizeof result->small ? result->small_size : 0;
        return NULL;
    case ABI_STRING: {
        const AbiBytes *bytes = &((const AbiStringObject *)result->object)->bytes;
        out->kind = NATIVE_STRING;
        out->string.data = bytes->data;
        out->string.size = bytes->size;
        return NULL;
    }
    case ABI_SHAPE:
        return take_dims(&((const AbiShapeObject *)result->object)->dims, out);
    case ABI_TENSOR:
        return take_tensor(&((const AbiTensorObject *)result->object)->tensor, out);
    case ABI_ARRAY:
        return take_tuple((const AbiArrayObject *)result->object, out);
    default:
        return refuse(result->type);
    }
}

/* ---- all values ---- */

/* Where the bytes of the next tensor go. */
static uint64_t align(uint64_t place) {
    return (place + NATIVE_ALIGNMENT - 1) / NATIVE_ALIGNMENT * NATIVE_ALIGNMENT;
}

static Error *add(const NativeValue *value, NativeResults *out) {
    if (++out->count > NATIVE_VALUES_MAX)
        FAIL(UNSUPPORTED, "gave more than %d values", NATIVE_VALUES_MAX);
    if (value->kind != NATIVE_TENSOR) return NULL;
    uint64_t bytes = native_tensor_bytes(&value->tensor), end = align(out->tensor_bytes);
    if (bytes > NATIVE_DATA_MAX || end > NATIVE_DATA_MAX - bytes)
        FAIL(
            EXHAUSTED, "gave tensors of more than %llu bytes", (unsigned long long)NATIVE_DATA_MAX);
    out->tensor_bytes = end + bytes;
    out->has_tensors = true;
    return NULL;
}

static Error *measure(const AbiAny *result, uint32_t depth, NativeResults *out) {
    NativeValue value;
    TRY(take(result, &value));
    TRY(add(&value, out));
    if (value.kind != NATIVE_TUPLE) return NULL;
    if (depth == NATIVE_DEPTH_MAX)
        FAIL(UNSUPPORTED, "gave more than %d tuples inside each other", NATIVE_DEPTH_MAX);
    const AbiArrayObject *array = (const AbiArrayObject *)result->object;
    for (uint32_t i = 0; i < value.field_count; i++) TRY(measure(&array->items[i], depth + 1, out));
    return NULL;
}

Error *native_results_measure(const AbiAny *result, NativeResults *out) {
    *out = (NativeResults){0};
    return measure(result, 0, out);
}

static Error *write(const AbiAny *result, uint8_t *data, uint64_t *inout_place, ByteWriter *out) {
    NativeValue value;
    TRY(take(result, &value));
    if (value.kind == NATIVE_TENSOR) {
        uint64_t bytes = native_tensor_bytes(&value.tensor);
        value.tensor.place = align(*inout_place);
        if (bytes) memcpy(data + value.tensor.place, value.tensor.data, bytes);
        *inout_place = value.tensor.place + bytes;
    }
    native_value_write(out, &value);
    if (value.kind != NATIVE_TUPLE) return NULL;
    const AbiArrayObject *array = (const AbiArrayObject *)result->object;
    for (uint32_t i = 0; i < value.field_count; i++)
        TRY(write(&array->items[i], data, inout_place, out));
    return NULL;
}

Error *native_results_write(const AbiAny *result, const NativeResults *measured, uint8_t *data,
    uint64_t place, ByteWriter *out) {
    byte_write_u32(out, measured->count);
    return write(result, data, &place, out);
}
