/* A batch normalisation with constant statistics behind a convolution with constant weights is a
 * scale and a shift of each output channel: into the weights and the bias, with portable
 * arithmetic. */
#include "base/allocator.h"
#include "compiler/passes/constants.h"
#include "compiler/passes/evaluate.h"
#include "compiler/passes/fusion.h"

/* The constants while they are put together; owned. */
typedef struct Folded {
    Tensor *scale; /* [M] */
    Tensor *weights, *bias;
} Folded;

/* *out is NULL when it cannot be computed here. */
static Error *compute(
    Fusion *fusion, const char *operator_name, Tensor *a, Tensor *b, Tensor **out) {
    const OperatorInfo *info = operator_find(operator_name);
    OWN(Attributes, attributes) = NULL;
    TRY(attributes_create(&attributes));
    TRY(attributes_check(attributes, info));
    Tensor *inputs[2] = {a, b};
    bool done;
    *out = NULL;
    if (!a) return NULL;
    return evaluate_operator(
        fusion->context->portable, info, attributes, b ? 2 : 1, inputs, 1, UINT64_MAX, out, &done);
}

/* scale / sqrt(variance + epsilon) */
static Error *channel_scale(Fusion *fusion, const IrBinding *norm, Tensor **out) {
    Shape scalar = {0};
    OWN(Tensor, epsilon) = NULL;
    OWN(Tensor, sum) = NULL;
    OWN(Tensor, root) = NULL;
    TRY(tensor_create_on_host(device_host(), DTYPE_FLOAT32, &scalar, &epsilon));
    *(float *)tensor_data(epsilon) = (float)attributes_float(norm->attributes, "epsilon");
    TRY(compute(fusion, "Add", ir_variable_tensor(fusion_operand(norm, 4)), epsilon, &sum));
    TRY(compute(fusion, "Sqrt", sum, NULL, &root));
    if (!root) return NULL;
    return compute(fusion, "Div", ir_variable_tensor(fusion_operand(norm, 1)), root, out);
}

static Error *fold(Fusion *fusion, const IrBinding *norm, const IrBinding *conv, Folded *folded) {
    Tensor *weights = ir_variable_tensor(fusion_operand(conv, 1));
    const IrVariable *bias = fusion_operand(conv, 2);
    OWN(Tensor, column) = NULL;
    OWN(Tensor, centre) = NULL;
    OWN(Tensor, scaled) = NULL;
    TRY(channel_scale(fusion, norm, &folded->scale));
    if (!folded->scale) return NULL;
    Shape shape = {.rank = weights->shape.rank, .dims = {folded->scale->shape.dims[0]}};
    for (uint32_t i = 1; i < shape.rank; i++) shape.dims[i] = 1;
    TRY(tensor_reshape(folded->scale, &shape, &column));
    TRY(compute(fusion, "Mul", weights, column, &folded->weights));
    Tensor *mean = ir_variable_tensor(fusion_operand(norm, 3));
    if (bias)
        TRY(compute(fusion, "Sub", ir_variable_tensor(bias), mean, &centre));
    else
        TRY(compute(fusion, "Neg", mean, NULL, &centre));
    TRY(compute(fusion, "Mul", centre, folded->scale, &scaled));
    return compute(
        fusion, "Add", scaled, ir_variable_tensor(fusion_operand(norm, 2)), &folded->bias);
}

/* Constant float32 [channels]. */
static bool is_channel_constant(const IrVariable *variable, int64_t channels) {
    const Tensor *tensor = variable ? ir_variable_tensor(variable) : NULL;
    return tensor && tensor->dtype == DTYPE_FLOAT32 && tensor->shape.rank == 1 &&
           tensor->shape.dims[0] == channels;
}

static bool fits(const IrBinding *norm, const IrBinding *conv) {
    const IrVariable *weights = fusion_operand(conv, 1), *bias = fusion_operand(conv, 2);
    const Tensor *tensor = weights ? ir_variable_tensor(weights) : NULL;
    if (!tensor || tensor->dtype != DTYPE_FLOAT32 || tensor->shape.rank < 3) return false;
    int64_t channels = tensor->shape.dims[0];
    for (uint32_t i = 1; i < 5; i++)
        if (!is_channel_constant(fusion_operand(norm, i), channels)) return false;
    return !bias || is_channel_constant(bias, channels);
}

static Error *rule(Fusion *fusion, IrBinding *norm) {
    if (norm->operator_info->id != OPERATOR_BATCH_NORMALIZATION || norm->result_count != 1 ||
        attributes_int(norm->attributes, "training_mode") != 0)
        return NULL;
    IrBinding *conv = fusion_sole_maker(fusion, norm, fusion_operand(norm, 0), OPERATOR_CONV);
    if (!conv || !fits(norm, conv)) return NULL;
    Folded folded = {0};
    Error *error = fold(fusion, norm, conv, &folded);
    if (!error && folded.weights && folded.bias) {
        IrVariable *inputs[3] = {fusion_operand(conv, 0)};
        error = constants_copy(fusion->module, folded.weights, &inputs[1]);
        if (!error) error = constants_copy(fusion->module, folded.bias, &inputs[2]);
        Attributes *attributes = (Attributes *)(uintptr_t)conv->attributes;
        if (!error) error = fusion_replace(fusion, norm, "Conv", attributes, 3, inputs);
    }
    tensor_release(folded.scale);
    tensor_release(folded.weights);
    tensor_release(folded.bias);
    return error;
}

Error *fold_batch_norms_pass(PassContext *context) { return fusion_run(context, rule); }
