#include "kernels/tensor/tensor_dlpack.h"

#include <inttypes.h>
#include <string.h>

#include "base/allocator.h"

/* The memory that an exported tensor owns. */
typedef struct Exported {
    DLManagedTensor managed;
    Tensor *tensor;
    int64_t shape[SHAPE_RANK_MAX];
    int64_t strides[SHAPE_RANK_MAX];
} Exported;

static void delete_exported(DLManagedTensor *managed) {
    Exported *exported = managed->manager_ctx;
    tensor_release(exported->tensor);
    memory_free(exported);
}

Error *tensor_dlpack_export(Tensor *tensor, DLManagedTensor **out) {
    uint8_t code, bits;
    const Device *device = tensor->storage->device;
    if (!device->class_->host_memory)
        FAIL(UNSUPPORTED, "a tensor on %s is not in host memory", device->name);
    if (!dtype_to_dlpack(tensor->dtype, &code, &bits))
        FAIL(UNSUPPORTED, "element type %s", dtype_name(tensor->dtype));
    void *block;
    TRY(memory_alloc(1, sizeof(Exported), &block));
    Exported *exported = block;
    exported->tensor = tensor_retain(tensor);
    memcpy(exported->shape, tensor->shape.dims, sizeof exported->shape);
    shape_strides(&tensor->shape, exported->strides);
    exported->managed = (DLManagedTensor){
        .dl_tensor = {.data = tensor_data(tensor),
            .device = {kDLCPU, 0},
            .ndim = (int)tensor->shape.rank,
            .dtype = {code, bits, 1},
            .shape = exported->shape,
            .strides = exported->strides},
        .manager_ctx = exported,
        .deleter = delete_exported,
    };
    *out = &exported->managed;
    return NULL;
}

static void release_managed(void *owner) {
    DLManagedTensor *managed = owner;
    if (managed->deleter) managed->deleter(managed);
}

/* Dimensions of 1 may have any stride. */
static bool is_compact(const DLTensor *from, const Shape *shape) {
    int64_t strides[SHAPE_RANK_MAX];
    if (!from->strides || shape_count_unchecked(shape) == 0) return true;
    shape_strides(shape, strides);
    for (uint32_t i = 0; i < shape->rank; i++)
        if (shape->dims[i] != 1 && from->strides[i] != strides[i]) return false;
    return true;
}

static void copy_strided(const DLTensor *from, const Shape *shape, size_t size, char *to) {
    const char *base = (const char *)from->data + from->byte_offset;
    int64_t index[SHAPE_RANK_MAX] = {0};
    int64_t count = shape_count_unchecked(shape);
    for (int64_t i = 0; i < count; i++) {
        int64_t offset = 0;
        for (uint32_t d = 0; d < shape->rank; d++) offset += index[d] * from->strides[d];
        memcpy(to + (size_t)i * size, base + offset * (int64_t)size, size);
        for (uint32_t d = shape->rank; d-- > 0;) {
            if (++index[d] < shape->dims[d]) break;
            index[d] = 0;
        }
    }
}

static Error *read_header(const DLTensor *from, DType *out_dtype, Shape *out_shape) {
    if (from->device.device_type != kDLCPU && from->device.device_type != kDLCUDAHost)
        FAIL(UNSUPPORTED, "a DLPack tensor on device type %d", (int)from->device.device_type);
    *out_dtype = dtype_from_dlpack(from->dtype.code, from->dtype.bits, from->dtype.lanes);
    if (*out_dtype == DTYPE_NONE)
        FAIL(UNSUPPORTED, "DLPack type code %u, %u bits, %u lanes", (unsigned)from->dtype.code,
            (unsigned)from->dtype.bits, (unsigned)from->dtype.lanes);
    if (from->ndim < 0 || from->ndim > SHAPE_RANK_MAX || (from->ndim > 0 && !from->shape))
        FAIL(INVALID, "a DLPack tensor of rank %d", from->ndim);
    *out_shape = shape_make((uint32_t)from->ndim, from->shape);
    int64_t count;
    TRY(shape_count(out_shape, &count));
    if (count > 0 && !from->data) FAIL(INVALID, "a DLPack tensor without data");
    return NULL;
}

static Error *import_copy(
    Device *device, const DLTensor *from, DType dtype, const Shape *shape, Tensor **out) {
    if (dtype_bits(dtype) < 8)
        FAIL(UNSUPPORTED, "a strided DLPack tensor of %s", dtype_name(dtype));
    OWN(Tensor, tensor) = NULL;
    TRY(tensor_create_on_host(device, dtype, shape, &tensor));
    copy_strided(from, shape, dtype_bits(dtype) / 8, tensor_data(tensor));
    tensor->storage->sealed = true;
    *out = TAKE(tensor);
    return NULL;
}

/* *inout_managed becomes NULL when the tensor has taken it over. */
static Error *import(Device *device, DLManagedTensor **inout_managed, Tensor **out) {
    const DLTensor *from = &(*inout_managed)->dl_tensor;
    DType dtype = DTYPE_NONE;
    Shape shape;
    TRY(read_header(from, &dtype, &shape));
    uint64_t bytes;
    TRY(shape_bytes(&shape, dtype, &bytes));
    uint64_t address = bytes ? (uint64_t)(uintptr_t)from->data + from->byte_offset : 0;
    uint64_t alignment = dtype_bits(dtype) < 8 ? 1 : dtype_bits(dtype) / 8;
    if (address % alignment != 0) FAIL(INVALID, "a DLPack tensor that is not aligned");
    if (!is_compact(from, &shape)) return import_copy(device, from, dtype, &shape, out);
    OWN(Storage, storage) = NULL;
    TRY(storage_create_foreign(
        device, 0, address, bytes, *inout_managed, release_managed, &storage));
    *inout_managed = NULL;
    storage->sealed = true;
    return tensor_create(storage, 0, dtype, &shape, out);
}

Error *tensor_dlpack_import(Device *device, DLManagedTensor *owned_managed, Tensor **out) {
    Error *error = import(device, &owned_managed, out);
    if (owned_managed) release_managed(owned_managed);
    return error;
}
