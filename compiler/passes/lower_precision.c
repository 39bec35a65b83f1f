/* Products, convolutions and, at bfloat16, recurrent networks with constant weights are replaced by
 * their forms at the requested precision; all others stay and are counted. Shared weights are
 * converted once. */
#include "base/allocator.h"
#include "compiler/ir/ir_build.h"
#include "compiler/ir/ir_walk.h"
#include "compiler/passes/fusion.h"
#include "compiler/passes/lower_weights.h"
#include "compiler/passes/pass.h"
#include "kernels/operator/operator_lower.h"
#include "kernels/shape_rules/shape_rules.h"

enum {
    SIZE_MIN = 16,         /* least rows and columns of weights, channels and filters */
    CHANNELS_MULTIPLE = 4, /* which kernels take four of at a time */
    OPERANDS_MAX = 5,
    RECURRENT_WEIGHTS = 2,
    RECURRENT_OPERANDS_MAX = 8,
};

/* A constant's weights at the lower precision, for its plain and its transposed form. */
typedef struct Lowered {
    bool made; /* made and weights NULL: the constant cannot be lowered */
    IrVariable *weights, *scales;
} Lowered;

typedef struct Lowering {
    PassContext *context;
    Lowered (*lowered)[2]; /* by variable id, for variables that exist before the pass */
} Lowering;

/* The operands of a product or a convolution. */
typedef struct Product {
    IrVariable *left, *weights, *bias, *residual;
    bool transposed, is_conv;
    double alpha;
    const char *activation;
    double activation_alpha, activation_beta;
} Product;

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

static Product operands_of(const IrBinding *binding) {
    return (Product){.left = fusion_operand(binding, 0),
        .weights = fusion_operand(binding, 1),
        .bias = fusion_operand(binding, 2),
        .residual = fusion_operand(binding, 3),
        .alpha = 1,
        .activation = ""};
}

static void read_activation(const Attributes *attributes, Product *product) {
    product->activation = attributes_text(attributes, "activation");
    product->activation_alpha = attributes_float(attributes, "activation_alpha");
    product->activation_beta = attributes_float(attributes, "activation_beta");
}

/* Reads a product of constant weights. False: a form that cannot be lowered. */
static bool product_read(const IrBinding *binding, Product *out) {
    const Attributes *attributes = binding->attributes;
    const OperatorId id = binding->operator_info->id;
    *out = operands_of(binding);
    if (id == OPERATOR_MATMUL) return true;
    out->alpha = attributes_float(attributes, "alpha");
    out->transposed = attributes_int(attributes, "transB") != 0;
    if (id == OPERATOR_GEMM) {
        if (out->bias && attributes_float(attributes, "beta") != 1) return false;
    } else {
        read_activation(attributes, out);
    }
    return attributes_int(attributes, "transA") == 0;
}

/* A bias as [columns]; *out NULL if the operand does not have that shape. */
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

/* The reason why a product keeps its precision, or PRECISION_LEFT_COUNT. */
static PrecisionLeft judge(const Lowering *lowering, const Product *product) {
    const Tensor *tensor = ir_variable_tensor(product->weights);
    if (!tensor) return PRECISION_LEFT_COMPUTED;
    if (tensor->shape.rank != 2) return PRECISION_LEFT_FORM;
    const int64_t *dims = tensor->shape.dims;
    if (dims[0] < SIZE_MIN || dims[1] < SIZE_MIN) return PRECISION_LEFT_SMALL;
    const IrType *left = &product->left->type;
    if (!left->rank_known || left->rank < 2) return PRECISION_LEFT_FORM;
    const bool deep = dims[product->transposed ? 1 : 0] > SHAPE_RULE_INT8_DEPTH_MAX;
    if (deep && lowering->context->precision == PRECISION_INT8) return PRECISION_LEFT_VALUES;
    return PRECISION_LEFT_COUNT;
}

static Error *make_weights(const Lowering *lowering, const Product *product, Lowered *out) {
    IrModule *module = lowering->context->module;
    const LowerWeights weights = {
        .tensor = ir_variable_tensor(product->weights),
        .transposed = product->transposed,
        .is_filters = product->is_conv,
        .alpha = product->alpha,
    };
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

static const char *name_of(OperatorId plain, DType weights) {
    return operator_get(operator_lower_find(plain, weights))->name;
}

/* Replaces the results of one binding by another one's. */
static void take_place(IrBinding *binding, IrVariable *const *results) {
    for (uint32_t i = 0; i < binding->result_count; i++) {
        results[i]->type = binding->results[i]->type;
        results[i]->name = binding->results[i]->name;
        binding->results[i]->replacement = results[i];
    }
    results[0]->binding->name = binding->name;
    ir_remove(binding);
}

static Error *replace(IrBinding *binding, const Product *product, const Lowered *lowered) {
    const char *name = name_of(product->is_conv ? OPERATOR_FUSED_CONV : OPERATOR_FUSED_MATMUL,
        lowered->scales ? DTYPE_INT8 : DTYPE_BFLOAT16);
    OWN(Attributes, attributes) = NULL;
    IrVariable *inputs[OPERANDS_MAX] = {product->left, lowered->weights};
    IrVariable **results;
    uint32_t count = 2;
    if (lowered->scales) inputs[count++] = lowered->scales;
    inputs[count++] = product->bias;
    inputs[count++] = product->residual;
    TRY(attributes_create(&attributes));
    if (product->is_conv)
        TRY(attributes_copy_declared(binding->attributes, operator_find(name), attributes));
    TRY(attributes_set_text(attributes, "activation", product->activation));
    TRY(attributes_set_float(attributes, "activation_alpha", product->activation_alpha));
    TRY(attributes_set_float(attributes, "activation_beta", product->activation_beta));
    TRY(ir_build_operator(ir_before(binding), name, attributes, count, inputs, 1, &results));
    take_place(binding, results);
    return NULL;
}

/* left: the reason why the product keeps its precision, or PRECISION_LEFT_COUNT. */
static Error *finish(
    const Lowering *lowering, IrBinding *binding, const Product *product, PrecisionLeft left) {
    PrecisionReport *report = lowering->context->report;
    Lowered lowered;
    if (left == PRECISION_LEFT_COUNT) {
        TRY(find_weights(lowering, product, &lowered));
        if (!lowered.weights) left = PRECISION_LEFT_VALUES;
    }
    if (left != PRECISION_LEFT_COUNT) {
        report->left[left]++;
        return NULL;
    }
    report->lowered++;
    return replace(binding, product, &lowered);
}

static Error *lower_product(const Lowering *lowering, IrBinding *binding) {
    Product product;
    const bool readable = product_read(binding, &product);
    PrecisionLeft left = judge(lowering, &product);
    if (left == PRECISION_LEFT_COUNT && !readable) left = PRECISION_LEFT_FORM;
    if (left == PRECISION_LEFT_COUNT && product.bias) {
        const int64_t *dims = ir_variable_tensor(product.weights)->shape.dims;
        TRY(bias_of(lowering->context->module, product.bias, dims[product.transposed ? 0 : 1],
            &product.bias));
        if (!product.bias) left = PRECISION_LEFT_FORM;
    }
    return finish(lowering, binding, &product, left);
}

/* Between images [N, H, W, C], which the pass channels_last made. */
static bool conv_read(const IrBinding *binding, Product *out) {
    const Attributes *attributes = binding->attributes;
    *out = operands_of(binding);
    out->is_conv = true;
    if (binding->operator_info->id != OPERATOR_FUSED_CONV) return false;
    read_activation(attributes, out);
    return attributes_int(attributes, "channels_last") != 0 &&
           attributes_int(attributes, "group") == 1;
}

static PrecisionLeft judge_conv(const Lowering *lowering, const Product *conv, bool readable) {
    const Tensor *tensor = ir_variable_tensor(conv->weights);
    if (!tensor) return PRECISION_LEFT_COMPUTED;
    const Shape *shape = &tensor->shape;
    if (!readable || shape->rank != 4) return PRECISION_LEFT_CONVOLUTION;
    if (shape->dims[0] < SIZE_MIN || shape->dims[1] < SIZE_MIN) return PRECISION_LEFT_SMALL;
    if (shape->dims[1] % CHANNELS_MULTIPLE != 0) return PRECISION_LEFT_CONVOLUTION;
    const bool deep = shape_product(shape, 1, shape->rank) > SHAPE_RULE_INT8_DEPTH_MAX;
    if (deep && lowering->context->precision == PRECISION_INT8) return PRECISION_LEFT_VALUES;
    return PRECISION_LEFT_COUNT;
}

static Error *lower_conv(const Lowering *lowering, IrBinding *binding) {
    Product conv;
    const bool readable = conv_read(binding, &conv);
    return finish(lowering, binding, &conv, judge_conv(lowering, &conv, readable));
}

/* ---- recurrent networks: W and R ---- */

static PrecisionLeft judge_recurrent(const Lowering *lowering, const IrBinding *binding) {
    if (lowering->context->precision != PRECISION_BF16) return PRECISION_LEFT_RECURRENT;
    for (uint32_t i = 1; i <= RECURRENT_WEIGHTS; i++) {
        const Tensor *tensor = ir_variable_tensor(fusion_operand(binding, i));
        if (!tensor) return PRECISION_LEFT_COMPUTED;
        if (tensor->shape.rank != 3) return PRECISION_LEFT_FORM;
        if (tensor->shape.dims[1] < SIZE_MIN || tensor->shape.dims[2] < SIZE_MIN)
            return PRECISION_LEFT_SMALL;
    }
    return PRECISION_LEFT_COUNT;
}

static Error *replace_recurrent(IrBinding *binding, const Lowered lowered[RECURRENT_WEIGHTS]) {
    const char *name = name_of(binding->operator_info->id, DTYPE_BFLOAT16);
    OWN(Attributes, attributes) = NULL;
    IrVariable *inputs[RECURRENT_OPERANDS_MAX], **results;
    for (uint32_t i = 0; i < binding->operand_count; i++) inputs[i] = fusion_operand(binding, i);
    for (uint32_t i = 0; i < RECURRENT_WEIGHTS; i++) inputs[i + 1] = lowered[i].weights;
    TRY(attributes_create(&attributes));
    TRY(attributes_copy_declared(binding->attributes, operator_find(name), attributes));
    TRY(ir_build_operator(ir_before(binding), name, attributes, binding->operand_count, inputs,
        binding->result_count, &results));
    take_place(binding, results);
    return NULL;
}

static Error *lower_recurrent(const Lowering *lowering, IrBinding *binding) {
    PrecisionReport *report = lowering->context->report;
    PrecisionLeft left = judge_recurrent(lowering, binding);
    Lowered lowered[RECURRENT_WEIGHTS];
    for (uint32_t i = 0; i < RECURRENT_WEIGHTS && left == PRECISION_LEFT_COUNT; i++) {
        /* filters keep their own order */
        const Product weights = {
            .weights = fusion_operand(binding, i + 1), .is_conv = true, .alpha = 1};
        TRY(find_weights(lowering, &weights, &lowered[i]));
        if (!lowered[i].weights) left = PRECISION_LEFT_VALUES;
    }
    if (left != PRECISION_LEFT_COUNT) {
        report->left[left]++;
        return NULL;
    }
    report->lowered++;
    return replace_recurrent(binding, lowered);
}

static Error *lower(const Lowering *lowering, IrBinding *binding) {
    if (is_recurrent(binding)) return lower_recurrent(lowering, binding);
    if (is_conv(binding)) return lower_conv(lowering, binding);
    return is_product(binding) ? lower_product(lowering, binding) : NULL;
}

static Error *visit(const Lowering *lowering, IrBinding *binding) {
    if (binding->kind != IR_OPERATOR || binding->result_count == 0) return NULL;
    if (!is_float(binding->results[0])) return NULL;
    return error_wrap(
        lower(lowering, binding), "node %s", binding->name ? binding->name : "without a name");
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
