#include <inttypes.h>
#include <string.h>

#include "base/checked.h"
#include "kernels/device/host_memory.h"
#include "kernels/tensor/tensor.h"
#include "serialize/relax/relax_translate_internal.h"
#include "vm/objects/shape_object.h"
#include "vm/objects/string_object.h"

enum { UINT_CODE = 1, BYTE_BITS = 8 };

static Error *find_dtype(RelaxDType dtype, DType *out) {
    if (dtype.code == UINT_CODE && dtype.bits == 1 && dtype.lanes == 1) {
        *out = DTYPE_BOOL; /* as TVM called it before 0.21 */
        return NULL;
    }
    *out = dtype_from_dlpack(dtype.code, dtype.bits, dtype.lanes);
    if (*out == DTYPE_NONE)
        FAIL(UNSUPPORTED, "element type {code %u, %u bits, %u lanes}", dtype.code, dtype.bits,
            dtype.lanes);
    return NULL;
}

static Error *find_shape(const uint8_t *dims, uint64_t rank, Shape *out) {
    int64_t sizes[SHAPE_RANK_MAX] = {0};
    if (rank > SHAPE_RANK_MAX)
        FAIL(UNSUPPORTED, "a shape of %" PRIu64 " dimensions; there may be %d", rank,
            SHAPE_RANK_MAX);
    for (uint64_t i = 0; i < rank; i++) sizes[i] = relax_word(dims, i);
    *out = shape_make((uint32_t)rank, sizes);
    return NULL;
}

/* All tensors are in one storage, so that it has huge pages even for small ones. */
static Error *create_whole(const RelaxFile *file, Storage **out) {
    uint64_t end = 0;
    for (uint64_t i = 0; i < file->constant_count; i++)
        if (file->constants[i].kind == RELAX_TENSOR &&
            (!checked_add_u64(end, file->constants[i].tensor.size, &end) ||
                !checked_align_u64(end, DEVICE_ALIGNMENT, &end)))
            FAIL(CORRUPT, "more than 2^64 bytes of constants");
    return storage_create_on_host(device_host(), end, out);
}

static Error *add_tensor(
    const RelaxTensor *from, Storage *whole, uint64_t *inout_offset, Value *out) {
    OWN(Storage, storage) = NULL;
    DType dtype;
    Shape shape;
    Tensor *tensor;
    TRY(find_dtype(from->dtype, &dtype));
    if (dtype_bits(dtype) % BYTE_BITS)
        FAIL(UNSUPPORTED, "element type %s of less than a byte", dtype_name(dtype));
    TRY(find_shape(from->shape, from->rank, &shape));
    TRY(storage_create_within(whole, *inout_offset, from->size, &storage));
    TRY(tensor_create(storage, 0, dtype, &shape, &tensor));
    if (from->size)
        memcpy((void *)(uintptr_t)(whole->address + *inout_offset), from->data, (size_t)from->size);
    *inout_offset += (from->size + DEVICE_ALIGNMENT - 1) / DEVICE_ALIGNMENT * DEVICE_ALIGNMENT;
    *out = value_object(OBJECT_TENSOR, tensor);
    return NULL;
}

static Error *make_object(
    const RelaxConstant *constant, Storage *whole, uint64_t *inout_offset, Value *out) {
    if (constant->kind == RELAX_TENSOR)
        return add_tensor(&constant->tensor, whole, inout_offset, out);
    if (constant->kind == RELAX_STRING) {
        StringObject *string;
        TRY(string_object_create(NULL, constant->string.data, constant->string.size, &string));
        *out = value_object(OBJECT_STRING, string);
        return NULL;
    }
    ShapeObject *object;
    int64_t dims[SHAPE_OBJECT_COUNT_MAX];
    const uint64_t count = constant->shape.rank;
    if (count > SHAPE_OBJECT_COUNT_MAX)
        FAIL(UNSUPPORTED, "a shape of %" PRIu64 " dimensions; there may be %d", count,
            SHAPE_OBJECT_COUNT_MAX);
    for (uint64_t i = 0; i < count; i++) dims[i] = relax_word(constant->shape.dims, i);
    TRY(shape_object_create_of(dims, count, &object));
    *out = value_object(OBJECT_SHAPE, object);
    return NULL;
}

static Error *make_constant(
    const RelaxConstant *constant, Storage *whole, uint64_t *inout_offset, Value *out) {
    DType dtype;
    switch (constant->kind) {
    case RELAX_INT:
        *out = value_int(constant->integer);
        return NULL;
    case RELAX_FLOAT:
        *out = value_float(constant->real);
        return NULL;
    case RELAX_DTYPE:
        TRY(find_dtype(constant->dtype, &dtype));
        *out = value_dtype(dtype);
        return NULL;
    case RELAX_TENSOR:
    case RELAX_SHAPE:
    case RELAX_STRING:
    case RELAX_CONSTANT_KIND_COUNT:
        break;
    }
    return make_object(constant, whole, inout_offset, out);
}

Error *relax_translate_constants(RelaxTranslation *self) {
    OWN(Storage, whole) = NULL;
    uint64_t offset = 0;
    TRY(create_whole(self->file, &whole));
    for (uint64_t i = 0; i < self->file->constant_count; i++) {
        Value value;
        uint32_t index;
        TRY_WRAP(make_constant(&self->file->constants[i], whole, &offset, &value),
            "constant %" PRIu64, i);
        const uint8_t slot = value_is(&value, OBJECT_TENSOR);
        TRY_WRAP(executable_builder_add_constant(self->builder, value, slot, &index),
            "constant %" PRIu64, i);
    }
    return NULL;
}
