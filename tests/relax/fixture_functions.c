#include "tests/relax/fixture_functions.h"

#include <string.h>

#include "kernels/tensor/dtype_scalar.h"
#include "kernels/tensor/tensor.h"

#define FUNCTION(name)                                                                             \
    static Error *name(PackedCall *call, const Value *arguments, uint32_t count, void *context,    \
        Value *out_result)
#define UNUSED() (void)call, (void)count, (void)context

enum { SLOT = 1, ELEMENT_BYTES_MAX = 8 };

typedef enum Operation { ADD, MUL } Operation;

static Error *tensor_of(const Value *arguments, uint32_t index, Tensor **out) {
    if (!value_is(&arguments[index], OBJECT_TENSOR))
        FAIL(INVALID, "argument %u is no tensor", index);
    *out = arguments[index].tensor;
    return NULL;
}

static Error *read_tensor(const Value *arguments, uint32_t index, Tensor **out) {
    TRY(tensor_of(arguments, index, out));
    if (!(*out)->written) FAIL(INVALID, "argument %u is not written", index);
    return NULL;
}

/* *out is NULL when the execution must get memory first. */
static Error *new_tensor(PackedCall *call, DType dtype, const Shape *shape, Tensor **out) {
    *out = NULL;
    MemoryAnswer answer;
    TRY(tensor_create_in_pool(call->pools[SLOT], SLOT, dtype, shape, &answer, out));
    if (answer.kind == MEMORY_GRANTED) {
        tensor_set_written(*out);
        return NULL;
    }
    call->memory = answer;
    call->memory_slot = SLOT;
    return NULL;
}

/* The byte of element i of `target` in a tensor that is broadcast to it. */
static const uint8_t *element(const Tensor *tensor, const Shape *target, int64_t index) {
    int64_t strides[SHAPE_RANK_MAX], place = 0;
    shape_broadcast_strides(&tensor->shape, target, strides);
    for (uint32_t axis = target->rank; axis-- > 0;) {
        place += index % target->dims[axis] * strides[axis];
        index /= target->dims[axis];
    }
    return (const uint8_t *)tensor_data(tensor) + place * (dtype_bits(tensor->dtype) / 8);
}

static void compute(Operation operation, DType dtype, const void *a, const void *b, void *out) {
    int64_t left, right;
    double x = 0, y = 0;
    if (dtype == DTYPE_INT64) {
        memcpy(&left, a, sizeof left);
        memcpy(&right, b, sizeof right);
        left = (int64_t)(operation == ADD ? (uint64_t)left + (uint64_t)right
                                          : (uint64_t)left * (uint64_t)right);
        memcpy(out, &left, sizeof left);
        return;
    }
    (void)dtype_scalar_read(dtype, a, &x);
    (void)dtype_scalar_read(dtype, b, &y);
    (void)dtype_scalar_write(dtype, operation == ADD ? x + y : x * y, out);
}

static void fill(Operation operation, const Tensor *a, const Tensor *b, Tensor *out) {
    const int64_t count = shape_count_unchecked(&out->shape);
    const uint32_t bytes = dtype_bits(out->dtype) / 8;
    for (int64_t i = 0; i < count; i++)
        compute(operation, out->dtype, element(a, &out->shape, i), element(b, &out->shape, i),
            (uint8_t *)tensor_data(out) + i * bytes);
}

static Error *binary(
    PackedCall *call, const Value *arguments, Operation operation, Value *out_result) {
    Tensor *a, *b, *out;
    Shape shape;
    TRY(read_tensor(arguments, 0, &a));
    TRY(read_tensor(arguments, 1, &b));
    if (a->dtype != b->dtype || dtype_bits(a->dtype) % 8 || a->dtype == DTYPE_STRING)
        FAIL(INVALID, "%s and %s", dtype_name(a->dtype), dtype_name(b->dtype));
    TRY(shape_broadcast(&a->shape, &b->shape, &shape));
    TRY(new_tensor(call, a->dtype, &shape, &out));
    if (!out) return NULL;
    fill(operation, a, b, out);
    *out_result = value_object(OBJECT_TENSOR, out);
    return NULL;
}

FUNCTION(vm_add) {
    UNUSED();
    return binary(call, arguments, ADD, out_result);
}

FUNCTION(vm_mul) {
    UNUSED();
    return binary(call, arguments, MUL, out_result);
}

FUNCTION(vm_equal_zero) {
    UNUSED();
    Tensor *tensor, *out;
    double value = 0;
    const Shape scalar = shape_make(0, NULL);
    TRY(read_tensor(arguments, 0, &tensor));
    if (shape_count_unchecked(&tensor->shape) < 1) FAIL(INVALID, "a tensor without elements");
    TRY(new_tensor(call, DTYPE_BOOL, &scalar, &out));
    if (!out) return NULL;
    (void)dtype_scalar_read(tensor->dtype, tensor_data(tensor), &value);
    *(uint8_t *)tensor_data(out) = value == 0;
    *out_result = value_object(OBJECT_TENSOR, out);
    return NULL;
}

/* A new tensor of each element combined with a scalar. */
static Error *with_scalar(PackedCall *call, const Value *arguments, Operation operation,
    double scalar, Value *out_result) {
    Tensor *tensor, *out;
    uint8_t operand[ELEMENT_BYTES_MAX];
    TRY(read_tensor(arguments, 0, &tensor));
    if (!dtype_scalar_write(tensor->dtype, scalar, operand))
        FAIL(INVALID, "a tensor of %s", dtype_name(tensor->dtype));
    TRY(new_tensor(call, tensor->dtype, &tensor->shape, &out));
    if (!out) return NULL;
    const int64_t count = shape_count_unchecked(&out->shape);
    const uint32_t bytes = dtype_bits(out->dtype) / 8;
    for (int64_t i = 0; i < count; i++)
        compute(operation, out->dtype, (uint8_t *)tensor_data(tensor) + i * bytes, operand,
            (uint8_t *)tensor_data(out) + i * bytes);
    *out_result = value_object(OBJECT_TENSOR, out);
    return NULL;
}

FUNCTION(vm_subtract_one) {
    UNUSED();
    return with_scalar(call, arguments, ADD, -1, out_result);
}

FUNCTION(scale_f64) {
    UNUSED();
    if (arguments[1].tag != VALUE_FLOAT) FAIL(INVALID, "argument 1 is no float");
    return with_scalar(call, arguments, MUL, arguments[1].real, out_result);
}

/* Argument `index` as a tensor that the function writes. */
static Error *written_tensor(
    const Value *arguments, uint32_t index, DType dtype, int64_t elements, Tensor **out) {
    TRY(tensor_of(arguments, index, out));
    if (elements >= 0 &&
        ((*out)->dtype != dtype || shape_count_unchecked(&(*out)->shape) != elements))
        FAIL(INVALID, "argument %u has another size or element type than the result", index);
    if ((*out)->storage->sealed) FAIL(INVALID, "argument %u must not be written", index);
    tensor_set_written(*out);
    return NULL;
}

FUNCTION(vm_identity) {
    UNUSED();
    Tensor *in, *out;
    (void)out_result;
    TRY(read_tensor(arguments, 0, &in));
    TRY(written_tensor(arguments, 1, in->dtype, shape_count_unchecked(&in->shape), &out));
    if (tensor_bytes(in)) memmove(tensor_data(out), tensor_data(in), tensor_bytes(in));
    return NULL;
}

/* numpy.tile(in, (1, 2)) */
FUNCTION(vm_tile) {
    UNUSED();
    Tensor *in, *out;
    (void)out_result;
    TRY(read_tensor(arguments, 0, &in));
    TRY(written_tensor(arguments, 1, in->dtype, 2 * shape_count_unchecked(&in->shape), &out));
    const uint64_t bytes = tensor_bytes(in);
    if (bytes == 0) return NULL;
    const uint64_t row = (uint64_t)(in->shape.rank ? in->shape.dims[in->shape.rank - 1] : 1) *
                         (dtype_bits(in->dtype) / 8);
    const uint8_t *from = tensor_data(in);
    uint8_t *to = tensor_data(out);
    for (uint64_t at = 0; at < bytes; at += row) {
        memmove(to + 2 * at, from + at, row);
        memmove(to + 2 * at + row, from + at, row);
    }
    return NULL;
}

FUNCTION(fill_iota) {
    UNUSED();
    Tensor *out;
    (void)out_result;
    TRY(written_tensor(arguments, 0, DTYPE_NONE, -1, &out));
    const int64_t elements = shape_count_unchecked(&out->shape);
    for (int64_t i = 0; i < elements; i++)
        if (!dtype_scalar_write(out->dtype, (double)i,
                (uint8_t *)tensor_data(out) + i * (dtype_bits(out->dtype) / 8)))
            FAIL(INVALID, "a tensor of %s", dtype_name(out->dtype));
    return NULL;
}

FUNCTION(add_into) {
    UNUSED();
    Tensor *a, *b, *out;
    (void)out_result;
    TRY(read_tensor(arguments, 0, &a));
    TRY(read_tensor(arguments, 1, &b));
    Shape shape;
    if (a->dtype != b->dtype || dtype_bits(a->dtype) % 8 || a->dtype == DTYPE_STRING)
        FAIL(INVALID, "%s and %s", dtype_name(a->dtype), dtype_name(b->dtype));
    TRY(shape_broadcast(&a->shape, &b->shape, &shape));
    TRY(written_tensor(arguments, 2, a->dtype, shape_count_unchecked(&shape), &out));
    if (!shape_equal(&shape, &out->shape)) FAIL(INVALID, "the result has another shape");
    fill(ADD, a, b, out);
    return NULL;
}

static Error *ints(const Value *arguments, int64_t *out_a, int64_t *out_b) {
    for (uint32_t i = 0; i < 2; i++)
        if (arguments[i].tag != VALUE_INT) FAIL(INVALID, "argument %u is no int", i);
    *out_a = arguments[0].integer;
    *out_b = arguments[1].integer;
    return NULL;
}

#define INTEGER_FUNCTION(name, result)                                                             \
    FUNCTION(name) {                                                                               \
        UNUSED();                                                                                  \
        int64_t a, b;                                                                              \
        TRY(ints(arguments, &a, &b));                                                              \
        *out_result = (result);                                                                    \
        return NULL;                                                                               \
    }
INTEGER_FUNCTION(add_i64, value_int((int64_t)((uint64_t)a + (uint64_t)b)))
INTEGER_FUNCTION(sub_i64, value_int((int64_t)((uint64_t)a - (uint64_t)b)))
INTEGER_FUNCTION(mul_i64, value_int((int64_t)((uint64_t)a *(uint64_t)b)))
INTEGER_FUNCTION(le_i64, value_bool(a <= b))

static const struct {
    const char *name;
    int32_t arity;
    PackedFunction *function;
} functions[] = {
    {"test.vm.add", 2, vm_add},
    {"test.vm.mul", 2, vm_mul},
    {"test.vm.equal_zero", 1, vm_equal_zero},
    {"test.vm.subtract_one", 1, vm_subtract_one},
    {"test.vm.identity", 2, vm_identity},
    {"test.vm.tile", 2, vm_tile},
    {"fx.add_i64", 2, add_i64},
    {"fx.sub_i64", 2, sub_i64},
    {"fx.mul_i64", 2, mul_i64},
    {"fx.le_i64", 2, le_i64},
    {"fx.fill_iota", 1, fill_iota},
    {"fx.add_into", 3, add_into},
    {"fx.scale_f64", 2, scale_f64},
};

Error *fixture_registry_create(PackedRegistry **out) {
    OWN(PackedRegistry, registry) = NULL;
    TRY(packed_registry_create(&registry));
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        TRY(packed_registry_add(
            registry, functions[i].name, functions[i].arity, functions[i].function, NULL, NULL));
    *out = TAKE(registry);
    return NULL;
}
