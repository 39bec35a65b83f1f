/* A batch normalisation with constant statistics is a scale and a shift of each channel, like a
 * product with or a sum of a constant of each channel, or of one for all. Several in a row become
 * one. Behind a convolution with constant weights they are folded into the weights and the bias,
 * with portable arithmetic in float32; weights of a half type are rounded once, at the end. So is a
 * number by which the image before a convolution is multiplied. */
#include <math.h>

#include "base/allocator.h"
#include "compiler/ir/constants.h"
#include "compiler/passes/evaluate.h"
#include "compiler/passes/fusion.h"
#include "kernels/tensor/dtype_scalar.h"

/* y = scale * x + shift for each channel; [C] of float32, owned. NULL means 1, or 0. */
typedef struct Affine {
    Tensor *scale, *shift;
} Affine;

static void affine_release(const Affine *affine) {
    tensor_release(affine->scale);
    tensor_release(affine->shift);
}

/* The new constants of the convolution; owned. */
typedef struct Folded {
    Tensor *weights, *bias;
} Folded;

/* *out is NULL when the value cannot be computed here. */
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

/* Reads a constant [C], [C, 1, 1] or [1, C, 1, 1] as [C] of float32; *out is NULL for other
 * constants. channels: the number of them, or below 0 for any. */
static Error *read_channels(Fusion *fusion, const IrVariable *variable, uint32_t rank,
    int64_t channels, bool flat, Tensor **out) {
    Tensor *tensor = variable ? ir_variable_tensor(variable) : NULL;
    *out = NULL;
    if (!tensor || !fusion_takes(tensor->dtype)) return NULL;
    const Shape *shape = &tensor->shape;
    if (flat ? shape->rank != 1 : shape->rank + 1 < rank || shape->rank > rank) return NULL;
    const int64_t count = shape_count_unchecked(shape);
    for (uint32_t i = 0; !flat && i < shape->rank; i++)
        if (shape->dims[i] != (i + rank - shape->rank == 1 ? count : 1)) return NULL;
    if (count == 0 || (channels >= 0 && count != channels)) return NULL;
    OWN(Tensor, vector) = NULL;
    const Shape vector_shape = shape_make(1, &count);
    TRY(tensor_reshape(tensor, &vector_shape, &vector));
    return cast(fusion, vector, DTYPE_FLOAT32, out);
}

/* A constant of one element, repeated for each channel. *out is unchanged for other constants. */
static Error *repeat_scalar(
    const IrVariable *variable, uint32_t rank, int64_t channels, Tensor **out) {
    const Tensor *tensor = variable ? ir_variable_tensor(variable) : NULL;
    double value;
    if (!tensor || tensor->shape.rank > rank || channels < 1) return NULL;
    if (!fusion_takes(tensor->dtype) || !fusion_scalar(variable, &value)) return NULL;
    const Shape shape = shape_make(1, &channels);
    OWN(Tensor, repeated) = NULL;
    TRY(tensor_create_on_host(device_host(), DTYPE_FLOAT32, &shape, &repeated));
    float *to = tensor_data(repeated);
    for (int64_t i = 0; i < channels; i++) to[i] = (float)value;
    *out = TAKE(repeated);
    return NULL;
}

/* scale / sqrt(variance + epsilon), shift - mean * that */
static Error *normalize(
    Fusion *fusion, const IrBinding *norm, Tensor *const *parameters, Affine *out) {
    Shape scalar = {0};
    OWN(Tensor, epsilon) = NULL;
    OWN(Tensor, sum) = NULL;
    OWN(Tensor, root) = NULL;
    OWN(Tensor, moved) = NULL;
    TRY(tensor_create_on_host(device_host(), DTYPE_FLOAT32, &scalar, &epsilon));
    *(float *)tensor_data(epsilon) = (float)attributes_float(norm->attributes, "epsilon");
    TRY(compute(fusion, "Add", parameters[3], epsilon, &sum));
    TRY(compute(fusion, "Sqrt", sum, NULL, &root));
    if (!root) return NULL;
    TRY(compute(fusion, "Div", parameters[0], root, &out->scale));
    if (!out->scale) return NULL;
    TRY(compute(fusion, "Mul", parameters[2], out->scale, &moved));
    if (!moved) return NULL;
    return compute(fusion, "Sub", parameters[1], moved, &out->shift);
}

static Error *read_norm(Fusion *fusion, const IrBinding *norm, Affine *out) {
    enum { PARAMETERS = 4 }; /* scale, shift, mean, variance */
    Tensor *parameters[PARAMETERS] = {NULL};
    const IrType *type = &fusion_operand(norm, 0)->type;
    const int64_t channels = type->rank_known && type->rank > 1 ? type->dims[1] : -1;
    if (attributes_int(norm->attributes, "training_mode") != 0) return NULL;
    Error *error = NULL;
    bool known = true;
    for (uint32_t i = 0; i < PARAMETERS && !error; i++) {
        error = read_channels(fusion, fusion_operand(norm, 1 + i), 1,
            i ? shape_count_unchecked(&parameters[0]->shape) : channels, true, &parameters[i]);
        known = known && parameters[i];
        if (!known) break;
    }
    if (!error && known) error = normalize(fusion, norm, parameters, out);
    for (uint32_t i = 0; i < PARAMETERS; i++) tensor_release(parameters[i]);
    return error;
}

/* Reads the binding as a scale or a shift of its operand *out_image. *out is unchanged if the
 * binding is neither. */
static Error *read_affine(
    Fusion *fusion, const IrBinding *binding, IrVariable **out_image, Affine *out) {
    const OperatorId id = binding->operator_info->id;
    if (id == OPERATOR_BATCH_NORMALIZATION) {
        *out_image = fusion_operand(binding, 0);
        return read_norm(fusion, binding, out);
    }
    const IrType *type = &binding->results[0]->type;
    if ((id != OPERATOR_MUL && id != OPERATOR_ADD) || !type->rank_known || type->rank < 3)
        return NULL;
    for (uint32_t i = 0; i < 2; i++) {
        IrVariable *image = fusion_operand(binding, i);
        if (image->constant || !fusion_same_shape(&image->type, type)) continue;
        *out_image = image;
        const IrVariable *constant = fusion_operand(binding, 1 - i);
        Tensor **to = id == OPERATOR_MUL ? &out->scale : &out->shift;
        TRY(read_channels(fusion, constant, type->rank, type->dims[1], false, to));
        return *to ? NULL : repeat_scalar(constant, type->rank, type->dims[1], to);
    }
    return NULL;
}

static Error *fold_bias(Fusion *fusion, const Affine *affine, Tensor *bias, Tensor **out) {
    OWN(Tensor, scaled) = NULL;
    if (bias && affine->scale)
        TRY(compute(fusion, "Mul", bias, affine->scale, &scaled));
    else if (bias)
        scaled = tensor_retain(bias);
    if (bias && !scaled) return NULL;
    if (scaled && affine->shift) return compute(fusion, "Add", scaled, affine->shift, out);
    Tensor *sole = scaled ? scaled : affine->shift;
    *out = sole ? tensor_retain(sole) : NULL;
    return NULL;
}

static Error *fold_weights(Fusion *fusion, const Affine *affine, Tensor *weights, Tensor **out) {
    OWN(Tensor, column) = NULL;
    if (!affine->scale) {
        *out = tensor_retain(weights);
        return NULL;
    }
    Shape shape = {.rank = weights->shape.rank, .dims = {weights->shape.dims[0]}};
    for (uint32_t i = 1; i < shape.rank; i++) shape.dims[i] = 1;
    TRY(tensor_reshape(affine->scale, &shape, &column));
    return compute(fusion, "Mul", weights, column, out);
}

static Error *fold(Fusion *fusion, const IrBinding *conv, const Affine *affine, Folded *out) {
    OWN(Tensor, weights) = NULL;
    OWN(Tensor, bias) = NULL;
    Tensor *given = ir_variable_tensor(fusion_operand(conv, 1));
    TRY(cast(fusion, given, DTYPE_FLOAT32, &weights));
    if (!weights) return NULL;
    if (fusion_operand(conv, 2)) {
        TRY(read_channels(fusion, fusion_operand(conv, 2), 1, given->shape.dims[0], true, &bias));
        if (!bias) return NULL;
    }
    TRY(fold_weights(fusion, affine, weights, &out->weights));
    return fold_bias(fusion, affine, bias, &out->bias);
}

/* True when the largest value keeps the type's full precision; the others are then exact enough.
 * False beyond the largest number, and for float16 also below the smallest normal number. */
static bool rounds_well(const float *values, int64_t count, DType dtype) {
    float largest = 0;
    for (int64_t i = 0; i < count; i++) {
        if (!isfinite(values[i])) return false;
        largest = fmaxf(largest, fabsf(values[i]));
    }
    if (dtype != DTYPE_FLOAT16 && largest < 1) return true;
    return dtype_scalar_holds(dtype, (double)largest);
}

/* Checks the weights of each channel apart, since the sizes of the outputs may differ. */
static bool folds_well(const Folded *folded, DType dtype) {
    const Tensor *weights = folded->weights, *bias = folded->bias;
    if (!weights) return false;
    const int64_t channels = weights->shape.dims[0];
    const int64_t count = channels ? shape_count_unchecked(&weights->shape) / channels : 0;
    const float *values = tensor_data(weights);
    for (int64_t i = 0; i < channels; i++)
        if (!rounds_well(values + i * count, count, dtype)) return false;
    return !bias || rounds_well(tensor_data(bias), channels, dtype);
}

/* Replaces the operators by a convolution that contains scale and shift. */
static Error *replace(
    Fusion *fusion, IrBinding *binding, const IrBinding *conv, const Folded *folded) {
    DType dtype = ir_variable_tensor(fusion_operand(conv, 1))->dtype;
    OWN(Tensor, weights) = NULL;
    OWN(Tensor, bias) = NULL;
    TRY(cast(fusion, folded->weights, dtype, &weights));
    if (folded->bias) TRY(cast(fusion, folded->bias, dtype, &bias));
    if (!weights || (folded->bias && !bias)) return NULL;
    IrVariable *inputs[3] = {fusion_operand(conv, 0)};
    TRY(constants_copy(fusion->module, weights, &inputs[1]));
    if (bias) TRY(constants_copy(fusion->module, bias, &inputs[2]));
    Attributes *attributes = (Attributes *)(uintptr_t)conv->attributes;
    return fusion_replace(fusion, binding, "Conv", attributes, bias ? 3 : 2, inputs);
}

static Error *into_conv(
    Fusion *fusion, IrBinding *binding, const IrBinding *conv, const Affine *affine) {
    const IrVariable *weights = fusion_operand(conv, 1);
    const Tensor *tensor = weights ? ir_variable_tensor(weights) : NULL;
    const Tensor *vector = affine->scale ? affine->scale : affine->shift;
    if (!tensor || !fusion_takes(tensor->dtype) || tensor->shape.rank < 3 ||
        tensor->shape.dims[0] != vector->shape.dims[0])
        return NULL;
    Folded folded = {0};
    Error *error = fold(fusion, conv, affine, &folded);
    if (!error && folds_well(&folded, tensor->dtype))
        error = replace(fusion, binding, conv, &folded);
    tensor_release(folded.weights);
    tensor_release(folded.bias);
    return error;
}

/* [C] as [C, 1, …]: broadcast to images of that rank. */
static Error *channel_constant(
    Fusion *fusion, Tensor *vector, DType dtype, uint32_t rank, IrVariable **out) {
    Shape shape = {.rank = rank - 1, .dims = {vector->shape.dims[0]}};
    for (uint32_t i = 1; i < shape.rank; i++) shape.dims[i] = 1;
    OWN(Tensor, column) = NULL;
    OWN(Tensor, rounded) = NULL;
    *out = NULL;
    TRY(tensor_reshape(vector, &shape, &column));
    TRY(cast(fusion, column, dtype, &rounded));
    return rounded ? constants_copy(fusion->module, rounded, out) : NULL;
}

/* Without a convolution, a scale and a shift of float32 become a product and a sum, which the
 * fusion of elementwise operators takes. Half types would round twice. */
static Error *into_pointwise(
    Fusion *fusion, IrBinding *binding, IrVariable *image, const Affine *affine) {
    const IrType *type = &binding->results[0]->type;
    IrVariable *product[2] = {image}, *sum[2] = {image};
    if (type->dtype != DTYPE_FLOAT32 || !type->rank_known || type->rank < 2) return NULL;
    if (affine->scale) {
        TRY(channel_constant(fusion, affine->scale, type->dtype, type->rank, &product[1]));
        if (!product[1]) return NULL;
    }
    if (!affine->shift) return fusion_replace(fusion, binding, "Mul", NULL, 2, product);
    TRY(channel_constant(fusion, affine->shift, type->dtype, type->rank, &sum[1]));
    if (!sum[1]) return NULL;
    if (affine->scale) TRY(fusion_insert(fusion, binding, "Mul", NULL, 2, product, type, &sum[0]));
    return fusion_replace(fusion, binding, "Add", NULL, 2, sum);
}

static bool is_finite(const Tensor *vector) {
    const float *values = vector ? tensor_data(vector) : NULL;
    const int64_t count = vector ? shape_count_unchecked(&vector->shape) : 0;
    for (int64_t i = 0; i < count; i++)
        if (!isfinite(values[i])) return false;
    return true;
}

static int64_t channels_of(const Affine *affine) {
    return shape_count_unchecked(affine->scale ? &affine->scale->shape : &affine->shift->shape);
}

/* *out: `before` followed by `affine`; unchanged if the combination cannot be computed or is not
 * finite. */
static Error *compose(
    Fusion *fusion, const Affine *before, const Affine *affine, Affine *out, bool *out_done) {
    Affine both = {0};
    Error *error = NULL;
    *out_done = false;
    if (channels_of(before) != channels_of(affine)) return NULL;
    if (before->scale && affine->scale)
        error = compute(fusion, "Mul", before->scale, affine->scale, &both.scale);
    else if (before->scale || affine->scale)
        both.scale = tensor_retain(before->scale ? before->scale : affine->scale);
    if (!error) error = fold_bias(fusion, affine, before->shift, &both.shift);
    const bool whole = !!both.scale == (before->scale || affine->scale) &&
                       !!both.shift == (before->shift || affine->shift);
    if (error || !whole || !is_finite(both.scale) || !is_finite(both.shift)) {
        affine_release(&both);
        return error;
    }
    *out = both;
    *out_done = true;
    return NULL;
}

/* A chain of scales and shifts. Only the next operator of the chain uses each intermediate
 * value. */
typedef struct Row {
    Affine affine;
    const IrBinding *first;
    IrVariable *image; /* the operand of the first operator */
    /* count of the operators that the chain replaces; a normalisation counts as three */
    int count;
} Row;

static int count_of(const IrBinding *binding) {
    enum { NORMALIZATION = 3 }; /* more than the two operators that it becomes */
    return binding->operator_info->id == OPERATOR_BATCH_NORMALIZATION ? NORMALIZATION : 1;
}

static const IrBinding *maker_of_affine(const Fusion *fusion, const Row *row) {
    static const OperatorId ids[] = {OPERATOR_MUL, OPERATOR_ADD, OPERATOR_BATCH_NORMALIZATION};
    const IrBinding *maker = NULL;
    for (size_t i = 0; i < sizeof ids / sizeof *ids && !maker; i++)
        maker = fusion_sole_maker(fusion, row->first, row->image, ids[i]);
    return maker && maker->result_count == 1 ? maker : NULL;
}

/* Adds the operator before the chain. *out_done false: no operator can be added. */
static Error *lengthen(Fusion *fusion, Row *row, bool *out_done) {
    const IrBinding *maker = maker_of_affine(fusion, row);
    Affine before = {0}, both;
    IrVariable *image = NULL;
    *out_done = false;
    if (!maker) return NULL;
    Error *error = read_affine(fusion, maker, &image, &before);
    if (!error && (before.scale || before.shift))
        error = compose(fusion, &before, &row->affine, &both, out_done);
    affine_release(&before);
    if (!*out_done) return error;
    affine_release(&row->affine);
    *row = (Row){both, maker, image, row->count + count_of(maker)};
    return NULL;
}

/* Reads the chain that ends with the binding; count is 0 if there is none. The caller releases its
 * affine. */
static Error *read_row(Fusion *fusion, const IrBinding *binding, Row *out) {
    *out = (Row){.first = binding};
    TRY(read_affine(fusion, binding, &out->image, &out->affine));
    if (!out->affine.scale && !out->affine.shift) return NULL;
    out->count = count_of(binding);
    for (bool longer = true; longer;) TRY(lengthen(fusion, out, &longer));
    return NULL;
}

/* The weights of a convolution times a number; *out is NULL if they lose precision. */
static Error *scale_weights(Fusion *fusion, Tensor *weights, double scale, Tensor **out) {
    const Shape none = {0};
    OWN(Tensor, factor) = NULL;
    OWN(Tensor, wide) = NULL;
    OWN(Tensor, scaled) = NULL;
    *out = NULL;
    TRY(tensor_create_on_host(device_host(), DTYPE_FLOAT32, &none, &factor));
    *(float *)tensor_data(factor) = (float)scale;
    TRY(cast(fusion, weights, DTYPE_FLOAT32, &wide));
    TRY(compute(fusion, "Mul", wide, factor, &scaled));
    if (!scaled || !folds_well(&(Folded){.weights = scaled}, weights->dtype)) return NULL;
    return cast(fusion, scaled, weights->dtype, out);
}

/* A number by which a convolution's image is multiplied goes into the weights. Other users of the
 * product keep it. */
static Error *scale_of_image(Fusion *fusion, IrBinding *conv) {
    IrVariable *inputs[3] = {NULL, NULL, fusion_operand(conv, 2)};
    const IrBinding *mul = fusion_maker(conv, fusion_operand(conv, 0), OPERATOR_MUL);
    const IrVariable *variable = fusion_operand(conv, 1);
    Tensor *weights = variable ? ir_variable_tensor(variable) : NULL;
    double scale;
    if (!mul || !weights || !fusion_takes(weights->dtype)) return NULL;
    for (uint32_t i = 0; i < 2 && !inputs[0]; i++)
        if (fusion_scalar(fusion_operand(mul, 1 - i), &scale) &&
            fusion_same_shape(&fusion_operand(mul, i)->type, &mul->results[0]->type))
            inputs[0] = fusion_operand(mul, i);
    if (!inputs[0] || inputs[0]->constant) return NULL;
    OWN(Tensor, scaled) = NULL;
    TRY(scale_weights(fusion, weights, scale, &scaled));
    if (!scaled) return NULL;
    TRY(constants_copy(fusion->module, scaled, &inputs[1]));
    Attributes *attributes = (Attributes *)(uintptr_t)conv->attributes;
    return fusion_replace(fusion, conv, "Conv", attributes, inputs[2] ? 3 : 2, inputs);
}

static Error *rule(Fusion *fusion, IrBinding *binding) {
    Row row;
    if (binding->result_count != 1) return NULL;
    if (binding->operator_info->id == OPERATOR_CONV) return scale_of_image(fusion, binding);
    Error *error = read_row(fusion, binding, &row);
    const bool known = !error && row.count > 0;
    const int least = (row.affine.scale != NULL) + (row.affine.shift != NULL);
    const IrBinding *conv =
        known ? fusion_sole_maker(fusion, row.first, row.image, OPERATOR_CONV) : NULL;
    if (conv)
        error = into_conv(fusion, binding, conv, &row.affine);
    else if (known && row.count > least)
        error = into_pointwise(fusion, binding, row.image, &row.affine);
    affine_release(&row.affine);
    return error;
}

Error *fold_batch_norms_pass(PassContext *context) { return fusion_run(context, rule); }
