#include "kernels/tensor/tensor.h"

#include <assert.h>
#include <inttypes.h>

#include "base/allocator.h"
#include "base/checked.h"

/* Refuses strings in memory that the host cannot read, since a reader reads their offsets first. */
static Error *check_memory(const Storage *storage, DType dtype) {
    if (dtype == DTYPE_STRING && !storage->device->class_->host_memory)
        FAIL(UNSUPPORTED, "strings cannot be in the memory of %s: they belong in slot 0",
            storage->device->name);
    return NULL;
}

/* Takes over the caller's reference to the storage, on failure too. */
static Error *make_owning(
    Storage *owned_storage, uint64_t offset, DType dtype, const Shape *shape, Tensor **out) {
    void *block;
    Error *error = check_memory(owned_storage, dtype);
    if (!error) error = memory_alloc(1, sizeof(Tensor), &block);
    if (error) {
        storage_release(owned_storage);
        return error;
    }
    Tensor *tensor = block;
    refcount_init(&tensor->refcount);
    tensor->written = true;
    tensor->dtype = dtype;
    tensor->offset = offset;
    tensor->shape = *shape;
    tensor->storage = owned_storage;
    *out = tensor;
    return NULL;
}

static Error *make(
    Storage *storage, uint64_t offset, DType dtype, const Shape *shape, Tensor **out) {
    return make_owning(storage_retain(storage), offset, dtype, shape, out);
}

/* Checks the least size of a tensor of strings: an offset for each string and one for the end. */
static Error *check_unsized(const Shape *shape, uint64_t bytes) {
    int64_t count;
    uint64_t least;
    TRY(shape_count(shape, &count));
    if (!checked_mul_u64((uint64_t)count + 1, sizeof(uint64_t), &least) ||
        (count > 0 && bytes < least))
        FAIL(INVALID, "%" PRId64 " strings in %" PRIu64 " bytes", count, bytes);
    return NULL;
}

static Error *create_unsized(Storage *storage, uint64_t offset, const Shape *shape, Tensor **out) {
    if (offset != 0) FAIL(INVALID, "strings at byte %" PRIu64 " of a storage", offset);
    TRY(check_unsized(shape, storage->size));
    return make(storage, 0, DTYPE_STRING, shape, out);
}

Error *tensor_create(
    Storage *storage, uint64_t offset, DType dtype, const Shape *shape, Tensor **out) {
    uint64_t bytes, end;
    if (dtype == DTYPE_STRING) return create_unsized(storage, offset, shape, out);
    TRY(shape_bytes(shape, dtype, &bytes));
    if (!checked_add_u64(offset, bytes, &end) || end > storage->size)
        FAIL(INVALID, "a tensor of %" PRIu64 " bytes at %" PRIu64 " in a storage of %" PRIu64,
            bytes, offset, storage->size);
    uint64_t alignment = dtype_bits(dtype) < 8 ? 1 : dtype_bits(dtype) / 8;
    if (offset % alignment != 0)
        FAIL(INVALID, "offset %" PRIu64 " is not aligned to %s", offset, dtype_name(dtype));
    return make(storage, offset, dtype, shape, out);
}

Error *tensor_create_in_pool(MemoryPool *pool, uint8_t slot, DType dtype, const Shape *shape,
    MemoryAnswer *out_answer, Tensor **out) {
    uint64_t bytes;
    TRY(shape_bytes(shape, dtype, &bytes));
    OWN(Storage, storage) = NULL;
    MemoryAnswer answer;
    TRY(storage_create(pool, slot, bytes, &answer, &storage));
    if (answer.kind == MEMORY_GRANTED) TRY(make_owning(TAKE(storage), 0, dtype, shape, out));
    *out_answer = answer;
    return NULL;
}

Error *tensor_create_on_host(Device *cpu_device, DType dtype, const Shape *shape, Tensor **out) {
    uint64_t bytes;
    TRY(shape_bytes(shape, dtype, &bytes));
    OWN(Storage, storage) = NULL;
    TRY(storage_create_on_host(cpu_device, bytes, &storage));
    return make_owning(TAKE(storage), 0, dtype, shape, out);
}

Error *tensor_create_bytes_in_pool(MemoryPool *pool, uint8_t slot, DType dtype, const Shape *shape,
    uint64_t bytes, MemoryAnswer *out_answer, Tensor **out) {
    OWN(Storage, storage) = NULL;
    MemoryAnswer answer;
    TRY(check_unsized(shape, bytes));
    TRY(storage_create(pool, slot, bytes, &answer, &storage));
    if (answer.kind == MEMORY_GRANTED) TRY(make_owning(TAKE(storage), 0, dtype, shape, out));
    *out_answer = answer;
    return NULL;
}

Error *tensor_create_bytes_on_host(
    Device *cpu_device, DType dtype, const Shape *shape, uint64_t bytes, Tensor **out) {
    OWN(Storage, storage) = NULL;
    TRY(check_unsized(shape, bytes));
    TRY(storage_create_on_host(cpu_device, bytes, &storage));
    return make_owning(TAKE(storage), 0, dtype, shape, out);
}

Error *tensor_create_copy_on_host(Device *cpu_device, const Tensor *from, Tensor **out) {
    OWN(Storage, storage) = NULL;
    OWN(Tensor, copy) = NULL;
    TRY(storage_create_on_host(cpu_device, tensor_bytes(from), &storage));
    TRY(make_owning(TAKE(storage), 0, from->dtype, &from->shape, &copy));
    if (tensor_bytes(from) > 0) TRY(tensor_copy_from_host(copy, tensor_data(from)));
    *out = TAKE(copy);
    return NULL;
}

Tensor *tensor_retain(Tensor *tensor) {
    refcount_retain(&tensor->refcount);
    return tensor;
}

void tensor_release(Tensor *tensor) {
    if (!tensor || !refcount_release(&tensor->refcount)) return;
    tensor_set_written(tensor);
    storage_release(tensor->storage);
    memory_free(tensor);
}

void tensor_set_unwritten(Tensor *tensor) {
    if (tensor->written && tensor->storage->opaque) tensor->storage->unwritten++;
    tensor->written = false;
}

uint64_t tensor_bytes(const Tensor *tensor) {
    if (tensor->dtype == DTYPE_STRING)
        return shape_count_unchecked(&tensor->shape) ? tensor->storage->size : 0;
    uint64_t bits = (uint64_t)shape_count_unchecked(&tensor->shape) * dtype_bits(tensor->dtype);
    return bits / 8 + (bits % 8 != 0);
}

uint64_t tensor_address(const Tensor *tensor) {
    if (shape_count_unchecked(&tensor->shape) == 0) return 0;
    return tensor->storage->address + tensor->offset;
}

DevicePlace tensor_place(const Tensor *tensor) {
    return (DevicePlace){
        tensor->storage->device, storage_stream(tensor->storage), tensor_address(tensor)};
}

void *tensor_data(const Tensor *tensor) {
    assert(tensor->storage->device->class_->host_memory);
    return (void *)(uintptr_t)tensor_address(tensor);
}

TensorSpec tensor_spec(const Tensor *tensor) {
    return (TensorSpec){.present = true, .dtype = tensor->dtype, .shape = tensor->shape};
}

bool tensor_is_sole(const Tensor *tensor) {
    const Storage *storage = tensor->storage;
    return refcount_is_sole(&tensor->refcount) && refcount_is_sole(&storage->refcount) &&
           !storage->sealed && !storage->opaque && !storage->append && tensor->offset == 0;
}

Error *tensor_reshape(Tensor *tensor, const Shape *shape, Tensor **out) {
    return tensor_view(tensor, tensor->dtype, shape, out);
}

Error *tensor_view(Tensor *tensor, DType dtype, const Shape *shape, Tensor **out) {
    int64_t count;
    assert(dtype_bits(dtype) == dtype_bits(tensor->dtype));
    TRY(shape_count(shape, &count));
    if (count != shape_count_unchecked(&tensor->shape)) {
        TextBuilder OWN_TEXT(text) = {0};
        shape_print(&tensor->shape, &text);
        text_append(&text, " as ");
        shape_print(shape, &text);
        FAIL(INVALID, "cannot read a tensor of shape %s", text_builder_get(&text));
    }
    Tensor *view;
    TRY(make(tensor->storage, tensor->offset, dtype, shape, &view));
    if (!tensor->written) tensor_set_unwritten(view);
    *out = view;
    return NULL;
}

Error *tensor_copy_part_to_host(const Tensor *tensor, uint64_t at, uint64_t size, void *to) {
    if (size == 0) return NULL;
    Device *device = tensor->storage->device;
    return device->class_->copy_to_host(
        device, storage_stream(tensor->storage), to, tensor_address(tensor) + at, size);
}

Error *tensor_copy_to_host(const Tensor *tensor, void *to) {
    return tensor_copy_part_to_host(tensor, 0, tensor_bytes(tensor), to);
}

Error *tensor_copy_from_host(Tensor *tensor, const void *from) {
    uint64_t bytes = tensor_bytes(tensor);
    if (bytes == 0) return NULL;
    Device *device = tensor->storage->device;
    return device->class_->copy_from_host(
        device, storage_stream(tensor->storage), tensor_address(tensor), from, bytes);
}
