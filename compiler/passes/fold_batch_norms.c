/* A batch normalisation with constant statistics behind a convolution with constant weights is a
 * scale and a shift of each output channel: into the weights and the bias, with portable
 * arithmetic. It is done in float32; what goes into a half type is rounded once, at the end. */
#include <math.h>

#include "base/allocator.h"
#include "compiler/passes/constants.h"
#include "compiler/passes/evaluate.h"
#include "compiler/passes/fusion.h"
#include "kernels/dtype_scalar.h"

/* Of a convolution and the normalisation behind it; [M] but for the weights. */
typedef enum Parameter { WEIGHTS, BIAS, SCALE, SHIFT, MEAN, VARIANCE, PARAMETER_COUNT } Parameter;

/* The constants while they are put together; owned. */
typedef struct Folded {
    Tensor *scale; /* [M] */
    Tensor *weights, *bias;
} Folded;

static void folded_release(const Folded *folded) {
    tensor_release(folded->scale);
    tensor_release(folded->weights);
    tensor_release(folded->bias);
}

/* *out is NULL when it cannot be computed here. */
static Error *evaluate(Fusion *fusion, const OperatorInfo *info, Attributes *attributes, Tensor *a,
    Tensor *b, Tensor **out) {
    Tensor *inputs[2] = {a, b};
    bool done;
    TRY(attributes_check(attributes, info));
    *out = NULL;
    if (!a) return NULL;
    return evaluate_operator(
        fusion->context->portable, info, attributes, b ? 2 : 1, inputs, 1, UINT64_MAX, out, &done);
}

static Error *compute(
    Fusion *fusion, const char *operator_name, Tensor *a, Tensor *b, Tensor **out) {
    OWN(Attributes, attributes) = NULL;
    TRY(attributes_create(&attributes));
    return evaluate(fusion, operator_find(operator_name), attributes, a, b, out);
}

static Error *cast(Fusion *fusion, Tensor *tensor, DType to, Tensor **out) {
    if (tensor->dtype == to) {
        *out = tensor_retain(tensor);
        return NULL;
    }
    OWN(Attributes, attributes) = NULL;
    TRY(attributes_create(&attributes));
    TRY(attributes_set_dtype(attributes, "to", to));
    return evaluate(fusion, operator_get(OPERATOR_CAST), attributes, tensor, NULL, out);
}

static const IrVariable *parameter_get(
    const IrBinding *norm, const IrBinding *conv, Parameter parameter) {
    return parameter < SCALE ? fusion_operand(conv, 1 + parameter - WEIGHTS)
                             : fusion_operand(norm, 1 + parameter - SCALE);
}

/* All in float32; an absent bias stays NULL. *out_done: false when one cannot be brought there. */
static Error *read_parameters(Fusion *fusion, const IrBinding *norm, const IrBinding *conv,
    Tensor *out[PARAMETER_COUNT], bool *out_done) {
    *out_done = false;
    for (Parameter i = WEIGHTS; i < PARAMETER_COUNT; i++) {
        const IrVariable *variable = parameter_get(norm, conv, i);
        if (!variable && i == BIAS) continue;
        TRY(cast(fusion, ir_variable_tensor(variable), DTYPE_FLOAT32, &out[i]));
        if (!out[i]) return NULL;
    }
    *out_done = true;
    return NULL;
}

/* scale / sqrt(variance + epsilon) */
static Error *channel_scale(
    Fusion *fusion, const IrBinding *norm, Tensor *const *parameters, Tensor **out) {
    Shape scalar = {0};
    OWN(Tensor, epsilon) = NULL;
    OWN(Tensor, sum) = NULL;
    OWN(Tensor, root) = NULL;
    TRY(tensor_create_on_host(device_host(), DTYPE_FLOAT32, &scalar, &epsilon));
    *(float *)tensor_data(epsilon) = (float)attributes_float(norm->attributes, "epsilon");
    TRY(compute(fusion, "Add", parameters[VARIANCE], epsilon, &sum));
    TRY(compute(fusion, "Sqrt", sum, NULL, &root));
    if (!root) return NULL;
    return compute(fusion, "Div", parameters[SCALE], root, out);
}

static Error *fold(
    Fusion *fusion, const IrBinding *norm, Tensor *const *parameters, Folded *folded) {
    OWN(Tensor, column) = NULL;
    OWN(Tensor, centre) = NULL;
    OWN(Tensor, scaled) = NULL;
    TRY(channel_scale(fusion, norm, parameters, &folded->scale));
    if (!folded->scale) return NULL;
    Shape shape = {.rank = parameters[WEIGHTS]->shape.rank, .dims = {folded->scale->shape.dims[0]}};
    for (uint32_t i = 1; i < shape.rank; i++) shape.dims[i] = 1;
    TRY(tensor_reshape(folded->scale, &shape, &column));
    TRY(compute(fusion, "Mul", parameters[WEIGHTS], column, &folded->weights));
    if (parameters[BIAS])
        TRY(compute(fusion, "Sub", parameters[BIAS], parameters[MEAN], &centre));
    else
        TRY(compute(fusion, "Neg", parameters[MEAN], NULL, &centre));
    TRY(compute(fusion, "Mul", centre, folded->scale, &scaled));
    return compute(fusion, "Add", scaled, parameters[SHIFT], &folded->bias);
}

/* The largest of them is rounded to the type's precision, so that all are as exact as it is. Not so
 * beyond the largest number, nor where float16 runs out of bits at its small end; the others' is
 * too small to matter. */
static bool rounds_well(const float *values, int64_t count, DType dtype) {
    float largest = 0;
    for (int64_t i = 0; i < count; i++) {
        if (!isfinite(values[i])) return false;
        largest = fmaxf(largest, fabsf(values[i]));
    }
    if (dtype != DTYPE_FLOAT16 && largest < 1) return true;
    return dtype_scalar_holds(dtype, (double)largest);
}

/* Each channel's weights by themselves, for their outputs may differ as much. */
static bool folds_well(const Folded *folded, DType dtype) {
    const Tensor *weights = folded->weights, *bias = folded->bias;
    if (!weights || !bias) return false;
    const int64_t channels = weights->shape.dims[0];
    const int64_t count = channels ? shape_count_unchecked(&weights->shape) / channels : 0;
    const float *values = tensor_data(weights);
    for (int64_t i = 0; i < channels; i++)
        if (!rounds_well(values + i * count, count, dtype)) return false;
    return rounds_well(tensor_data(bias), channels, dtype);
}

/* Constant [channels]. */
static bool is_channel_constant(const IrVariable *variable, int64_t channels) {
    const Tensor *tensor = variable ? ir_variable_tensor(variable) : NULL;
    return tensor && fusion_takes(tensor->dtype) && tensor->shape.rank == 1 &&
           tensor->shape.dims[0] == channels;
}

static bool fits(const IrBinding *norm, const IrBinding *conv) {
    const IrVariable *weights = fusion_operand(conv, 1), *bias = fusion_operand(conv, 2);
    const Tensor *tensor = weights ? ir_variable_tensor(weights) : NULL;
    if (!tensor || !fusion_takes(tensor->dtype) || tensor->shape.rank < 3) return false;
    int64_t channels = tensor->shape.dims[0];
    for (uint32_t i = 1; i < 5; i++)
        if (!is_channel_constant(fusion_operand(norm, i), channels)) return false;
    return !bias || is_channel_constant(bias, channels);
}

/* The convolution that has the normalisation in it, in its place. */
static Error *replace(
    Fusion *fusion, IrBinding *norm, const IrBinding *conv, const Folded *folded) {
    DType dtype = ir_variable_tensor(fusion_operand(conv, 1))->dtype;
    OWN(Tensor, weights) = NULL;
    OWN(Tensor, bias) = NULL;
    TRY(cast(fusion, folded->weights, dtype, &weights));
    TRY(cast(fusion, folded->bias, dtype, &bias));
    if (!weights || !bias) return NULL;
    IrVariable *inputs[3] = {fusion_operand(conv, 0)};
    TRY(constants_copy(fusion->module, weights, &inputs[1]));
    TRY(constants_copy(fusion->module, bias, &inputs[2]));
    Attributes *attributes = (Attributes *)(uintptr_t)conv->attributes;
    return fusion_replace(fusion, norm, "Conv", attributes, 3, inputs);
}

static Error *rule(Fusion *fusion, IrBinding *norm) {
    if (norm->operator_info->id != OPERATOR_BATCH_NORMALIZATION || norm->result_count != 1 ||
        attributes_int(norm->attributes, "training_mode") != 0)
        return NULL;
    IrBinding *conv = fusion_sole_maker(fusion, norm, fusion_operand(norm, 0), OPERATOR_CONV);
    if (!conv || !fits(norm, conv)) return NULL;
    Tensor *parameters[PARAMETER_COUNT] = {0};
    Folded folded = {0};
    bool known;
    Error *error = read_parameters(fusion, norm, conv, parameters, &known);
    if (!error && known) error = fold(fusion, norm, parameters, &folded);
    if (!error && folds_well(&folded, ir_variable_tensor(fusion_operand(conv, 1))->dtype))
        error = replace(fusion, norm, conv, &folded);
    folded_release(&folded);
    for (uint32_t i = 0; i < PARAMETER_COUNT; i++) tensor_release(parameters[i]);
    return error;
}

Error *fold_batch_norms_pass(PassContext *context) { return fusion_run(context, rule); }
