#include "tests/support/device_tensor.h"

#include <assert.h>
#include <stdarg.h>

#include "base/digest.h"
#include "kernels/device/device.h"
#include "kernels/tensor/dtype_bits.h"
#include "tests/support/test_random.h"

static Tensor *create(DType dtype, const Shape *shape) {
    Tensor *tensor = NULL;
    Error *error = tensor_create_on_host(device_host(), dtype, shape, &tensor);
    assert(!error);
    return tensor;
}

Tensor *device_tensor(DType dtype, const double *values, uint32_t rank, ...) {
    Shape shape = {.rank = rank};
    va_list arguments;
    va_start(arguments, rank);
    for (uint32_t i = 0; i < rank; i++) shape.dims[i] = va_arg(arguments, int);
    va_end(arguments);
    Tensor *tensor = create(dtype, &shape);
    for (int64_t i = 0; i < shape_count_unchecked(&shape); i++) {
        bool written = dtype_bits_write_element(dtype, tensor_data(tensor), (uint64_t)i, values[i]);
        assert(written);
    }
    return tensor;
}

Tensor *device_tensor_random(
    DType dtype, const Shape *shape, double low, double high, uint64_t seed) {
    Tensor *tensor = create(dtype, shape);
    for (int64_t i = 0; i < shape_count_unchecked(shape); i++) {
        double unit = (double)(test_random(&seed) >> 11) * 0x1p-53;
        double value = dtype == DTYPE_BOOL ? unit < 0.5 : low + unit * (high - low);
        if (!dtype_bits_write_element(dtype, tensor_data(tensor), (uint64_t)i, value)) break;
    }
    return tensor;
}

double device_tensor_get(const Tensor *tensor, int64_t index) {
    double value = 0;
    bool read =
        dtype_bits_read_element(tensor->dtype, tensor_data(tensor), (uint64_t)index, &value);
    assert(read);
    return value;
}

uint64_t device_tensor_hash(const Tensor *tensor) {
    uint64_t parts[3 + SHAPE_RANK_MAX] = {(uint64_t)tensor->dtype, tensor->shape.rank,
        digest_xxh3(tensor_data(tensor), tensor_bytes(tensor))};
    for (uint32_t i = 0; i < tensor->shape.rank; i++)
        parts[3 + i] = (uint64_t)tensor->shape.dims[i];
    return digest_xxh3(parts, sizeof parts);
}
