/* Elementwise operators, and what all builders use. */
#include <string.h>

#include "compiler/nnvm/nnvm_build_internal.h"
#include "kernels/device/device.h"
#include "kernels/tensor/dtype_scalar.h"

Error *nnvm_rank(const NnvmCall *call, uint32_t index, uint32_t *out) {
    const IrType *type = &call->inputs[index]->type;
    if (type->kind != IR_TYPE_TENSOR || !type->rank_known)
        FAIL(INVALID,
            "the number of dimensions of input %u has to be known; give the data's variable the "
            "attribute __shape__",
            index);
    *out = type->rank;
    return NULL;
}

DType nnvm_dtype(const NnvmCall *call, uint32_t index) {
    const IrType *type = &call->inputs[index]->type;
    return type->kind == IR_TYPE_TENSOR && type->dtype != DTYPE_NONE ? type->dtype : DTYPE_FLOAT32;
}

Error *nnvm_make_along(NnvmCall *call, const char *name, int64_t axis, IrVariable *a, IrVariable *b,
    IrVariable **out) {
    OWN(Attributes, attributes) = NULL;
    TRY(attributes_create(&attributes));
    TRY(attributes_set_int(attributes, "axis", axis));
    return ir_build_simple(call->at, name, attributes, a, b, NULL, out);
}

void nnvm_give(NnvmCall *call, IrVariable *result) {
    call->results[0] = result;
    call->result_count = 1;
}

Error *nnvm_check_units(
    const NnvmCall *call, const char *name, uint32_t input, uint32_t dimension) {
    const IrType *type = &call->inputs[input]->type;
    int64_t units;
    if (type->kind != IR_TYPE_TENSOR || !type->rank_known || dimension >= type->rank) return NULL;
    const int64_t there = type->dims[dimension];
    TRY(nnvm_get_int(call, name, there, &units));
    if (there >= 0 && units != there)
        FAIL(INVALID, "%s is %lld, but dimension %u of input %u is %lld", name, (long long)units,
            dimension, input, (long long)there);
    return NULL;
}

/* ---- builders ---- */

Error *nnvm_build_same(NnvmCall *call) {
    IrVariable *result;
    TRY(ir_build_simple(call->at, call->row->target, NULL, call->inputs[0], NULL, NULL, &result));
    nnvm_give(call, result);
    return NULL;
}

/* target: the operator; before it ?: the result is a number, as the first input; !: negated;
 * r: the second operand first. One input: the other operand is the attribute scalar. */
Error *nnvm_build_binary(NnvmCall *call) {
    const char *target = call->row->target;
    const DType dtype = nnvm_dtype(call, 0);
    IrVariable *a = call->inputs[0], *b, *result;
    const bool numbers = target[0] == '?', negated = numbers && target[1] == '!';
    target += numbers + negated;
    const bool turned = target[0] == 'r';
    if (call->count > 1) {
        b = call->inputs[1];
    } else {
        double scalar;
        if (!nnvm_text(call, "scalar", NULL)) FAIL(INVALID, "the attribute scalar is wanted");
        TRY(nnvm_get_float(call, "scalar", 0, &scalar));
        TRY(constants_number(ir_cursor_module(call->at), dtype, scalar, &b));
    }
    TRY(ir_build_simple(
        call->at, target + turned, NULL, turned ? b : a, turned ? a : b, NULL, &result));
    if (negated) TRY(ir_build_simple(call->at, "Not", NULL, result, NULL, NULL, &result));
    if (numbers) TRY(ir_build_cast(call->at, result, dtype, &result));
    nnvm_give(call, result);
    return NULL;
}

Error *nnvm_build_add_n(NnvmCall *call) {
    IrVariable *sum = call->inputs[0];
    for (uint32_t i = 1; i < call->count; i++)
        TRY(ir_build_simple(call->at, "Add", NULL, sum, call->inputs[i], NULL, &sum));
    nnvm_give(call, sum);
    return NULL;
}

Error *nnvm_build_square(NnvmCall *call) {
    IrVariable *result;
    TRY(ir_build_simple(call->at, "Mul", NULL, call->inputs[0], call->inputs[0], NULL, &result));
    nnvm_give(call, result);
    return NULL;
}

Error *nnvm_build_rsqrt(NnvmCall *call) {
    IrVariable *root, *result;
    TRY(ir_build_simple(call->at, "Sqrt", NULL, call->inputs[0], NULL, NULL, &root));
    TRY(ir_build_simple(call->at, "Reciprocal", NULL, root, NULL, NULL, &result));
    nnvm_give(call, result);
    return NULL;
}

Error *nnvm_build_clip(NnvmCall *call) {
    IrVariable *min, *max, *result;
    double low, high;
    if (!nnvm_text(call, "a_min", NULL) || !nnvm_text(call, "a_max", NULL))
        FAIL(INVALID, "the attributes a_min and a_max are wanted");
    TRY(nnvm_get_float(call, "a_min", 0, &low));
    TRY(nnvm_get_float(call, "a_max", 0, &high));
    TRY(constants_number(ir_cursor_module(call->at), nnvm_dtype(call, 0), low, &min));
    TRY(constants_number(ir_cursor_module(call->at), nnvm_dtype(call, 0), high, &max));
    TRY(ir_build_simple(call->at, "Clip", NULL, call->inputs[0], min, max, &result));
    nnvm_give(call, result);
    return NULL;
}

/* A number in text, or the name of a type. */
Error *nnvm_build_cast(NnvmCall *call) {
    const char *text = nnvm_text(call, "dtype", "");
    const DType dtype = dtype_find(text);
    IrVariable *result;
    if (dtype == DTYPE_NONE) FAIL(UNSUPPORTED, "the attribute dtype is \"%.100s\"", text);
    TRY(ir_build_cast(call->at, call->inputs[0], dtype, &result));
    nnvm_give(call, result);
    return NULL;
}

/* Any number but 0 chooses the second input. */
Error *nnvm_build_where(NnvmCall *call) {
    IrVariable *chosen, *result;
    TRY(ir_build_cast(call->at, call->inputs[0], DTYPE_BOOL, &chosen));
    TRY(ir_build_simple(
        call->at, "Where", NULL, chosen, call->inputs[1], call->inputs[2], &result));
    nnvm_give(call, result);
    return NULL;
}

/* ---- activations ---- */

Error *nnvm_build_activation(NnvmCall *call) {
    static const char *const names[][2] = {{"relu", "Relu"}, {"sigmoid", "Sigmoid"},
        {"tanh", "Tanh"}, {"softrelu", "Softplus"}, {"softsign", "Softsign"}};
    const char *kind = nnvm_text(call, "act_type", "");
    IrVariable *result;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strcmp(kind, names[i][0]) != 0) continue;
        TRY(ir_build_simple(call->at, names[i][1], NULL, call->inputs[0], NULL, NULL, &result));
        nnvm_give(call, result);
        return NULL;
    }
    FAIL(UNSUPPORTED, "act_type is \"%.100s\"; relu, sigmoid, tanh, softrelu and softsign are read",
        kind);
}

static Error *with_alpha(NnvmCall *call, const char *name, double alpha) {
    OWN(Attributes, attributes) = NULL;
    IrVariable *result;
    TRY(attributes_create(&attributes));
    TRY(attributes_set_float(attributes, "alpha", alpha));
    TRY(ir_build_simple(call->at, name, attributes, call->inputs[0], NULL, NULL, &result));
    nnvm_give(call, result);
    return NULL;
}

/* The slopes lie along the channels. */
Error *nnvm_build_prelu(NnvmCall *call) {
    int64_t axis;
    IrVariable *slopes, *result;
    TRY(nnvm_get_int(call, "axis", 1, &axis));
    TRY(nnvm_make_along(call, "AlignAxes", axis, call->inputs[1], call->inputs[0], &slopes));
    TRY(ir_build_simple(call->at, "PRelu", NULL, call->inputs[0], slopes, NULL, &result));
    nnvm_give(call, result);
    return NULL;
}

Error *nnvm_build_leaky_relu(NnvmCall *call) {
    const char *kind = nnvm_text(call, "act_type", "leaky");
    double slope, low, high;
    const bool is_prelu = strcmp(kind, "prelu") == 0;
    TRY(nnvm_get_float(
        call, "slope|alpha", strcmp(call->row->target, "nnvm") ? 0.25 : 0.01, &slope));
    TRY(nnvm_get_float(call, "lower_bound", 0.125, &low));
    TRY(nnvm_get_float(call, "upper_bound", 0.334, &high));
    if (is_prelu != (call->count > 1))
        FAIL(INVALID, "act_type %.100s with %u inputs", kind, call->count);
    if (is_prelu) return nnvm_build_prelu(call);
    if (strcmp(kind, "leaky") == 0) return with_alpha(call, "LeakyRelu", slope);
    if (strcmp(kind, "elu") == 0) return with_alpha(call, "Elu", slope);
    /* without training, the mean of the random slopes */
    if (strcmp(kind, "rrelu") == 0) return with_alpha(call, "LeakyRelu", (low + high) / 2);
    if (strcmp(kind, "selu") != 0 && strcmp(kind, "gelu") != 0)
        FAIL(UNSUPPORTED,
            "act_type is \"%.100s\"; leaky, prelu, elu, selu, gelu and rrelu are read", kind);
    IrVariable *result;
    TRY(ir_build_simple(
        call->at, kind[0] == 's' ? "Selu" : "Gelu", NULL, call->inputs[0], NULL, NULL, &result));
    nnvm_give(call, result);
    return NULL;
}

Error *nnvm_build_hard_sigmoid(NnvmCall *call) {
    OWN(Attributes, attributes) = NULL;
    double alpha, beta;
    IrVariable *result;
    TRY(nnvm_get_float(call, "alpha", 0.2, &alpha));
    TRY(nnvm_get_float(call, "beta", 0.5, &beta));
    TRY(attributes_create(&attributes));
    TRY(attributes_set_float(attributes, "alpha", alpha));
    TRY(attributes_set_float(attributes, "beta", beta));
    TRY(ir_build_simple(call->at, "HardSigmoid", attributes, call->inputs[0], NULL, NULL, &result));
    nnvm_give(call, result);
    return NULL;
}
