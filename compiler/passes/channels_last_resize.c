/* Resize and means over the pixels of an image [N, H, W, C]. */
#include <string.h>

#include "compiler/passes/channels_last.h"
#include "compiler/ir/constants.h"

enum { CHANNELS = 1, HEIGHT = 2, RANK = 4, REGION = 1, SCALES = 2, SIZES = 3, OPERANDS = 4 };

static bool is_empty(const IrVariable *variable) {
    const Tensor *tensor = variable ? ir_variable_tensor(variable) : NULL;
    return !variable || (tensor && shape_count_unchecked(&tensor->shape) == 0);
}

/* True for numbers that are absent, or constants for all four dimensions. */
static bool has_all(const IrVariable *variable) {
    const Tensor *tensor = variable ? ir_variable_tensor(variable) : NULL;
    if (is_empty(variable)) return true;
    return tensor && tensor->shape.rank == 1 && tensor->shape.dims[0] == RANK;
}

bool channels_last_takes_resize(const ChannelsLast *pass, const IrBinding *resize) {
    const IrVariable *image = ir_operand(resize, 0);
    const IrType *from = &image->type, *to = &resize->results[0]->type;
    if (!channels_last_expects(pass, image) || !channels_last_wants(pass, resize->results[0]) ||
        from->rank != RANK)
        return false;
    /* a region has two numbers for each dimension */
    if (!is_empty(ir_operand(resize, REGION)) || attributes_has(resize->attributes, "axes"))
        return false;
    if (!has_all(ir_operand(resize, SCALES)) || !has_all(ir_operand(resize, SIZES))) return false;
    return from->dims[0] == to->dims[0] && from->dims[0] != IR_DIM_UNKNOWN &&
           from->dims[CHANNELS] == to->dims[CHANNELS] && from->dims[CHANNELS] >= 0;
}

/* The constant's four numbers in the order of [N, H, W, C]. */
static Error *turned(ChannelsLast *pass, const IrVariable *variable, IrVariable **out) {
    *out = NULL;
    if (is_empty(variable)) return NULL;
    const Tensor *first = ir_variable_tensor(variable);
    OWN(Tensor, last) = NULL;
    TRY(tensor_create_on_host(device_host(), first->dtype, &first->shape, &last));
    const size_t size = dtype_bits(first->dtype) / 8;
    const char *from = tensor_data(first);
    char *to = tensor_data(last);
    for (size_t i = 0; i < RANK; i++)
        memcpy(to + i * size, from + (size_t)channels_last_order(RANK)[i] * size, size);
    return ir_constant_tensor(pass->module, last, out);
}

Error *channels_last_convert_resize(ChannelsLast *pass, IrBinding *resize) {
    IrVariable *inputs[OPERANDS] = {NULL}, **results;
    OWN(Attributes, attributes) = NULL;
    TRY(channels_last_get(pass, ir_operand(resize, 0), &inputs[0]));
    TRY(turned(pass, ir_operand(resize, SCALES), &inputs[SCALES]));
    TRY(turned(pass, ir_operand(resize, SIZES), &inputs[SIZES]));
    TRY(attributes_create(&attributes));
    TRY(attributes_copy_declared(resize->attributes, resize->operator_info, attributes));
    TRY(ir_build_operator(ir_behind(resize), "Resize", attributes, OPERANDS, inputs, 1, &results));
    channels_last_set(pass, resize, 0, results[0]);
    return NULL;
}

/* True if the reduction's axes are constants and name all dimensions of pixels. */
static bool reduces_pixels(const IrBinding *reduce) {
    const IrVariable *axes = ir_operand(reduce, 1);
    const Tensor *tensor = axes ? ir_variable_tensor(axes) : NULL;
    const int64_t rank = reduce->operands[0]->type.rank;
    if (!tensor || tensor->dtype != DTYPE_INT64 ||
        shape_count_unchecked(&tensor->shape) != rank - HEIGHT)
        return false;
    const int64_t *values = tensor_data(tensor);
    uint32_t named = 0;
    for (int64_t i = 0; i < rank - HEIGHT; i++) {
        const int64_t axis = values[i] < 0 ? values[i] + rank : values[i];
        if (axis < HEIGHT || axis >= rank) return false;
        named |= 1u << axis;
    }
    return named == (1u << rank) - (1u << HEIGHT);
}

bool channels_last_takes_mean(const ChannelsLast *pass, const IrBinding *mean) {
    return channels_last_expects(pass, ir_operand(mean, 0)) && reduces_pixels(mean) &&
           attributes_int(mean->attributes, "keepdims") != 0;
}

static bool is_mean(const IrBinding *binding) {
    return binding->kind == IR_OPERATOR && binding->operator_info->id == OPERATOR_REDUCE_MEAN;
}

Error *channels_last_read_mean(ChannelsLast *pass, IrBinding *binding, bool *out_read) {
    static const int64_t pixels[] = {1, 2, 3};
    IrVariable *axes, *made;
    *out_read = is_mean(binding) && channels_last_expects(pass, ir_operand(binding, 0)) &&
                reduces_pixels(binding) && attributes_int(binding->attributes, "keepdims") == 0;
    if (!*out_read) return NULL;
    OWN(Attributes, attributes) = NULL;
    TRY(attributes_create(&attributes));
    TRY(attributes_copy_declared(binding->attributes, binding->operator_info, attributes));
    TRY(constants_ints(pass->module, 1, binding->operands[0]->type.rank - HEIGHT, pixels, &axes));
    TRY(ir_build_simple(ir_behind(binding), "ReduceMean", attributes,
        channels_last_find(pass, binding->operands[0]), axes, NULL, &made));
    made->type = binding->results[0]->type;
    made->name = binding->results[0]->name;
    made->binding->name = binding->name;
    binding->results[0]->replacement = made;
    return NULL;
}
