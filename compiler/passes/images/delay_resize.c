/* A convolution of single pixels and the enlarging of an image change places: both are linear, one
 * over channels and one over places, so that the convolution may see the few pixels from before.
 * Images that were joined after enlarging some of them become a sum of products:
 *
 *   Conv(Concat(Resize(a), b), W) = Resize(Conv(a, W[:, a])) + Conv(b, W[:, b])
 *
 * Heads of segmenters and pyramids of features are made so. Sums are rounded in another order. */
#include <string.h>

#include "compiler/ir/constants.h"
#include "compiler/passes/fusion.h"

enum {
    PARTS_MAX = 16,
    CHANNELS = 1,
    SIZES = 3, /* operands of Resize */
    RESIZE_OPERANDS = 4,
    FEWER_PIXELS = 2, /* an image has to be enlarged by this factor to be worth it */
};

typedef struct Part {
    IrVariable *image;       /* before it is enlarged, if it is */
    const IrBinding *resize; /* NULL: the part stays where it is */
    int64_t channels, first; /* of the weights */
} Part;

typedef struct Split {
    Fusion *fusion;
    IrBinding *conv;
    const Tensor *weights; /* [M, C, 1, …] */
    Part parts[PARTS_MAX];
    uint32_t count, staying;
} Split;

static bool are_all(const Attributes *attributes, const char *name, int64_t wanted) {
    uint32_t count;
    const int64_t *values = attributes_ints(attributes, name, &count);
    for (uint32_t i = 0; i < count; i++)
        if (values[i] != wanted) return false;
    return true;
}

/* True for a convolution that combines the channels of each pixel and nothing else. */
static bool takes_pixels(const IrBinding *conv, const Tensor *weights) {
    const IrVariable *image = fusion_operand(conv, 0), *bias = fusion_operand(conv, 2);
    if (!weights || weights->dtype != DTYPE_FLOAT32 || weights->shape.rank < 3) return false;
    if (image->type.dtype != DTYPE_FLOAT32 || (bias && !ir_variable_tensor(bias))) return false;
    for (uint32_t i = 2; i < weights->shape.rank; i++)
        if (weights->shape.dims[i] != 1) return false;
    return attributes_int(conv->attributes, "group") == 1 &&
           are_all(conv->attributes, "strides", 1) && are_all(conv->attributes, "pads", 0);
}

static bool is_shaped(const IrType *type, const Split *split) {
    return type->kind == IR_TYPE_TENSOR && type->rank_known &&
           type->rank == split->weights->shape.rank && type->dims[CHANNELS] >= 0;
}

/* The pixels of an image; 0 if they are not known. */
static int64_t pixels_of(const IrType *type) {
    int64_t pixels = 1;
    for (uint32_t i = 2; i < type->rank; i++) {
        if (type->dims[i] <= 0 || type->dims[i] > (1 << 20)) return 0;
        if (pixels > (1 << 30)) return 0;
        pixels *= type->dims[i];
    }
    return pixels;
}

/* True if the sizes of a Resize are absent, or can be written for another number of channels. */
static bool has_plain_sizes(const IrBinding *resize, uint32_t rank) {
    const IrVariable *sizes = fusion_operand(resize, SIZES);
    const Tensor *tensor = sizes ? ir_variable_tensor(sizes) : NULL;
    if (attributes_has(resize->attributes, "axes")) {
        uint32_t count;
        const int64_t *axes = attributes_ints(resize->attributes, "axes", &count);
        for (uint32_t i = 0; i < count; i++)
            if ((axes[i] < 0 ? axes[i] + (int64_t)rank : axes[i]) < 2) return false;
        return true;
    }
    if (!sizes || (tensor && shape_count_unchecked(&tensor->shape) == 0)) return true;
    return tensor && tensor->dtype == DTYPE_INT64 && tensor->shape.rank == 1 &&
           tensor->shape.dims[0] == (int64_t)rank;
}

/* The Resize that enlarges the image for this consumer alone, or NULL. */
static const IrBinding *enlarging(
    const Split *split, const IrBinding *consumer, const IrVariable *image) {
    const IrBinding *resize = fusion_sole_maker(split->fusion, consumer, image, OPERATOR_RESIZE);
    const IrVariable *source = resize ? fusion_operand(resize, 0) : NULL;
    if (!source || !is_shaped(&source->type, split)) return NULL;
    const IrType *from = &source->type, *to = &image->type;
    const int64_t few = pixels_of(from);
    if (from->dtype != to->dtype || few == 0 || pixels_of(to) < FEWER_PIXELS * few) return NULL;
    if (from->dims[0] != to->dims[0] || from->dims[0] == IR_DIM_UNKNOWN) return NULL;
    if (from->dims[CHANNELS] != to->dims[CHANNELS]) return NULL;
    if (split->weights->shape.dims[0] > from->dims[CHANNELS]) return NULL;
    /* outside the image there is a number that is no pixel's */
    if (strcmp(attributes_text(resize->attributes, "coordinate_transformation_mode"),
            "tf_crop_and_resize") == 0)
        return NULL;
    return has_plain_sizes(resize, from->rank) ? resize : NULL;
}

static bool add_part(Split *split, const IrBinding *consumer, IrVariable *image, int64_t *channel) {
    if (!image || split->count == PARTS_MAX || !is_shaped(&image->type, split)) return false;
    Part *part = &split->parts[split->count++];
    *part = (Part){.image = image,
        .resize = enlarging(split, consumer, image),
        .channels = image->type.dims[CHANNELS],
        .first = *channel};
    if (part->resize) part->image = fusion_operand(part->resize, 0);
    if (!part->resize) split->staying++;
    *channel += part->channels;
    return true;
}

static bool find_parts(Split *split) {
    const IrBinding *conv = split->conv;
    IrVariable *image = fusion_operand(conv, 0);
    const IrBinding *concat = fusion_sole_maker(split->fusion, conv, image, OPERATOR_CONCAT);
    int64_t channel = 0;
    if (!is_shaped(&conv->results[0]->type, split)) return false;
    if (concat) {
        const int64_t axis = attributes_int(concat->attributes, "axis");
        if ((axis < 0 ? axis + (int64_t)split->weights->shape.rank : axis) != CHANNELS)
            return false;
        for (uint32_t i = 0; i < concat->operand_count; i++)
            if (!add_part(split, concat, fusion_operand(concat, i), &channel)) return false;
    } else if (!add_part(split, conv, image, &channel))
        return false;
    return channel == split->weights->shape.dims[CHANNELS] && split->staying < split->count;
}

/* The weights of one part, or of all that stay (NULL). */
static Error *weights_of(const Split *split, const Part *only, IrVariable **out) {
    const Tensor *weights = split->weights;
    Shape shape = weights->shape;
    const int64_t rows = shape.dims[0], width = shape.dims[CHANNELS];
    shape.dims[CHANNELS] = 0;
    for (uint32_t i = 0; i < split->count; i++)
        if (only ? &split->parts[i] == only : !split->parts[i].resize)
            shape.dims[CHANNELS] += split->parts[i].channels;
    OWN(Tensor, tensor) = NULL;
    TRY(tensor_create_on_host(device_host(), weights->dtype, &shape, &tensor));
    const float *from = tensor_data(weights);
    float *to = tensor_data(tensor);
    for (int64_t row = 0; row < rows; row++)
        for (uint32_t i = 0; i < split->count; i++) {
            const Part *part = &split->parts[i];
            if (only ? part != only : part->resize != NULL) continue;
            if (part->channels == 0) continue;
            memcpy(to, from + row * width + part->first, (size_t)part->channels * sizeof(float));
            to += part->channels;
        }
    return ir_constant_tensor(split->fusion->module, tensor, out);
}

/* `like` with the convolution's number of channels. */
static IrType type_like(const Split *split, const IrType *like) {
    int64_t dims[SHAPE_RANK_MAX];
    memcpy(dims, like->dims, like->rank * sizeof *dims);
    dims[CHANNELS] = split->weights->shape.dims[0];
    return ir_type_shaped(like->dtype, like->rank, dims);
}

static Error *convolve(
    Split *split, IrVariable *image, IrVariable *weights, IrVariable *bias, IrVariable **out) {
    OWN(Attributes, attributes) = NULL;
    TRY(attributes_create(&attributes));
    TRY(attributes_copy_declared(split->conv->attributes, split->conv->operator_info, attributes));
    IrVariable *inputs[] = {image, weights, bias};
    const IrType type = type_like(split, &image->type);
    return fusion_insert(
        split->fusion, split->conv, "Conv", attributes, bias ? 3 : 2, inputs, &type, out);
}

/* The sizes of a Resize for the convolution's number of channels. */
static Error *sizes_for(const Split *split, const IrBinding *resize, IrVariable **out) {
    const Tensor *sizes = *out ? ir_variable_tensor(*out) : NULL;
    if (!sizes || attributes_has(resize->attributes, "axes")) return NULL;
    const uint32_t count = (uint32_t)shape_count_unchecked(&sizes->shape);
    int64_t values[SHAPE_RANK_MAX];
    if (count == 0) return NULL;
    memcpy(values, tensor_data(sizes), count * sizeof *values);
    values[CHANNELS] = split->weights->shape.dims[0];
    return constants_ints(split->fusion->module, 1, count, values, out);
}

static Error *enlarge(Split *split, const Part *part, IrVariable *image, IrVariable **out) {
    const IrBinding *resize = part->resize;
    IrVariable *inputs[RESIZE_OPERANDS] = {image};
    for (uint32_t i = 1; i < resize->operand_count && i < RESIZE_OPERANDS; i++)
        inputs[i] = fusion_operand(resize, i);
    TRY(sizes_for(split, resize, &inputs[SIZES]));
    OWN(Attributes, attributes) = NULL;
    TRY(attributes_create(&attributes));
    TRY(attributes_copy_declared(resize->attributes, resize->operator_info, attributes));
    const IrType type = type_like(split, &resize->results[0]->type);
    return fusion_insert(split->fusion, split->conv, "Resize", attributes, resize->operand_count,
        inputs, &type, out);
}

/* *inout += value; *inout may be NULL. */
static Error *add(Split *split, IrVariable *value, IrVariable **inout) {
    if (!*inout) {
        *inout = value;
        return NULL;
    }
    OWN(Attributes, attributes) = NULL;
    TRY(attributes_create(&attributes));
    IrVariable *inputs[] = {*inout, value};
    const IrType type = split->conv->results[0]->type;
    return fusion_insert(split->fusion, split->conv, "Add", attributes, 2, inputs, &type, inout);
}

/* The bias as [M, 1, …]. */
static Error *bias_of_images(const Split *split, IrVariable *bias, IrVariable **out) {
    Tensor *tensor = ir_variable_tensor(bias);
    Shape shape = {.rank = split->weights->shape.rank - 1};
    for (uint32_t i = 0; i < shape.rank; i++) shape.dims[i] = i == 0 ? tensor->shape.dims[0] : 1;
    OWN(Tensor, shaped) = NULL;
    TRY(tensor_reshape(tensor, &shape, &shaped));
    return ir_constant_tensor(split->fusion->module, shaped, out);
}

/* The convolution of all parts that stay. */
static Error *convolve_staying(Split *split, IrVariable *bias, IrVariable **out) {
    IrVariable *images[PARTS_MAX], *image, *weights;
    uint32_t count = 0;
    int64_t channels = 0;
    for (uint32_t i = 0; i < split->count; i++) {
        if (split->parts[i].resize) continue;
        images[count++] = split->parts[i].image;
        channels += split->parts[i].channels;
    }
    image = images[0];
    if (count > 1) {
        OWN(Attributes, attributes) = NULL;
        TRY(attributes_create(&attributes));
        TRY(attributes_set_int(attributes, "axis", CHANNELS));
        IrType type = image->type;
        type.dims[CHANNELS] = channels;
        TRY(fusion_insert(
            split->fusion, split->conv, "Concat", attributes, count, images, &type, &image));
    }
    TRY(weights_of(split, NULL, &weights));
    return convolve(split, image, weights, bias, out);
}

static Error *convert(Split *split) {
    IrVariable *bias = fusion_operand(split->conv, 2), *sum = NULL, *value, *weights;
    for (uint32_t i = 0; i < split->count; i++) {
        const Part *part = &split->parts[i];
        if (!part->resize) continue;
        TRY(weights_of(split, part, &weights));
        TRY(convolve(split, part->image, weights, NULL, &value));
        TRY(enlarge(split, part, value, &value));
        TRY(add(split, value, &sum));
    }
    if (split->staying > 0) {
        TRY(convolve_staying(split, bias, &value));
        TRY(add(split, value, &sum));
    } else if (bias) {
        TRY(bias_of_images(split, bias, &value));
        TRY(add(split, value, &sum));
    }
    return fusion_replace_by(split->fusion, split->conv, sum);
}

static Error *rule(Fusion *fusion, IrBinding *conv) {
    if (conv->operator_info->id != OPERATOR_CONV) return NULL;
    const IrVariable *weights = fusion_operand(conv, 1);
    Split split = {
        .fusion = fusion, .conv = conv, .weights = weights ? ir_variable_tensor(weights) : NULL};
    if (!takes_pixels(conv, split.weights) || !find_parts(&split)) return NULL;
    return convert(&split);
}

Error *delay_resize_pass(PassContext *context) { return fusion_run(context, rule); }
