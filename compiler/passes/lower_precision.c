/* Products with constant weights become products at the precision that was asked for; everything
 * else stays as it is, and is counted. Weights that several products share are made once. */
#include "base/allocator.h"
#include "compiler/ir/ir_build.h"
#include "compiler/ir/ir_walk.h"
#include "compiler/passes/lower_weights.h"
#include "compiler/passes/pass.h"

enum {
    SIZE_MIN = 16,       /* of either side of the weights */
    DEPTH_MAX = 1 << 16, /* 2^16 products of 255 and 127 fit 32 bits */
    OPERANDS_MAX = 5,
};

/* What became of a constant, as it lies and transposed. */
typedef struct Lowered {
    bool made; /* and weights NULL: it cannot be lowered */
    IrVariable *weights, *scales;
} Lowered;

typedef struct Lowering {
    PassContext *context;
    Lowered (*lowered)[2]; /* by variable id, of those that were there before the pass */
} Lowering;

/* A product as it stands. */
typedef struct Product {
    IrVariable *left, *weights, *bias, *residual;
    bool transposed;
    double alpha;
    const char *activation;
    double activation_alpha, activation_beta;
} Product;

static IrVariable *operand(const IrBinding *binding, uint32_t index) {
    return index < binding->operand_count ? ir_resolve(binding->operands[index]) : NULL;
}

static bool is_product(const IrBinding *binding) {
    const OperatorId id = binding->operator_info->id;
    return id == OPERATOR_MATMUL || id == OPERATOR_GEMM || id == OPERATOR_FUSED_MATMUL;
}

static bool is_conv(const IrBinding *binding) {
    const OperatorId id = binding->operator_info->id;
    return id == OPERATOR_CONV || id == OPERATOR_FUSED_CONV || id == OPERATOR_CONV_TRANSPOSE;
}

static bool is_recurrent(const IrBinding *binding) {
    const OperatorId id = binding->operator_info->id;
    return id == OPERATOR_LSTM || id == OPERATOR_GRU || id == OPERATOR_RNN;
}

static bool is_float(const IrVariable *variable) {
    return variable->type.kind == IR_TYPE_TENSOR && variable->type.dtype == DTYPE_FLOAT32;
}

/* Of the constant weights of a product: what they are when they are read. */
static bool product_read(const IrBinding *binding, Product *out) {
    const Attributes *attributes = binding->attributes;
    const OperatorId id = binding->operator_info->id;
    *out = (Product){.left = operand(binding, 0),
        .weights = operand(binding, 1),
        .bias = operand(binding, 2),
        .residual = operand(binding, 3),
        .alpha = 1,
        .activation = ""};
    if (id == OPERATOR_MATMUL) return true;
    out->alpha = attributes_float(attributes, "alpha");
    out->transposed = attributes_int(attributes, "transB") != 0;
    if (id == OPERATOR_GEMM) {
        if (out->bias && attributes_float(attributes, "beta") != 1) return false;
    } else {
        out->activation = attributes_text(attributes, "activation");
        out->activation_alpha = attributes_float(attributes, "activation_alpha");
        out->activation_beta = attributes_float(attributes, "activation_beta");
    }
    return attributes_int(attributes, "transA") == 0;
}

/* A bias as [columns]; *out NULL: it is not one. */
static Error *bias_of(IrModule *module, IrVariable *bias, int64_t columns, IrVariable **out) {
    const IrType *type = &bias->type;
    Tensor *tensor = ir_variable_tensor(bias);
    *out = NULL;
    if (type->kind == IR_TYPE_TENSOR && type->rank_known && type->rank == 1 &&
        type->dims[0] == columns)
        *out = bias;
    if (*out || !tensor || tensor->shape.rank == 0) return NULL;
    if (tensor->shape.dims[tensor->shape.rank - 1] != columns ||
        shape_count_unchecked(&tensor->shape) != columns)
        return NULL;
    const Shape shape = shape_make(1, &columns);
    OWN(Tensor, flat) = NULL;
    TRY(tensor_reshape(tensor, &shape, &flat));
    return ir_constant_tensor(module, flat, out);
}

/* Of a product that is read: whether and why not. */
static PrecisionLeft judge(const Lowering *lowering, const Product *product) {
    const Tensor *tensor = ir_variable_tensor(product->weights);
    if (!tensor) return PRECISION_LEFT_COMPUTED;
    if (tensor->shape.rank != 2) return PRECISION_LEFT_FORM;
    const int64_t *dims = tensor->shape.dims;
    if (dims[0] < SIZE_MIN || dims[1] < SIZE_MIN) return PRECISION_LEFT_SMALL;
    const IrType *left = &product->left->type;
    if (!left->rank_known || left->rank < 2) return PRECISION_LEFT_FORM;
    const bool deep = dims[product->transposed ? 1 : 0] > DEPTH_MAX;
    if (deep && lowering->context->precision == PRECISION_INT8) return PRECISION_LEFT_VALUES;
    return PRECISION_LEFT_COUNT;
}

static Error *make_weights(const Lowering *lowering, const Product *product, Lowered *out) {
    IrModule *module = lowering->context->module;
    const LowerWeights weights = {
        ir_variable_tensor(product->weights), product->transposed, product->alpha};
    OWN(Tensor, made) = NULL;
    OWN(Tensor, scales) = NULL;
    if (lowering->context->precision == PRECISION_BF16)
        TRY(lower_weights_bfloat16(&weights, &made));
    else
        TRY(lower_weights_int8(&weights, &made, &scales));
    out->made = true;
    if (made) TRY(ir_constant_tensor(module, made, &out->weights));
    if (scales) TRY(ir_constant_tensor(module, scales, &out->scales));
    return NULL;
}

static Error *find_weights(const Lowering *lowering, const Product *product, Lowered *out) {
    Lowered *shared = &lowering->lowered[product->weights->id][product->transposed];
    *out = (Lowered){0};
    if (product->alpha != 1) return make_weights(lowering, product, out);
    if (!shared->made) TRY(make_weights(lowering, product, shared));
    *out = *shared;
    return NULL;
}

static Error *replace(IrBinding *binding, const Product *product, const Lowered *lowered) {
    OWN(Attributes, attributes) = NULL;
    IrVariable *inputs[OPERANDS_MAX] = {product->left, lowered->weights};
    IrVariable **results;
    uint32_t count = 2;
    if (lowered->scales) inputs[count++] = lowered->scales;
    inputs[count++] = product->bias;
    inputs[count++] = product->residual;
    TRY(attributes_create(&attributes));
    TRY(attributes_set_text(attributes, "activation", product->activation));
    TRY(attributes_set_float(attributes, "activation_alpha", product->activation_alpha));
    TRY(attributes_set_float(attributes, "activation_beta", product->activation_beta));
    TRY(ir_build_operator(ir_before(binding),
        lowered->scales ? "FusedMatMulInt8" : "FusedMatMulBFloat16", attributes, count, inputs, 1,
        &results));
    results[0]->type = binding->results[0]->type;
    results[0]->name = binding->results[0]->name;
    results[0]->binding->name = binding->name;
    binding->results[0]->replacement = results[0];
    ir_remove(binding);
    return NULL;
}

static Error *lower_product(const Lowering *lowering, IrBinding *binding) {
    PrecisionReport *report = lowering->context->report;
    Product product;
    Lowered lowered;
    const bool readable = product_read(binding, &product);
    PrecisionLeft left = judge(lowering, &product);
    if (left == PRECISION_LEFT_COUNT && !readable) left = PRECISION_LEFT_FORM;
    if (left == PRECISION_LEFT_COUNT && product.bias) {
        const int64_t *dims = ir_variable_tensor(product.weights)->shape.dims;
        TRY(bias_of(lowering->context->module, product.bias, dims[product.transposed ? 0 : 1],
            &product.bias));
        if (!product.bias) left = PRECISION_LEFT_FORM;
    }
    if (left == PRECISION_LEFT_COUNT) {
        TRY(find_weights(lowering, &product, &lowered));
        if (!lowered.weights) left = PRECISION_LEFT_VALUES;
    }
    if (left != PRECISION_LEFT_COUNT) {
        report->left[left]++;
        return NULL;
    }
    report->lowered++;
    return replace(binding, &product, &lowered);
}

static Error *visit(const Lowering *lowering, IrBinding *binding) {
    if (binding->kind != IR_OPERATOR || binding->result_count == 0) return NULL;
    if (!is_float(binding->results[0])) return NULL;
    if (is_conv(binding)) lowering->context->report->left[PRECISION_LEFT_CONVOLUTION]++;
    if (is_recurrent(binding)) lowering->context->report->left[PRECISION_LEFT_RECURRENT]++;
    if (!is_product(binding)) return NULL;
    return error_wrap(lower_product(lowering, binding), "node %s",
        binding->name ? binding->name : "without a name");
}

Error *lower_precision_pass(PassContext *context) {
    IrModule *module = context->module;
    if (context->precision == PRECISION_FP32) return NULL;
    Lowering lowering = {.context = context};
    void *lowered;
    TRY(ir_side_table(module, sizeof *lowering.lowered, &lowered));
    lowering.lowered = lowered;
    Error *error = NULL;
    for (size_t i = 0; i < module->function_count && !error; i++) {
        IrBinding *binding = ir_walk_first(module->functions[i]->body);
        while (binding && !error) {
            IrBinding *next = ir_walk_next(binding);
            error = visit(&lowering, binding);
            binding = next;
        }
    }
    memory_free(lowered);
    TRY(error);
    ir_replace_all(module);
    return drop_dead_pass(context);
}
