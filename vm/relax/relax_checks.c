#include <inttypes.h>

#include "vm/objects/shape_object.h"
#include "vm/relax/relax_registry.h"

static Error *check_tensor(const Value *value, int64_t rank, DType dtype) {
    if (!value_is(value, OBJECT_TENSOR))
        FAIL(INVALID, "the value is a %s, not a tensor", value_kind_name(value));
    const Tensor *tensor = value->tensor;
    if (rank != -1 && tensor->shape.rank != rank)
        FAIL(INVALID, "the tensor has %u dimensions, not %" PRIi64, tensor->shape.rank, rank);
    if (dtype != DTYPE_NONE && tensor->dtype != dtype)
        FAIL(INVALID, "the tensor is %s, not %s", dtype_name(tensor->dtype), dtype_name(dtype));
    return NULL;
}

/* Three arguments: value, rank, context; four: value, rank, element type, context. */
RELAX(check_tensor_info) {
    RELAX_UNUSED();
    if (count < 3) FAIL(INVALID, "argument 2 is missing: the context string");
    DType dtype = DTYPE_NONE;
    if (count == 4) {
        if (arguments[2].tag == VALUE_DTYPE)
            dtype = arguments[2].dtype;
        else if (arguments[2].tag != VALUE_NIL)
            FAIL(
                INVALID, "argument 2 is a %s, not an element type", value_kind_name(&arguments[2]));
    }
    return relax_wrap(
        check_tensor(&arguments[0], relax_int(&arguments[1]), dtype), &arguments[count - 1]);
}

static Error *check_shape(const Value *value, int64_t rank) {
    if (!value_is(value, OBJECT_SHAPE))
        FAIL(INVALID, "the value is a %s, not a shape", value_kind_name(value));
    if (rank != -1 && value->shape->count != rank)
        FAIL(INVALID, "the shape has %u dimensions, not %" PRIi64, value->shape->count, rank);
    return NULL;
}

/* The context string of a check with one further argument at `at`. */
static const Value *context_at(const Value *arguments, uint32_t count, uint32_t at) {
    static const Value none = {.tag = VALUE_NIL};
    return at < count ? &arguments[at] : &none;
}

RELAX(check_shape_info) {
    RELAX_UNUSED();
    return relax_wrap(
        check_shape(&arguments[0], relax_int(&arguments[1])), context_at(arguments, count, 2));
}

static Error *check_tuple(const Value *value, int64_t fields) {
    if (!relax_is_tuple(value))
        FAIL(INVALID, "the value is a %s, not a tuple", value_kind_name(value));
    uint32_t found;
    (void)value_children(value, &found);
    if (found != fields) FAIL(INVALID, "the tuple has %u fields, not %" PRIi64, found, fields);
    return NULL;
}

RELAX(check_tuple_info) {
    RELAX_UNUSED();
    return relax_wrap(
        check_tuple(&arguments[0], relax_int(&arguments[1])), context_at(arguments, count, 2));
}

static Error *check_scalar(const Value *value, DType dtype) {
    bool is_float = dtype == DTYPE_FLOAT16 || dtype == DTYPE_FLOAT32 || dtype == DTYPE_FLOAT64;
    if (!is_float && !dtype_is_integer(dtype) && dtype != DTYPE_BOOL)
        FAIL(INVALID, "there are no scalars of type %s", dtype_name(dtype));
    bool is_int = value->tag == VALUE_INT || value->tag == VALUE_BOOL;
    if (is_int || (is_float && value->tag == VALUE_FLOAT)) return NULL;
    FAIL(INVALID, "the value is a %s, not a scalar of type %s", value_kind_name(value),
        dtype_name(dtype));
}

RELAX(check_prim_value_info) {
    RELAX_UNUSED();
    return relax_wrap(
        check_scalar(&arguments[0], arguments[1].dtype), context_at(arguments, count, 2));
}

static Error *check_function(const Value *value) {
    if (value_is(value, OBJECT_CLOSURE) || value_is(value, OBJECT_PACKED_FUNCTION)) return NULL;
    FAIL(INVALID, "the value is a %s, not a function", value_kind_name(value));
}

RELAX(check_func_info) {
    RELAX_UNUSED();
    return relax_wrap(check_function(&arguments[0]), context_at(arguments, count, 1));
}

RELAX(check_string_info) {
    RELAX_UNUSED();
    if (value_is(&arguments[0], OBJECT_STRING)) return NULL;
    Error *error = error_make(ERROR_INVALID, __FILE__, __LINE__, "the value is a %s, not a string",
        value_kind_name(&arguments[0]));
    return relax_wrap(error, context_at(arguments, count, 1));
}
