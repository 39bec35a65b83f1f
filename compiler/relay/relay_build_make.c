/* Operators that make tensors, and those that read shapes. */
#include <string.h>

#include "compiler/relay/relay_build_internal.h"
#include "kernels/device/device.h"
#include "kernels/tensor/dtype_scalar.h"

static Error *get_shape(RelayOperatorCall *call, IrVariable **out) {
    int64_t dims[RELAY_INTS_MAX];
    uint32_t count;
    TRY(relay_get_ints(call, "shape", dims, &count));
    if (count == RELAY_ABSENT) FAIL(INVALID, "the attribute shape is wanted");
    for (uint32_t i = 0; i < count; i++)
        if (dims[i] < 0)
            FAIL(INVALID, "attribute shape has the dimension %lld", (long long)dims[i]);
    return constants_ints(ir_cursor_module(call->at), 1, count, dims, out);
}

Error *relay_build_filled(RelayOperatorCall *call) {
    OWN(Attributes, attributes) = NULL;
    OWN(Tensor, value) = NULL;
    const Shape one = {.rank = 1, .dims = {1}};
    IrVariable *shape, *result;
    DType dtype;
    TRY(relay_get_dtype(call, "dtype", DTYPE_FLOAT32, &dtype));
    TRY(get_shape(call, &shape));
    TRY(tensor_create_on_host(device_host(), dtype, &one, &value));
    const bool ones = call->row->target[0] == '1';
    if (!dtype_scalar_write(dtype, ones, tensor_data(value)))
        FAIL(UNSUPPORTED, "numbers of type %s", dtype_name(dtype));
    TRY(attributes_create(&attributes));
    TRY(attributes_set_tensor(attributes, "value", value));
    TRY(ir_build_simple(call->at, "ConstantOfShape", attributes, shape, NULL, NULL, &result));
    relay_give(call, result);
    return NULL;
}

Error *relay_build_full(RelayOperatorCall *call) {
    IrVariable *shape, *value = call->inputs[0], *result;
    DType dtype;
    TRY(relay_get_dtype(call, "dtype", call->types[0]->dtype, &dtype));
    TRY(get_shape(call, &shape));
    if (dtype != call->types[0]->dtype) TRY(ir_build_cast(call->at, value, dtype, &value));
    TRY(ir_build_simple(call->at, "Expand", NULL, value, shape, NULL, &result));
    relay_give(call, result);
    return NULL;
}

/* true, in the shape of the first input */
static Error *true_like(RelayOperatorCall *call, IrVariable **out) {
    IrVariable *equal, *yes;
    TRY(constants_number(ir_cursor_module(call->at), DTYPE_BOOL, 1, &yes));
    TRY(ir_build_simple(call->at, "Equal", NULL, call->inputs[0], call->inputs[0], NULL, &equal));
    return ir_build_simple(call->at, "Or", NULL, equal, yes, NULL, out);
}

Error *relay_build_filled_like(RelayOperatorCall *call) {
    IrVariable *yes, *result;
    DType dtype;
    TRY(relay_dtype(call, 0, &dtype));
    TRY(true_like(call, &yes));
    if (call->row->target[0] == '0')
        TRY(ir_build_simple(call->at, "Not", NULL, yes, NULL, NULL, &yes));
    TRY(ir_build_cast(call->at, yes, dtype, &result));
    relay_give(call, result);
    return NULL;
}

Error *relay_build_full_like(RelayOperatorCall *call) {
    IrVariable *yes, *value = call->inputs[1], *result;
    DType dtype;
    TRY(relay_dtype(call, 0, &dtype));
    if (call->types[1]->dtype != dtype) TRY(ir_build_cast(call->at, value, dtype, &value));
    TRY(true_like(call, &yes));
    TRY(ir_build_simple(call->at, "Where", NULL, yes, value, value, &result));
    relay_give(call, result);
    return NULL;
}

Error *relay_build_shape_of(RelayOperatorCall *call) {
    IrVariable *shape, *result;
    DType dtype;
    TRY(relay_get_dtype(call, "dtype", DTYPE_INT32, &dtype));
    TRY(ir_build_simple(call->at, call->row->target, NULL, call->inputs[0], NULL, NULL, &shape));
    result = shape;
    if (dtype != DTYPE_INT64) TRY(ir_build_cast(call->at, shape, dtype, &result));
    relay_give(call, result);
    return NULL;
}

/* The second input is a shape that is known when the program runs. */
Error *relay_build_dynamic(RelayOperatorCall *call) {
    IrVariable *shape = call->inputs[1], *result;
    if (call->types[1]->dtype != DTYPE_INT64)
        TRY(ir_build_cast(call->at, shape, DTYPE_INT64, &shape));
    TRY(ir_build_simple(call->at, call->row->target, NULL, call->inputs[0], shape, NULL, &result));
    relay_give(call, result);
    return NULL;
}

Error *relay_build_broadcast_to(RelayOperatorCall *call) {
    IrVariable *shape, *result;
    TRY(get_shape(call, &shape));
    TRY(ir_build_simple(call->at, "Expand", NULL, call->inputs[0], shape, NULL, &result));
    relay_give(call, result);
    return NULL;
}
