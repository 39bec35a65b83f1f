#include "compiler/frontend/base/onnx_sparse.h"

#include <inttypes.h>
#include <string.h>

#include "base/allocator.h"
#include "base/checked.h"
#include "compiler/frontend/base/onnx_tensor.h"
#include "kernels/device/device.h"
#include "kernels/tensor/string_tensor.h"

typedef struct Sparse {
    Tensor *values, *indices; /* indices is NULL without values */
    Shape shape;
    int64_t count; /* number of values */
    int64_t total; /* elements of the dense tensor */
} Sparse;

static Error *read_shape(const Onnx__SparseTensorProto *proto, Sparse *sparse) {
    if (proto->n_dims == 0) FAIL(INVALID, "a sparse tensor without dimensions");
    if (proto->n_dims > SHAPE_RANK_MAX)
        FAIL(UNSUPPORTED, "a sparse tensor of rank %zu; at most %d", proto->n_dims, SHAPE_RANK_MAX);
    for (size_t i = 0; i < proto->n_dims; i++)
        if (proto->dims[i] < 0)
            FAIL(INVALID, "dimension %zu is %" PRId64, i, (int64_t)proto->dims[i]);
    sparse->shape = shape_make((uint32_t)proto->n_dims, proto->dims);
    return shape_count(&sparse->shape, &sparse->total);
}

static Error *check_indices(const Sparse *sparse) {
    const Tensor *indices = sparse->indices;
    if (indices->dtype != DTYPE_INT64)
        FAIL(INVALID, "indices are %s, not int64", dtype_name(indices->dtype));
    const Shape *shape = &indices->shape;
    const bool linear = shape->rank == 1;
    if (!linear && (shape->rank != 2 || shape->dims[1] != sparse->shape.rank))
        FAIL(INVALID, "indices are neither [values] nor [values, %u]", sparse->shape.rank);
    if (shape->dims[0] != sparse->count)
        FAIL(INVALID, "%" PRId64 " indices for %" PRId64 " values", shape->dims[0], sparse->count);
    return NULL;
}

static Error *read_parts(const Onnx__SparseTensorProto *proto, const OnnxFolder *folder,
    Device *device, Sparse *sparse) {
    if (!proto->values) FAIL(INVALID, "a sparse tensor without values");
    TRY(read_shape(proto, sparse));
    TRY_WRAP(onnx_tensor_read(proto->values, folder, device, &sparse->values), "values");
    if (sparse->values->shape.rank != 1)
        FAIL(INVALID, "values have rank %u, not 1", sparse->values->shape.rank);
    sparse->count = sparse->values->shape.dims[0];
    if (!proto->indices && sparse->count > 0) FAIL(INVALID, "a sparse tensor without indices");
    if (!proto->indices) return NULL;
    TRY_WRAP(onnx_tensor_read(proto->indices, folder, device, &sparse->indices), "indices");
    return sparse->count > 0 ? check_indices(sparse) : NULL;
}

/* The place of value k in the dense tensor. */
static Error *place_of(const Sparse *sparse, int64_t k, int64_t *out) {
    const int64_t *indices = tensor_data(sparse->indices);
    const Shape *shape = &sparse->shape;
    if (sparse->indices->shape.rank == 1) {
        *out = indices[k];
        if (*out >= 0 && *out < sparse->total) return NULL;
        FAIL(INVALID, "index %" PRId64 " is %" PRId64 " in %" PRId64 " elements", k, *out,
            sparse->total);
    }
    int64_t place = 0;
    for (uint32_t i = 0; i < shape->rank; i++) {
        const int64_t index = indices[k * shape->rank + i];
        if (index < 0 || index >= shape->dims[i])
            FAIL(INVALID, "index %" PRId64 " is %" PRId64 " in dimension %u of %" PRId64, k, index,
                i, shape->dims[i]);
        place = place * shape->dims[i] + index;
    }
    *out = place;
    return NULL;
}

/* Rising, which in the order of dimensions is lexicographic. */
static Error *next_place(const Sparse *sparse, int64_t k, int64_t *inout_place) {
    int64_t place;
    TRY(place_of(sparse, k, &place));
    if (k > 0 && place <= *inout_place)
        FAIL(INVALID, "index %" PRId64 " %s", k,
            place == *inout_place ? "is there twice" : "is not in rising order");
    *inout_place = place;
    return NULL;
}

/* Element `from` to element `to`, which is 0. */
static void copy_element(
    uint32_t bits, const uint8_t *values, int64_t from, uint8_t *out, int64_t to) {
    if (bits >= 8) {
        const int64_t size = bits / 8;
        memcpy(out + to * size, values + from * size, (size_t)size);
        return;
    }
    for (uint32_t b = 0; b < bits; b++) {
        const int64_t read = from * bits + b, write = to * bits + b;
        const uint8_t bit = values[read / 8] >> read % 8 & 1;
        out[write / 8] = (uint8_t)(out[write / 8] | bit << write % 8);
    }
}

static Error *make_numbers(const Sparse *sparse, Device *device, Tensor **out) {
    const DType dtype = sparse->values->dtype;
    OWN(Tensor, tensor) = NULL;
    TRY(tensor_create_on_host(device, dtype, &sparse->shape, &tensor));
    if (tensor_bytes(tensor)) memset(tensor_data(tensor), 0, tensor_bytes(tensor));
    int64_t place = 0;
    for (int64_t k = 0; k < sparse->count; k++) {
        TRY(next_place(sparse, k, &place));
        copy_element(dtype_bits(dtype), tensor_data(sparse->values), k, tensor_data(tensor), place);
    }
    *out = TAKE(tensor);
    return NULL;
}

static Error *place_strings(const Sparse *sparse, StringView *texts) {
    int64_t place = 0;
    for (int64_t i = 0; i < sparse->total; i++) texts[i] = (StringView){"", 0};
    for (int64_t k = 0; k < sparse->count; k++) {
        TRY(next_place(sparse, k, &place));
        texts[place] = string_tensor_at(tensor_data(sparse->values), sparse->count, k);
    }
    return NULL;
}

static Error *make_strings(const Sparse *sparse, Tensor **out) {
    void *memory;
    TRY(memory_alloc((size_t)sparse->total, sizeof(StringView), &memory));
    Error *error = place_strings(sparse, memory);
    if (!error) error = string_tensor_create(&sparse->shape, memory, out);
    memory_free(memory);
    return error;
}

static Error *make_dense(const Sparse *sparse, Device *device, uint64_t *inout_left, Tensor **out) {
    const DType dtype = sparse->values->dtype;
    const bool strings = dtype == DTYPE_STRING;
    uint64_t bytes;
    if (!strings)
        TRY(shape_bytes(&sparse->shape, dtype, &bytes));
    else if (!checked_mul_u64((uint64_t)sparse->total, sizeof(StringView), &bytes))
        bytes = UINT64_MAX;
    if (bytes > *inout_left)
        FAIL(UNSUPPORTED, "sparse tensors that take more than %" PRIu64 " bytes when unpacked",
            ONNX_SPARSE_BYTES_MAX);
    *inout_left -= bytes;
    return strings ? make_strings(sparse, out) : make_numbers(sparse, device, out);
}

Error *onnx_sparse_read(const Onnx__SparseTensorProto *proto, const OnnxFolder *folder,
    Device *device, uint64_t *inout_left, Tensor **out) {
    Sparse sparse = {0};
    Error *error = read_parts(proto, folder, device, &sparse);
    if (!error) error = make_dense(&sparse, device, inout_left, out);
    tensor_release(sparse.values);
    tensor_release(sparse.indices);
    return error;
}
