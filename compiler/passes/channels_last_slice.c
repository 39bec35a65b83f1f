/* Slice and Split of an image [N, H, W, C]: the same ranges along the axes' new places. */
#include "compiler/passes/channels_last.h"
#include "compiler/ir/constants.h"

enum { CHANNELS = 1, AXES = 3, SLICE_OPERANDS = 5, SPLIT_OPERANDS = 2, AXES_MAX = 5 };

static IrVariable *operand_at(const IrBinding *binding, uint32_t index) {
    return index < binding->operand_count ? binding->operands[index] : NULL;
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
    const IrVariable *axes = operand_at(slice, AXES);
    const Tensor *tensor = axes ? ir_variable_tensor(axes) : NULL;
    if (!tensor || (tensor->dtype != DTYPE_INT64 && tensor->dtype != DTYPE_INT32)) return false;
    const int64_t count = shape_count_unchecked(&tensor->shape);
    if (count > AXES_MAX) return false;
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
    int64_t axes[AXES_MAX];
    uint32_t count;
    return channels_last_expects(pass, operand_at(slice, 0)) && turned_axes(slice, axes, &count);
}

Error *channels_last_convert_slice(ChannelsLast *pass, IrBinding *slice) {
    IrVariable *inputs[SLICE_OPERANDS], **results;
    int64_t axes[AXES_MAX];
    uint32_t count = 0;
    (void)turned_axes(slice, axes, &count); /* channels_last_takes_slice looked */
    for (uint32_t i = 0; i < SLICE_OPERANDS; i++) inputs[i] = operand_at(slice, i);
    TRY(channels_last_get(pass, inputs[0], &inputs[0]));
    TRY(constants_ints(pass->module, 1, count, axes, &inputs[AXES]));
    TRY(ir_build_operator(
        ir_behind(slice), "Slice", NULL, slice->operand_count, inputs, 1, &results));
    channels_last_set(pass, slice, 0, results[0]);
    return NULL;
}

bool channels_last_takes_split(const ChannelsLast *pass, const IrBinding *split) {
    const IrVariable *image = operand_at(split, 0);
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
    for (uint32_t i = 0; i < SPLIT_OPERANDS; i++) inputs[i] = operand_at(split, i);
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
