#include "compiler/frontend/base/onnx_keys.h"

#include <math.h>
#include <stdlib.h>

#include "base/allocator.h"
#include "kernels/tensor/dtype_scalar.h"
#include "kernels/tensor/string_tensor.h"

/* One of the values, the others are empty. */
typedef struct Key {
    StringView text;
    double real;
    int64_t integer;
    int64_t index;
} Key;

static int compare_values(const Key *a, const Key *b) {
    const uint64_t size = a->text.size < b->text.size ? a->text.size : b->text.size;
    const int order = size ? memcmp(a->text.text, b->text.text, (size_t)size) : 0;
    if (order != 0) return order;
    if (a->text.size != b->text.size) return a->text.size < b->text.size ? -1 : 1;
    if (isnan(a->real) || isnan(b->real)) return isnan(a->real) - isnan(b->real);
    if (a->real < b->real || a->real > b->real) return a->real < b->real ? -1 : 1;
    return (a->integer > b->integer) - (a->integer < b->integer);
}

/* Of equal keys the first one stands first. */
static int compare_keys(const void *a, const void *b) {
    const Key *x = a, *y = b;
    const int order = compare_values(x, y);
    return order != 0 ? order : (x->index > y->index) - (x->index < y->index);
}

static Error *read_keys(const Tensor *tensor, int64_t count, Key *out) {
    const char *data = tensor_data(tensor);
    const uint32_t size = dtype_bits(tensor->dtype) / 8;
    for (int64_t i = 0; i < count; i++) {
        out[i] = (Key){.index = i};
        if (tensor->dtype == DTYPE_STRING)
            out[i].text = string_tensor_at(data, count, i);
        else if (tensor->dtype == DTYPE_FLOAT32)
            out[i].real = (double)((const float *)tensor_data(tensor))[i];
        else if (tensor->dtype == DTYPE_FLOAT64)
            out[i].real = ((const double *)tensor_data(tensor))[i];
        else if (!dtype_scalar_read_int(tensor->dtype, data + i * size, &out[i].integer))
            FAIL(UNSUPPORTED, "keys of %s", dtype_name(tensor->dtype));
    }
    return NULL;
}

/* Leaves the first of equal keys. Returns how many are left. */
static int64_t drop_equal(Key *keys, int64_t count, bool nan_keys) {
    int64_t kept = 0;
    for (int64_t i = 0; i < count; i++) {
        if (isnan(keys[i].real) && !nan_keys) continue;
        if (kept == 0 || compare_values(&keys[kept - 1], &keys[i]) != 0) keys[kept++] = keys[i];
    }
    return kept;
}

static Error *write_texts(const Key *keys, const Shape *shape, Tensor **out) {
    const int64_t count = shape->dims[0];
    void *memory;
    TRY(memory_alloc((size_t)count, sizeof(StringView), &memory));
    StringView *texts = memory;
    for (int64_t i = 0; i < count; i++) texts[i] = keys[i].text;
    Error *error = string_tensor_create(shape, texts, out);
    memory_free(memory);
    return error;
}

static Error *write_keys(const OnnxNode *node, const Tensor *from, const Key *keys, int64_t count,
    IrVariable **out_sorted, IrVariable **out_order) {
    OWN(Tensor, sorted) = NULL;
    OWN(Tensor, order) = NULL;
    const Shape shape = shape_make(1, &count);
    TRY(tensor_create_on_host(node->import->device, DTYPE_INT64, &shape, &order));
    for (int64_t i = 0; i < count; i++) ((int64_t *)tensor_data(order))[i] = keys[i].index;
    if (from->dtype == DTYPE_STRING) {
        TRY(write_texts(keys, &shape, &sorted));
    } else {
        const size_t size = dtype_bits(from->dtype) / 8;
        TRY(tensor_create_on_host(node->import->device, from->dtype, &shape, &sorted));
        for (int64_t i = 0; i < count; i++)
            memcpy((char *)tensor_data(sorted) + (size_t)i * size,
                (const char *)tensor_data(from) + (size_t)keys[i].index * size, size);
    }
    TRY(ir_constant_tensor(node->import->module, sorted, out_sorted));
    return ir_constant_tensor(node->import->module, order, out_order);
}

Error *onnx_sort_keys(
    const OnnxNode *node, IrVariable *keys, IrVariable **out_sorted, IrVariable **out_order) {
    const Tensor *from = keys ? ir_variable_tensor(keys) : NULL;
    void *memory;
    if (!from) FAIL(UNSUPPORTED, "keys that are not constant");
    const int64_t count = shape_count_unchecked(&from->shape);
    TRY(memory_alloc((size_t)count, sizeof(Key), &memory));
    Error *error = read_keys(from, count, memory);
    if (!error) {
        if (count > 1) qsort(memory, (size_t)count, sizeof(Key), compare_keys);
        const int64_t kept = drop_equal(memory, count, node->import->nan_keys);
        error = write_keys(node, from, memory, kept, out_sorted, out_order);
    }
    memory_free(memory);
    return error;
}
