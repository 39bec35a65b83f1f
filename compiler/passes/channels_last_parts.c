/* Operators that put the channels of an image in other places or take some of them, on [N, H, W,
 * C]. Reshape, Transpose, Reshape that exchange groups of channels with the channels inside them
 * become the same exchange; Slice and Split take the same ranges along the axes' new places. */
#include "compiler/ir/ir_permutation.h"
#include "compiler/passes/channels_last.h"
#include "compiler/ir/constants.h"

enum {
    CHANNELS = 1, /* the axis */
    IMAGE_RANK = 4,
    GROUPS_RANK = 5, /* of an image whose channels are cut into groups */
    SLICE_AXES = 3,  /* the operand */
    SLICE_AXES_MAX = 5,
    SLICE_OPERANDS = 5,
    SPLIT_OPERANDS = 2,
};

static IrBinding *made_by(const IrVariable *variable, OperatorId id) {
    IrBinding *binding = variable ? variable->binding : NULL;
    if (!binding || binding->kind != IR_OPERATOR || binding->operator_info->id != id) return NULL;
    return binding;
}

static const int64_t groups_swapped[GROUPS_RANK] = {0, 2, 1, 3, 4};

static bool same(int64_t a, int64_t b) { return a == b && a != IR_DIM_UNKNOWN; }

/* [N, groups, C / groups, H, W] of an image [N, C, H, W]. */
static bool has_groups(const IrType *cut, const IrType *image) {
    const int64_t *dims = cut->dims;
    return cut->kind == IR_TYPE_TENSOR && cut->rank_known && cut->rank == GROUPS_RANK &&
           dims[1] > 0 && dims[2] > 0 && image->dims[CHANNELS] % dims[1] == 0 &&
           image->dims[CHANNELS] / dims[1] == dims[2] && same(dims[0], image->dims[0]) &&
           same(dims[3], image->dims[2]) && same(dims[4], image->dims[3]);
}

static const IrVariable *cut_of(const IrBinding *binding) {
    const IrBinding *transpose = made_by(binding->operands[0], OPERATOR_TRANSPOSE);
    if (!ir_permutes(transpose, groups_swapped, GROUPS_RANK)) return NULL;
    const IrVariable *cut = transpose->operands[0];
    return made_by(cut, OPERATOR_RESHAPE) ? cut : NULL;
}

bool channels_last_takes_shuffle(const ChannelsLast *pass, const IrBinding *binding) {
    const IrVariable *cut = cut_of(binding);
    if (!cut) return false;
    const IrVariable *image = cut->binding->operands[0];
    if (!channels_last_expects(pass, image) || image->type.rank != IMAGE_RANK ||
        binding->results[0]->type.rank != IMAGE_RANK || !has_groups(&cut->type, &image->type))
        return false;
    for (uint32_t i = 0; i < IMAGE_RANK; i++)
        if (!same(binding->results[0]->type.dims[i], image->type.dims[i])) return false;
    return true;
}

/* dims: 0 keeps the dimension. */
static Error *reshape(ChannelsLast *pass, IrBinding *binding, IrVariable *from, uint32_t rank,
    const int64_t *dims, IrVariable **out) {
    IrVariable *shape;
    TRY(constants_ints(pass->module, 1, rank, dims, &shape));
    return ir_build_simple(ir_behind(binding), "Reshape", NULL, from, shape, NULL, out);
}

Error *channels_last_convert_shuffle(ChannelsLast *pass, IrBinding *binding) {
    static const int64_t swapped[GROUPS_RANK] = {0, 1, 2, 4, 3};
    const IrVariable *cut = cut_of(binding);
    const int64_t groups = cut->type.dims[1], size = cut->type.dims[2];
    const int64_t apart[GROUPS_RANK] = {0, 0, 0, groups, size};
    const int64_t together[IMAGE_RANK] = {0, 0, 0, groups * size};
    IrVariable *image, *halves, *turned, *last;
    TRY(channels_last_get(pass, cut->binding->operands[0], &image));
    TRY(reshape(pass, binding, image, GROUPS_RANK, apart, &halves));
    halves->type = cut->type;
    halves->type.dims[1] = image->type.dims[1];
    halves->type.dims[2] = image->type.dims[2];
    halves->type.dims[3] = groups;
    halves->type.dims[4] = size;
    TRY(ir_build_transpose(ir_behind(halves->binding), halves, GROUPS_RANK, swapped, &turned));
    turned->type = halves->type;
    turned->type.dims[3] = size;
    turned->type.dims[4] = groups;
    TRY(reshape(pass, turned->binding, turned, IMAGE_RANK, together, &last));
    channels_last_set(pass, binding, 0, last);
    return NULL;
}

/* The place of an axis of [N, C, H, W]. False: there is no such axis. */
static bool turn_axis(int64_t axis, int64_t rank, int64_t *out) {
    if (axis < -rank || axis >= rank) return false;
    if (axis < 0) axis += rank;
    *out = axis == 0 ? 0 : axis == CHANNELS ? rank - 1 : axis - 1;
    return true;
}

/* The new places of constant axes. False: they are not constants, or not axes. */
static bool turned_axes(const IrBinding *slice, int64_t *out, uint32_t *out_count) {
    const IrVariable *axes = ir_operand(slice, SLICE_AXES);
    const Tensor *tensor = axes ? ir_variable_tensor(axes) : NULL;
    if (!tensor || (tensor->dtype != DTYPE_INT64 && tensor->dtype != DTYPE_INT32)) return false;
    const int64_t count = shape_count_unchecked(&tensor->shape);
    if (count > SLICE_AXES_MAX) return false;
    const void *data = tensor_data(tensor);
    for (int64_t i = 0; i < count; i++) {
        const int64_t axis =
            tensor->dtype == DTYPE_INT64 ? ((const int64_t *)data)[i] : ((const int32_t *)data)[i];
        if (!turn_axis(axis, slice->results[0]->type.rank, &out[i])) return false;
    }
    *out_count = (uint32_t)count;
    return true;
}

bool channels_last_takes_slice(const ChannelsLast *pass, const IrBinding *slice) {
    int64_t axes[SLICE_AXES_MAX];
    uint32_t count;
    return channels_last_expects(pass, ir_operand(slice, 0)) && turned_axes(slice, axes, &count);
}

Error *channels_last_convert_slice(ChannelsLast *pass, IrBinding *slice) {
    IrVariable *inputs[SLICE_OPERANDS], **results;
    int64_t axes[SLICE_AXES_MAX];
    uint32_t count = 0;
    (void)turned_axes(slice, axes, &count); /* channels_last_takes_slice looked */
    for (uint32_t i = 0; i < SLICE_OPERANDS; i++) inputs[i] = ir_operand(slice, i);
    TRY(channels_last_get(pass, inputs[0], &inputs[0]));
    TRY(constants_ints(pass->module, 1, count, axes, &inputs[SLICE_AXES]));
    TRY(ir_build_operator(
        ir_behind(slice), "Slice", NULL, slice->operand_count, inputs, 1, &results));
    channels_last_set(pass, slice, 0, results[0]);
    return NULL;
}

bool channels_last_takes_split(const ChannelsLast *pass, const IrBinding *split) {
    const IrVariable *image = ir_operand(split, 0);
    int64_t axis;
    if (!channels_last_expects(pass, image)) return false;
    for (uint32_t i = 0; i < split->result_count; i++)
        if (!split->results[i] || !channels_last_is_image(split->results[i])) return false;
    return turn_axis(attributes_int(split->attributes, "axis"), image->type.rank, &axis);
}

Error *channels_last_convert_split(ChannelsLast *pass, IrBinding *split) {
    IrVariable *inputs[SPLIT_OPERANDS], **results;
    int64_t axis = 0;
    OWN(Attributes, attributes) = NULL;
    for (uint32_t i = 0; i < SPLIT_OPERANDS; i++) inputs[i] = ir_operand(split, i);
    (void)turn_axis(attributes_int(split->attributes, "axis"), inputs[0]->type.rank, &axis);
    TRY(channels_last_get(pass, inputs[0], &inputs[0]));
    TRY(attributes_create(&attributes));
    TRY(attributes_copy_declared(split->attributes, split->operator_info, attributes));
    TRY(attributes_set_int(attributes, "axis", axis));
    TRY(ir_build_operator(ir_behind(split), "Split", attributes, split->operand_count, inputs,
        split->result_count, &results));
    for (uint32_t i = 0; i < split->result_count; i++)
        channels_last_set(pass, split, i, results[i]);
    return NULL;
}
