/* Fuses operators behind a convolution or a product into it: bias, residual, activation. A
 * transposed operand is fused into a product. */
#include <string.h>

#include "compiler/ir/ir_permutation.h"
#include "compiler/ir/constants.h"
#include "compiler/passes/fusion.h"
#include "kernels/tensor/dtype_scalar.h"

enum { OPERANDS_MAX = 8 };

/* A convolution or product with the parts of its new form. */
typedef struct Epilogue {
    const IrBinding *maker;
    bool is_conv, is_integer;         /* is_integer: FusedMatMulInteger */
    IrVariable *inputs[OPERANDS_MAX]; /* operands, then bias and residual */
    uint32_t bias, residual;          /* their numbers */
    double alpha;
    int64_t transposes[2];
    const char *activation;
    double activation_alpha, activation_beta;
} Epilogue;

/* The activation that a convolution or product already has. */
static const char *activation_in(const IrBinding *maker) {
    const OperatorId id = maker->operator_info->id;
    const bool fused = id == OPERATOR_FUSED_CONV || id == OPERATOR_FUSED_MATMUL ||
                       id == OPERATOR_FUSED_MATMUL_INTEGER;
    return fused ? attributes_text(maker->attributes, "activation") : "";
}

/* False: the operator is neither a convolution nor a product, or cannot have an epilogue. */
static bool epilogue_read(const IrBinding *maker, Epilogue *out) {
    const bool is_integer = maker->operator_info->id == OPERATOR_FUSED_MATMUL_INTEGER;
    *out = (Epilogue){.maker = maker, .alpha = 1, .activation = "", .is_integer = is_integer};
    out->bias = is_integer ? 6 : 2;
    out->residual = out->bias + 1;
    for (uint32_t i = 0; i <= out->residual; i++) out->inputs[i] = fusion_operand(maker, i);
    const Attributes *attributes = maker->attributes;
    switch ((int)maker->operator_info->id) {
    case OPERATOR_FUSED_CONV:
    case OPERATOR_CONV:
        out->is_conv = true;
        return true;
    case OPERATOR_FUSED_MATMUL_INTEGER:
        return true;
    case OPERATOR_FUSED_MATMUL:
        out->alpha = attributes_float(attributes, "alpha");
        break;
    case OPERATOR_GEMM:
        out->alpha = attributes_float(attributes, "alpha");
        /* FusedMatMul does not scale the bias apart from the product */
        if (out->inputs[out->bias] && attributes_float(attributes, "beta") != 1) return false;
        break;
    case OPERATOR_MATMUL:
        return true;
    default:
        return false;
    }
    out->transposes[0] = attributes_int(attributes, "transA");
    out->transposes[1] = attributes_int(attributes, "transB");
    return true;
}

/* The convolution or product that makes a variable for this consumer alone. */
static bool maker_read(
    const Fusion *fusion, const IrBinding *consumer, const IrVariable *variable, Epilogue *out) {
    const IrBinding *maker = variable ? variable->binding : NULL;
    if (!maker || maker->kind != IR_OPERATOR || maker->block != consumer->block) return false;
    if (fusion_uses(fusion, variable) != 1) return false;
    return fusion_takes(variable->type.dtype) && epilogue_read(maker, out);
}

/* The same, if it takes more: nothing comes behind an activation. */
static bool epilogue_of(
    const Fusion *fusion, const IrBinding *consumer, const IrVariable *variable, Epilogue *out) {
    return maker_read(fusion, consumer, variable, out) && *activation_in(out->maker) == '\0';
}

static Error *epilogue_replace(Fusion *fusion, IrBinding *consumer, const Epilogue *epilogue) {
    OWN(Attributes, attributes) = NULL;
    TRY(attributes_create(&attributes));
    TRY(attributes_set_text(attributes, "activation", epilogue->activation));
    TRY(attributes_set_float(attributes, "activation_alpha", epilogue->activation_alpha));
    TRY(attributes_set_float(attributes, "activation_beta", epilogue->activation_beta));
    if (epilogue->is_conv) {
        TRY(attributes_copy_declared(
            epilogue->maker->attributes, operator_get(OPERATOR_CONV), attributes));
    } else if (!epilogue->is_integer) {
        TRY(attributes_set_float(attributes, "alpha", epilogue->alpha));
        TRY(attributes_set_int(attributes, "transA", epilogue->transposes[0]));
        TRY(attributes_set_int(attributes, "transB", epilogue->transposes[1]));
    }
    const char *name = epilogue->is_conv      ? "FusedConv"
                       : epilogue->is_integer ? "FusedMatMulInteger"
                                              : "FusedMatMul";
    return fusion_replace(
        fusion, consumer, name, attributes, epilogue->residual + 1, epilogue->inputs);
}

/* A constant as [count]. */
static Error *flatten(Fusion *fusion, Tensor *tensor, int64_t count, IrVariable **out) {
    const Shape shape = shape_make(1, &count);
    OWN(Tensor, flat) = NULL;
    TRY(tensor_reshape(tensor, &shape, &flat));
    return constants_copy(fusion->module, flat, out);
}

/* A constant [M], [M, 1, 1] or [1, M, 1, 1] that is added to a convolution's output, as [M]. */
static Error *channel_bias(
    Fusion *fusion, const IrVariable *added, const IrVariable *output, IrVariable **out) {
    Tensor *tensor = ir_variable_tensor(added);
    *out = NULL;
    if (!tensor || !output->type.rank_known || output->type.rank < 3) return NULL;
    uint32_t rank = output->type.rank, offset = rank - tensor->shape.rank;
    if (tensor->shape.rank > rank || tensor->shape.rank + 1 < rank) return NULL;
    int64_t channels = output->type.dims[1];
    for (uint32_t i = 0; i < tensor->shape.rank; i++)
        if (tensor->shape.dims[i] != (i + offset == 1 ? channels : 1)) return NULL;
    if (channels < 0) return NULL;
    return flatten(fusion, tensor, channels, out);
}

/* What is added to each row of a product of bytes, as [N]; *out NULL: another form. */
static Error *row_bias(
    Fusion *fusion, IrVariable *added, const IrVariable *output, IrVariable **out) {
    const IrType *type = &added->type;
    Tensor *tensor = ir_variable_tensor(added);
    *out = NULL;
    if (!output->type.rank_known || !fusion_broadcasts(type, &output->type)) return NULL;
    const int64_t columns = output->type.dims[output->type.rank - 1];
    if (type->rank == 0 || columns < 0 || type->dims[type->rank - 1] != columns) return NULL;
    if (type->rank == 1) *out = added;
    if (*out || !tensor || shape_count_unchecked(&tensor->shape) != columns) return NULL;
    return flatten(fusion, tensor, columns, out);
}

/* Reads a maker that ends with hard swish, scaled or not, into the scaled one. */
static bool scaled_of(
    const Fusion *fusion, const IrBinding *consumer, const IrVariable *variable, Epilogue *out) {
    if (!maker_read(fusion, consumer, variable, out)) return false;
    const Attributes *attributes = out->maker->attributes;
    const char *activation = activation_in(out->maker);
    const bool scaled = strcmp(activation, "scaled_hard_swish") == 0;
    if (!scaled && strcmp(activation, "hard_swish") != 0) return false;
    out->activation = "scaled_hard_swish";
    out->activation_alpha = scaled ? attributes_float(attributes, "activation_alpha") : 1;
    out->activation_beta = scaled ? attributes_float(attributes, "activation_beta") : 0;
    return true;
}

/* A number that multiplies a hard swish, or is added to it. */
static Error *at_scale(Fusion *fusion, IrBinding *binding, bool *out_done) {
    const IrType *type = &binding->results[0]->type;
    Epilogue epilogue;
    double scalar;
    *out_done = false;
    for (uint32_t i = 0; i < 2; i++) {
        const IrVariable *swish = fusion_operand(binding, i);
        if (!fusion_scalar(fusion_operand(binding, 1 - i), &scalar)) continue;
        if (!scaled_of(fusion, binding, swish, &epilogue)) continue;
        if (!fusion_same_shape(&swish->type, type)) continue;
        const bool is_mul = binding->operator_info->id == OPERATOR_MUL;
        epilogue.activation_alpha *= is_mul ? scalar : 1;
        epilogue.activation_beta =
            is_mul ? epilogue.activation_beta * scalar : epilogue.activation_beta + scalar;
        if (!dtype_scalar_holds(type->dtype, epilogue.activation_alpha) ||
            !dtype_scalar_holds(type->dtype, epilogue.activation_beta))
            continue;
        *out_done = true;
        return epilogue_replace(fusion, binding, &epilogue);
    }
    return NULL;
}

/* A sum: bias or residual. */
static Error *at_add(Fusion *fusion, IrBinding *add) {
    Epilogue epilogue;
    const IrVariable *sum = add->results[0];
    for (uint32_t i = 0; i < 2; i++) {
        IrVariable *product = fusion_operand(add, i), *added = fusion_operand(add, 1 - i);
        if (product == added || !epilogue_of(fusion, add, product, &epilogue)) continue;
        if (!fusion_same_shape(&product->type, &sum->type)) continue;
        if (added->type.dtype != sum->type.dtype) continue;
        IrVariable *bias = NULL, **inputs = epilogue.inputs;
        const bool open = !inputs[epilogue.bias] && !inputs[epilogue.residual];
        if (open && epilogue.is_conv) TRY(channel_bias(fusion, added, product, &bias));
        if (open && epilogue.is_integer) TRY(row_bias(fusion, added, product, &bias));
        bool same = fusion_same_shape(&added->type, &sum->type);
        bool spread = !epilogue.is_conv && !epilogue.is_integer &&
                      fusion_broadcasts(&added->type, &product->type);
        if (bias)
            inputs[epilogue.bias] = bias;
        else if (!inputs[epilogue.bias] && spread && !same)
            inputs[epilogue.bias] = added;
        else if (!inputs[epilogue.residual] && same)
            inputs[epilogue.residual] = added;
        else
            continue;
        return epilogue_replace(fusion, add, &epilogue);
    }
    return NULL;
}

/* A product of matrices times a number. */
static Error *at_mul(Fusion *fusion, IrBinding *mul) {
    Epilogue epilogue;
    double scalar;
    for (uint32_t i = 0; i < 2; i++) {
        const IrVariable *product = fusion_operand(mul, i);
        if (!fusion_scalar(fusion_operand(mul, 1 - i), &scalar)) continue;
        if (!epilogue_of(fusion, mul, product, &epilogue) || epilogue.is_conv) continue;
        if (epilogue.is_integer || epilogue.inputs[2] || epilogue.inputs[3]) continue;
        if (!fusion_same_shape(&product->type, &mul->results[0]->type)) continue;
        epilogue.alpha *= scalar;
        if (!dtype_scalar_holds(product->type.dtype, epilogue.alpha)) continue;
        return epilogue_replace(fusion, mul, &epilogue);
    }
    return NULL;
}

/* The name of the activation that an operator computes, or NULL. */
static const char *activation_of(const IrBinding *binding, double *out_alpha, double *out_beta) {
    *out_alpha = *out_beta = 0;
    switch ((int)binding->operator_info->id) {
    case OPERATOR_RELU:
        return "relu";
    case OPERATOR_TANH:
        return "tanh";
    case OPERATOR_SIGMOID:
        return "sigmoid";
    case OPERATOR_HARD_SWISH:
        return "hard_swish";
    case OPERATOR_LEAKY_RELU:
        *out_alpha = attributes_float(binding->attributes, "alpha");
        return "leaky_relu";
    case OPERATOR_SWISH:
        *out_alpha = attributes_float(binding->attributes, "alpha");
        return "swish";
    case OPERATOR_MISH:
        return "mish";
    case OPERATOR_GELU: {
        const char *form = attributes_text(binding->attributes, "approximate");
        return form[0] == 't' ? "gelu_tanh" : "gelu_erf";
    }
    case OPERATOR_CLIP:
        if (!fusion_scalar(fusion_operand(binding, 1), out_alpha)) return NULL;
        if (!fusion_scalar(fusion_operand(binding, 2), out_beta)) return NULL;
        return *out_alpha <= *out_beta ? "clip" : NULL;
    default:
        return NULL;
    }
}

/* Fuses an operand that is transposed in its last two dimensions into the product. */
static Error *at_matmul(Fusion *fusion, IrBinding *product) {
    Epilogue epilogue;
    if (!fusion_takes(product->results[0]->type.dtype)) return NULL;
    if (!epilogue_read(product, &epilogue)) return NULL; /* has no activation */
    bool changed = false;
    for (uint32_t i = 0; i < 2; i++) {
        const IrBinding *transpose = fusion_maker(product, epilogue.inputs[i], OPERATOR_TRANSPOSE);
        if (!transpose || !ir_swaps_last(transpose)) continue;
        epilogue.inputs[i] = fusion_operand(transpose, 0);
        epilogue.transposes[i] = !epilogue.transposes[i];
        changed = true;
    }
    return changed ? epilogue_replace(fusion, product, &epilogue) : NULL;
}

static Error *rule(Fusion *fusion, IrBinding *binding) {
    OperatorId id = binding->operator_info->id;
    if (binding->result_count != 1) return NULL;
    if (id == OPERATOR_MATMUL) return at_matmul(fusion, binding);
    if (id == OPERATOR_ADD || id == OPERATOR_MUL) {
        bool done;
        TRY(at_scale(fusion, binding, &done));
        if (done) return NULL;
        return id == OPERATOR_ADD ? at_add(fusion, binding) : at_mul(fusion, binding);
    }
    Epilogue epilogue;
    double alpha, beta;
    const char *activation = activation_of(binding, &alpha, &beta);
    if (!activation || !epilogue_of(fusion, binding, fusion_operand(binding, 0), &epilogue))
        return NULL;
    epilogue.activation = activation;
    epilogue.activation_alpha = alpha;
    epilogue.activation_beta = beta;
    return epilogue_replace(fusion, binding, &epilogue);
}

Error *fuse_epilogues_pass(PassContext *context) { return fusion_run(context, rule); }
