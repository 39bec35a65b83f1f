/* Elementwise operators, and what all builders use. */
#include <string.h>

#include "compiler/relay/relay_build_internal.h"
#include "kernels/device/device.h"
#include "kernels/tensor/dtype_scalar.h"

void relay_ir_type(const RelayType *type, IrType *out) {
    while (type->kind == RELAY_TYPE_VARIABLE && type->instance) type = type->instance;
    *out = (IrType){0};
    if (type->kind == RELAY_TYPE_TUPLE || type->kind == RELAY_TYPE_DATA) out->kind = IR_TYPE_DATA;
    if (type->kind == RELAY_TYPE_FUNCTION) out->kind = IR_TYPE_CLOSURE;
    if (type->kind == RELAY_TYPE_REFERENCE) out->kind = IR_TYPE_INT; /* its place in the heap */
    if (type->kind != RELAY_TYPE_TENSOR) return;
    *out = ir_type_tensor(type->dtype);
    out->rank_known = type->rank_known;
    out->rank = type->rank;
    for (uint32_t i = 0; i < type->rank; i++) out->dims[i] = IR_DIM_UNKNOWN;
}

Error *relay_rank(const RelayOperatorCall *call, uint32_t index, uint32_t *out) {
    if (!call->types[index]->rank_known)
        FAIL(INVALID, "the rank of argument %u is not known; write its type at a let", index + 1);
    *out = call->types[index]->rank;
    return NULL;
}

Error *relay_dtype(const RelayOperatorCall *call, uint32_t index, DType *out) {
    *out = call->types[index]->dtype;
    if (*out != DTYPE_NONE) return NULL;
    FAIL(INVALID, "the element type of argument %u is not known; write its type at a let",
        index + 1);
}

void relay_give(RelayOperatorCall *call, IrVariable *result) {
    call->results[0] = result;
    call->result_count = 1;
}

Error *relay_same_dtype(const RelayOperatorCall *call) {
    DType dtype;
    TRY(relay_get_dtype(call, "out_dtype", call->types[0]->dtype, &dtype));
    if (dtype != call->types[0]->dtype)
        FAIL(
            UNSUPPORTED, "out_dtype %s; only the type of the input is computed", dtype_name(dtype));
    return NULL;
}

/* ---- builders ---- */

Error *relay_build_same(RelayOperatorCall *call) {
    IrVariable **results;
    TRY(ir_build_operator(
        call->at, call->row->target, NULL, call->count, call->inputs, 1, &results));
    relay_give(call, results[0]);
    return NULL;
}

Error *relay_build_pass(RelayOperatorCall *call) {
    relay_give(call, call->inputs[0]);
    return NULL;
}

Error *relay_build_not_equal(RelayOperatorCall *call) {
    IrVariable *equal, *result;
    TRY(ir_build_simple(call->at, "Equal", NULL, call->inputs[0], call->inputs[1], NULL, &equal));
    TRY(ir_build_simple(call->at, "Not", NULL, equal, NULL, NULL, &result));
    relay_give(call, result);
    return NULL;
}

/* Floats have Mod with fmod only; the floored remainder moves towards the divisor's sign. */
static Error *floored_float(RelayOperatorCall *call, IrVariable **out) {
    IrVariable *quotient, *whole, *product, *a = call->inputs[0], *b = call->inputs[1];
    TRY(ir_build_simple(call->at, "Div", NULL, a, b, NULL, &quotient));
    TRY(ir_build_simple(call->at, "Floor", NULL, quotient, NULL, NULL, &whole));
    TRY(ir_build_simple(call->at, "Mul", NULL, whole, b, NULL, &product));
    return ir_build_simple(call->at, "Sub", NULL, a, product, NULL, out);
}

Error *relay_build_modulo(RelayOperatorCall *call) {
    OWN(Attributes, attributes) = NULL;
    const bool floored = strcmp(call->row->target, "floored") == 0;
    IrVariable *result;
    DType dtype;
    TRY(relay_dtype(call, 0, &dtype));
    TRY(attributes_create(&attributes));
    TRY(attributes_set_int(attributes, "fmod", !floored));
    if (floored && dtype_is_float(dtype))
        TRY(floored_float(call, &result));
    else
        TRY(ir_build_simple(
            call->at, "Mod", attributes, call->inputs[0], call->inputs[1], NULL, &result));
    relay_give(call, result);
    return NULL;
}

Error *relay_build_floor_divide(RelayOperatorCall *call) {
    IrVariable *rest, *whole, *result, *a = call->inputs[0], *b = call->inputs[1];
    DType dtype;
    TRY(relay_dtype(call, 0, &dtype));
    if (dtype_is_float(dtype)) {
        TRY(ir_build_simple(call->at, "Div", NULL, a, b, NULL, &whole));
        TRY(ir_build_simple(call->at, "Floor", NULL, whole, NULL, NULL, &result));
    } else {
        TRY(ir_build_simple(call->at, "Mod", NULL, a, b, NULL, &rest));
        TRY(ir_build_simple(call->at, "Sub", NULL, a, rest, NULL, &whole));
        TRY(ir_build_simple(call->at, "Div", NULL, whole, b, NULL, &result));
    }
    relay_give(call, result);
    return NULL;
}

Error *relay_build_rsqrt(RelayOperatorCall *call) {
    IrVariable *root, *result;
    TRY(ir_build_simple(call->at, "Sqrt", NULL, call->inputs[0], NULL, NULL, &root));
    TRY(ir_build_simple(call->at, "Reciprocal", NULL, root, NULL, NULL, &result));
    relay_give(call, result);
    return NULL;
}

/* Halves go away from zero, those of the operator Round to the even neighbour:
 * sign * (whole + (rest >= 1/2)). */
Error *relay_build_round(RelayOperatorCall *call) {
    IrVariable *size, *whole, *rest, *half, *up, *one, *more, *sign, *result;
    DType dtype;
    TRY(relay_dtype(call, 0, &dtype));
    TRY(constants_number(ir_cursor_module(call->at), dtype, 0.5, &half));
    TRY(ir_build_simple(call->at, "Abs", NULL, call->inputs[0], NULL, NULL, &size));
    TRY(ir_build_simple(call->at, "Floor", NULL, size, NULL, NULL, &whole));
    TRY(ir_build_simple(call->at, "Sub", NULL, size, whole, NULL, &rest));
    TRY(ir_build_simple(call->at, "GreaterOrEqual", NULL, rest, half, NULL, &up));
    TRY(ir_build_cast(call->at, up, dtype, &one));
    TRY(ir_build_simple(call->at, "Add", NULL, whole, one, NULL, &more));
    TRY(ir_build_simple(call->at, "Sign", NULL, call->inputs[0], NULL, NULL, &sign));
    TRY(ir_build_simple(call->at, "Mul", NULL, more, sign, NULL, &result));
    relay_give(call, result);
    return NULL;
}

Error *relay_build_clip(RelayOperatorCall *call) {
    IrVariable *min, *max, *result;
    double low, high;
    DType dtype;
    TRY(relay_dtype(call, 0, &dtype));
    if (!relay_attribute(call, "a_min") || !relay_attribute(call, "a_max"))
        FAIL(INVALID, "the attributes a_min and a_max are wanted");
    TRY(relay_get_float(call, "a_min", 0, &low));
    TRY(relay_get_float(call, "a_max", 0, &high));
    TRY(constants_number(ir_cursor_module(call->at), dtype, low, &min));
    TRY(constants_number(ir_cursor_module(call->at), dtype, high, &max));
    TRY(ir_build_simple(call->at, "Clip", NULL, call->inputs[0], min, max, &result));
    relay_give(call, result);
    return NULL;
}

Error *relay_build_cast(RelayOperatorCall *call) {
    IrVariable *result;
    DType dtype;
    TRY(relay_get_dtype(call, "dtype", DTYPE_NONE, &dtype));
    if (dtype == DTYPE_NONE) FAIL(INVALID, "the attribute dtype is wanted");
    TRY(ir_build_cast(call->at, call->inputs[0], dtype, &result));
    relay_give(call, result);
    return NULL;
}

Error *relay_build_leaky_relu(RelayOperatorCall *call) {
    OWN(Attributes, attributes) = NULL;
    IrVariable *result;
    double alpha;
    TRY(relay_get_float(call, "alpha", 0.25, &alpha));
    TRY(attributes_create(&attributes));
    TRY(attributes_set_float(attributes, "alpha", alpha));
    TRY(ir_build_simple(call->at, "LeakyRelu", attributes, call->inputs[0], NULL, NULL, &result));
    relay_give(call, result);
    return NULL;
}
