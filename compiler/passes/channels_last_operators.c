/* Finds the operators that can work on [N, H, W, C], and converts them. */
#include <string.h>

#include "compiler/passes/channels_last.h"
#include "compiler/ir/constants.h"
#include "kernels/planning/pointwise_program.h"

enum {
    CHANNELS = 1,
    PIXELS = 2, /* the first of the dimensions of pixels */
    IMAGE_RANK = 4,
    VOLUME_RANK = 5,
    OPERANDS_MAX = 4,
    QUANTIZED_OPERANDS_MAX = 9,
    SCALE = 1,
    ZERO_POINT = 2,
};

static bool is_conv(const IrBinding *binding) {
    return binding->operator_info->id == OPERATOR_CONV ||
           binding->operator_info->id == OPERATOR_FUSED_CONV;
}

static bool is_conv_of_bytes(const IrBinding *binding) {
    return binding->operator_info->id == OPERATOR_QLINEAR_CONV;
}

static bool is_quantization(const IrBinding *binding) {
    const OperatorId id = binding->operator_info->id;
    return id == OPERATOR_QUANTIZE_LINEAR || id == OPERATOR_DEQUANTIZE_LINEAR;
}

static const Tensor *weights_of(const IrBinding *conv) {
    const IrVariable *weights = ir_operand(conv, is_conv_of_bytes(conv) ? 3 : 1);
    return weights ? ir_variable_tensor(weights) : NULL;
}

/* The number of pixels of the kernel. */
static int64_t kernel_pixels(const Tensor *weights) {
    return shape_product(&weights->shape, PIXELS, weights->shape.rank);
}

/* Accepts one group. Accepts several groups only of an image that has the form already, if each
 * group is one channel, the kernel is one pixel, or groups have enough channels for products of
 * matrices. Groups of few channels are apart in [N, H, W, C] and together in [N, C, H, W]. */
static bool takes_conv(const ChannelsLast *pass, const IrBinding *conv) {
    enum { GROUP_CHANNELS_MIN = 16 };
    const IrVariable *image = ir_operand(conv, 0);
    const Tensor *weights = weights_of(conv);
    if (!image || !channels_last_is_image(image) || !weights ||
        weights->shape.rank != image->type.rank)
        return false;
    /* integers have kernels for two dimensions */
    if (is_conv_of_bytes(conv) && image->type.rank != IMAGE_RANK) return false;
    const int64_t *dims = weights->shape.dims, groups = attributes_int(conv->attributes, "group");
    if (groups == 1) return true;
    if (!channels_last_expects(pass, image)) return false;
    return (dims[1] == 1 && dims[0] == groups) || kernel_pixels(weights) == 1 ||
           dims[1] >= GROUP_CHANNELS_MIN;
}

static bool is_pool(const IrBinding *binding) {
    OperatorId id = binding->operator_info->id;
    return id == OPERATOR_MAX_POOL || id == OPERATOR_AVERAGE_POOL ||
           id == OPERATOR_GLOBAL_MAX_POOL || id == OPERATOR_GLOBAL_AVERAGE_POOL;
}

/* True for a constant with one element, or with one for each channel of the image. */
static bool is_channel_constant(const IrVariable *variable, const IrType *image) {
    const Tensor *tensor = ir_variable_tensor(variable);
    if (!tensor || tensor->shape.rank > image->rank) return false;
    const Shape *shape = &tensor->shape;
    for (uint32_t i = 0; i < shape->rank; i++) {
        const uint32_t dim = i + image->rank - shape->rank;
        if (shape->dims[i] != 1 && (dim != CHANNELS || shape->dims[i] != image->dims[CHANNELS]))
            return false;
    }
    return true;
}

/* True when at least one operand is an image in the form, and each other operand is an image or a
 * constant of channels. */
static bool takes_pointwise(const ChannelsLast *pass, const IrBinding *binding) {
    bool has_image = false;
    for (uint32_t i = 0; i < binding->operand_count; i++) {
        const IrVariable *operand = ir_operand(binding, i);
        if (!operand) continue;
        const bool is_image = channels_last_expects(pass, operand);
        has_image = has_image || is_image;
        if (!is_image && !is_channel_constant(operand, &binding->results[0]->type)) return false;
    }
    return has_image;
}

static bool takes_concat(const ChannelsLast *pass, const IrBinding *concat) {
    for (uint32_t i = 0; i < concat->operand_count; i++)
        if (!channels_last_expects(pass, ir_operand(concat, i))) return false;
    return concat->operand_count > 0;
}

/* True for one scale, or one for each channel. */
static bool takes_quantization(const ChannelsLast *pass, const IrBinding *binding) {
    if (!channels_last_expects(pass, ir_operand(binding, 0))) return false;
    if (attributes_int(binding->attributes, "block_size") != 0) return false;
    for (uint32_t i = SCALE; i <= ZERO_POINT; i++) {
        const IrVariable *operand = ir_operand(binding, i);
        const Tensor *tensor = operand ? ir_variable_tensor(operand) : NULL;
        if (operand && !tensor) return false;
        if (tensor && shape_count_unchecked(&tensor->shape) != 1) {
            const int64_t axis = attributes_int(binding->attributes, "axis");
            const int64_t rank = ir_operand(binding, 0)->type.rank;
            if (tensor->shape.rank != 1 || (axis != CHANNELS && axis != CHANNELS - rank))
                return false;
        }
    }
    return true;
}

bool channels_last_may_take(const IrBinding *binding) {
    if (binding->kind != IR_OPERATOR) return false;
    const OperatorId id = binding->operator_info->id;
    return is_conv(binding) || is_conv_of_bytes(binding) || is_quantization(binding) ||
           is_pool(binding) || id == OPERATOR_LRN || id == OPERATOR_CONCAT ||
           id == OPERATOR_RESIZE || id == OPERATOR_REDUCE_MEAN || id == OPERATOR_RESHAPE ||
           id == OPERATOR_TRANSPOSE || id == OPERATOR_SLICE || id == OPERATOR_SPLIT ||
           pointwise_program_takes(id);
}

bool channels_last_takes(const ChannelsLast *pass, const IrBinding *binding) {
    const OperatorId id = binding->operator_info->id;
    if (is_conv(binding) || is_conv_of_bytes(binding)) return takes_conv(pass, binding);
    if (is_quantization(binding)) return takes_quantization(pass, binding);
    if (((is_pool(binding) && id != OPERATOR_MAX_POOL) || id == OPERATOR_REDUCE_MEAN) &&
        !dtype_in(DTYPES_FLOAT32_AND_HALF, ir_operand(binding, 0)->type.dtype))
        return false;
    if (is_pool(binding)) return channels_last_expects(pass, ir_operand(binding, 0));
    if (id == OPERATOR_LRN)
        return channels_last_expects(pass, ir_operand(binding, 0)) &&
               ir_operand(binding, 0)->type.rank == IMAGE_RANK;
    if (id == OPERATOR_CONCAT) return takes_concat(pass, binding);
    if (id == OPERATOR_SLICE) return channels_last_takes_slice(pass, binding);
    if (id == OPERATOR_SPLIT) return channels_last_takes_split(pass, binding);
    if (id == OPERATOR_RESIZE) return channels_last_takes_resize(pass, binding);
    if (id == OPERATOR_REDUCE_MEAN) return channels_last_takes_mean(pass, binding);
    if (id == OPERATOR_RESHAPE && channels_last_takes_shuffle(pass, binding)) return true;
    if (id == OPERATOR_RESHAPE || id == OPERATOR_TRANSPOSE)
        return channels_last_takes_tokens(binding);
    return pointwise_program_takes(id) && takes_pointwise(pass, binding);
}

/* Reshapes [C], [C, 1, 1] or [1, C, 1, 1] to [C], and a single element to a scalar. */
static Error *channel_vector(ChannelsLast *pass, IrVariable *constant, IrVariable **out) {
    Tensor *tensor = ir_variable_tensor(constant);
    int64_t count = shape_count_unchecked(&tensor->shape);
    *out = constant;
    if (count == 1 && tensor->shape.rank == 0) return NULL;
    Shape shape = shape_make(count == 1 ? 0 : 1, &count);
    OWN(Tensor, vector) = NULL;
    TRY(tensor_reshape(tensor, &shape, &vector));
    return constants_copy(pass->module, vector, out);
}

static Error *operand_get(
    ChannelsLast *pass, const IrBinding *binding, uint32_t index, IrVariable **out) {
    IrVariable *operand = ir_operand(binding, index);
    *out = NULL;
    if (!operand) return NULL;
    if (channels_last_is_image(operand)) return channels_last_get(pass, operand, out);
    if (operand->constant) return channel_vector(pass, operand, out);
    *out = operand;
    return NULL;
}

static Error *emit(ChannelsLast *pass, IrBinding *binding, const char *operator_name,
    Attributes *attributes, uint32_t count, IrVariable *const *inputs) {
    IrVariable **results;
    TRY(ir_build_operator(
        ir_behind(binding), operator_name, attributes, count, inputs, 1, &results));
    channels_last_set(pass, binding, 0, results[0]);
    return NULL;
}

/* True for a convolution from one pixel to one pixel: a product of matrices. */
static bool is_product(const IrBinding *conv) {
    uint32_t pad_count, stride_count;
    const int64_t *pads = attributes_ints(conv->attributes, "pads", &pad_count);
    const int64_t *strides = attributes_ints(conv->attributes, "strides", &stride_count);
    if (kernel_pixels(weights_of(conv)) != 1) return false;
    if (attributes_int(conv->attributes, "group") != 1) return false;
    for (uint32_t i = 0; i < pad_count; i++)
        if (pads[i] != 0) return false;
    for (uint32_t i = 0; i < stride_count; i++)
        if (strides[i] != 1) return false;
    /* without padding, auto_pad changes nothing for a kernel of one pixel */
    return true;
}

static Error *convert_product(ChannelsLast *pass, IrBinding *conv, IrVariable **inputs) {
    OWN(Attributes, attributes) = NULL;
    OWN(Tensor, matrix) = NULL;
    Tensor *weights = ir_variable_tensor(inputs[1]);
    const Shape shape = shape_make(2, weights->shape.dims);
    TRY(tensor_reshape(weights, &shape, &matrix));
    TRY(constants_copy(pass->module, matrix, &inputs[1]));
    TRY(attributes_create(&attributes));
    TRY(attributes_copy_declared(
        conv->attributes, operator_get(OPERATOR_FUSED_MATMUL), attributes));
    TRY(attributes_set_int(attributes, "transB", 1));
    return emit(pass, conv, "FusedMatMul", attributes, OPERANDS_MAX, inputs);
}

/* 0 if the number is unknown. */
static int64_t pixels_of(const IrType *image) {
    int64_t pixels = 1;
    for (uint32_t i = PIXELS; i < image->rank; i++)
        if (image->dims[i] <= 0 || __builtin_mul_overflow(pixels, image->dims[i], &pixels))
            return 0;
    return pixels;
}

static Error *convert_conv(ChannelsLast *pass, IrBinding *conv) {
    IrVariable *inputs[OPERANDS_MAX];
    for (uint32_t i = 0; i < OPERANDS_MAX; i++) inputs[i] = ir_operand(conv, i);
    TRY(channels_last_get(pass, inputs[0], &inputs[0]));
    if (inputs[3]) TRY(channels_last_get(pass, inputs[3], &inputs[3]));
    if (is_product(conv)) return convert_product(pass, conv, inputs);
    OWN(Attributes, attributes) = NULL;
    TRY(attributes_create(&attributes));
    TRY(attributes_copy_declared(conv->attributes, operator_get(OPERATOR_FUSED_CONV), attributes));
    TRY(attributes_set_int(attributes, "channels_last", 1));
    const int64_t pixels = pixels_of(&conv->results[0]->type);
    if (pixels > 0) TRY(attributes_set_int(attributes, "pixels", pixels));
    return emit(pass, conv, "FusedConv", attributes, OPERANDS_MAX, inputs);
}

static Error *convert_conv_of_bytes(ChannelsLast *pass, IrBinding *conv) {
    IrVariable *inputs[QUANTIZED_OPERANDS_MAX];
    for (uint32_t i = 0; i < QUANTIZED_OPERANDS_MAX; i++) inputs[i] = ir_operand(conv, i);
    TRY(channels_last_get(pass, inputs[0], &inputs[0]));
    OWN(Attributes, attributes) = NULL;
    TRY(attributes_create(&attributes));
    TRY(attributes_copy_declared(
        conv->attributes, operator_get(OPERATOR_FUSED_QLINEAR_CONV), attributes));
    TRY(attributes_set_int(attributes, "channels_last", 1));
    return emit(pass, conv, "FusedQLinearConv", attributes, conv->operand_count, inputs);
}

static Error *convert_quantization(ChannelsLast *pass, IrBinding *binding) {
    IrVariable *inputs[] = {
        ir_operand(binding, 0), ir_operand(binding, SCALE), ir_operand(binding, ZERO_POINT)};
    TRY(channels_last_get(pass, inputs[0], &inputs[0]));
    OWN(Attributes, attributes) = NULL;
    TRY(attributes_create(&attributes));
    TRY(attributes_copy_declared(binding->attributes, binding->operator_info, attributes));
    TRY(attributes_set_int(attributes, "axis", inputs[0]->type.rank - 1));
    return emit(
        pass, binding, binding->operator_info->name, attributes, binding->operand_count, inputs);
}

/* pool: the name of the operator, where it becomes a pool. */
static Error *convert_one(ChannelsLast *pass, IrBinding *binding, OperatorId to, const char *pool) {
    IrVariable *image;
    OWN(Attributes, attributes) = NULL;
    TRY(channels_last_get(pass, ir_operand(binding, 0), &image));
    TRY(attributes_create(&attributes));
    TRY(attributes_copy_declared(binding->attributes, operator_get(to), attributes));
    if (pool) TRY(attributes_set_text(attributes, "operator", pool));
    return emit(pass, binding, operator_get(to)->name, attributes, 1, &image);
}

/* Converts operators that read one element of each operand, and Concat, whose axis changes. */
static Error *convert_operands(ChannelsLast *pass, IrBinding *binding) {
    IrVariable **inputs;
    void *memory;
    TRY(arena_alloc(&pass->module->arena, binding->operand_count, sizeof *inputs, &memory));
    inputs = memory;
    for (uint32_t i = 0; i < binding->operand_count; i++)
        TRY(operand_get(pass, binding, i, &inputs[i]));
    OWN(Attributes, attributes) = NULL;
    TRY(attributes_create(&attributes));
    TRY(attributes_copy_declared(binding->attributes, binding->operator_info, attributes));
    if (binding->operator_info->id == OPERATOR_CONCAT) {
        const int64_t rank = binding->results[0]->type.rank;
        int64_t axis = attributes_int(binding->attributes, "axis");
        if (axis < 0) axis += rank;
        if (axis > 0) axis = axis == CHANNELS ? rank - 1 : axis - 1;
        TRY(attributes_set_int(attributes, "axis", axis));
    }
    return emit(
        pass, binding, binding->operator_info->name, attributes, binding->operand_count, inputs);
}

static Error *convert_reshape(ChannelsLast *pass, IrBinding *binding) {
    if (channels_last_takes_shuffle(pass, binding))
        return channels_last_convert_shuffle(pass, binding);
    return channels_last_convert_tokens(pass, binding);
}

Error *channels_last_convert(ChannelsLast *pass, IrBinding *binding) {
    const OperatorId id = binding->operator_info->id;
    if (is_conv(binding)) return convert_conv(pass, binding);
    if (is_conv_of_bytes(binding)) return convert_conv_of_bytes(pass, binding);
    if (is_quantization(binding)) return convert_quantization(pass, binding);
    if (is_pool(binding))
        return convert_one(pass, binding, OPERATOR_FUSED_POOL, binding->operator_info->name);
    if (id == OPERATOR_REDUCE_MEAN)
        return convert_one(pass, binding, OPERATOR_FUSED_POOL, "GlobalAveragePool");
    if (id == OPERATOR_LRN) return convert_one(pass, binding, OPERATOR_FUSED_LRN, NULL);
    if (id == OPERATOR_RESIZE) return channels_last_convert_resize(pass, binding);
    if (id == OPERATOR_SLICE) return channels_last_convert_slice(pass, binding);
    if (id == OPERATOR_SPLIT) return channels_last_convert_split(pass, binding);
    if (id == OPERATOR_TRANSPOSE) return channels_last_convert_tokens(pass, binding);
    if (id == OPERATOR_RESHAPE) return convert_reshape(pass, binding);
    return convert_operands(pass, binding);
}
