#pragma once
/* A tensor: a compact row-major view of a storage. Tensors are values: written once by the
 * instruction that makes them, then only read, on any thread. Used by everything above
 * kernels/tensor. */
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/refcount.h"
#include "kernels/tensor/shape.h"
#include "kernels/tensor/storage.h"
#include "kernels/tensor/tensor_spec.h"

typedef struct Tensor {
    Refcount refcount;
    /* False for a tensor of AllocTensor until an instruction has written it; reading it before that
     * is an error. */
    bool written;
    DType dtype;
    uint64_t offset; /* bytes from the storage's start */
    Shape shape;
    Storage *storage; /* retained; never NULL (size 0 for zero-size tensors) */
} Tensor;

/* Makes a view: checks that the extent fits the storage and the offset is aligned to the element. A
 * tensor of strings has the whole storage for itself. Retains the storage. Errors: INVALID. The
 * tensor is written. */
MUST_CHECK Error *tensor_create(
    Storage *storage, uint64_t offset, DType dtype, const Shape *shape, Tensor **out);
/* Makes a tensor with a storage of its own from the pool; contents undefined. *out is set only for
 * MEMORY_GRANTED. */
MUST_CHECK Error *tensor_create_in_pool(MemoryPool *pool, uint8_t slot, DType dtype,
    const Shape *shape, MemoryAnswer *out_answer, Tensor **out);
/* Makes a tensor on a host device outside any execution (inputs, constants being built): by
 * memory_map or small, zeroed, unsealed. cpu_device: any device whose addresses are pointers. */
MUST_CHECK Error *tensor_create_on_host(
    Device *cpu_device, DType dtype, const Shape *shape, Tensor **out);
/* The same two for element types without a fixed size (strings), whose bytes do not follow from the
 * shape. */
MUST_CHECK Error *tensor_create_bytes_in_pool(MemoryPool *pool, uint8_t slot, DType dtype,
    const Shape *shape, uint64_t bytes, MemoryAnswer *out_answer, Tensor **out);
MUST_CHECK Error *tensor_create_bytes_on_host(
    Device *cpu_device, DType dtype, const Shape *shape, uint64_t bytes, Tensor **out);
/* Copies a tensor that is in host memory. */
MUST_CHECK Error *tensor_create_copy_on_host(Device *cpu_device, const Tensor *from, Tensor **out);
Tensor *tensor_retain(Tensor *tensor);
void tensor_release(Tensor *tensor);
DEFINE_OWN(Tensor, tensor_release);
uint64_t tensor_bytes(const Tensor *tensor);
uint64_t tensor_address(const Tensor *tensor); /* an address of its device; 0 for zero-size */
DevicePlace tensor_place(const Tensor *tensor);
/* Only for tensors whose device's addresses are pointers (cpu). NULL for zero-size. */
void *tensor_data(const Tensor *tensor);
TensorSpec tensor_spec(const Tensor *tensor);
/* Whether the caller is the only holder of the tensor and of a storage that may be written, and the
 * tensor covers it: in-place is allowed. */
bool tensor_is_sole(const Tensor *tensor);
/* The same bytes as another shape of the same count; shares the storage. Errors: INVALID. */
MUST_CHECK Error *tensor_reshape(Tensor *tensor, const Shape *shape, Tensor **out);
/* As tensor_reshape, read as elements of another type of as many bits. */
MUST_CHECK Error *tensor_view(Tensor *tensor, DType dtype, const Shape *shape, Tensor **out);
/* Changes `written`, and the storage's count of tensors that are not. On the thread of the
 * execution. */
void tensor_set_unwritten(Tensor *tensor);
static inline void tensor_set_written(Tensor *tensor) {
    if (!tensor->written && tensor->storage->opaque) tensor->storage->unwritten--;
    tensor->written = true;
}
/* Copy to / from host memory of tensor_bytes size, whatever device the tensor is on. */
MUST_CHECK Error *tensor_copy_to_host(const Tensor *tensor, void *to);
/* Copies size bytes from byte `at` on, which must lie inside the tensor. */
MUST_CHECK Error *tensor_copy_part_to_host(
    const Tensor *tensor, uint64_t at, uint64_t size, void *to);
MUST_CHECK Error *tensor_copy_from_host(Tensor *tensor, const void *from);
