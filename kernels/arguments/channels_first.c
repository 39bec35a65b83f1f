#include "kernels/arguments/channels_first.h"

enum { IMAGE = 0, RESIDUAL = 3 };

void channels_first_shape(const Shape *last, Shape *out) {
    Shape first = *last;
    if (last->rank >= 3) {
        first.dims[1] = last->dims[last->rank - 1];
        for (uint32_t i = 2; i < last->rank; i++) first.dims[i] = last->dims[i - 1];
    }
    *out = first;
}

void channels_last_shape(const Shape *first, Shape *out) {
    Shape last = *first;
    if (first->rank >= 3) {
        last.dims[first->rank - 1] = first->dims[1];
        for (uint32_t i = 2; i < first->rank; i++) last.dims[i - 1] = first->dims[i];
    }
    *out = last;
}

bool channels_last_is(const PlanRequest *request) {
    const OperatorId id = request->operator_info->id;
    return (id == OPERATOR_FUSED_CONV || id == OPERATOR_FUSED_QLINEAR_CONV) &&
           attributes_int(request->attributes, "channels_last") != 0;
}

void channels_first_of(const PlanRequest *request, ChannelsFirst *out) {
    const bool has_residual = request->operator_info->id != OPERATOR_FUSED_QLINEAR_CONV;
    out->request = *request;
    for (uint32_t i = 0; i < CHANNELS_FIRST_INPUTS_MAX && i < request->input_count; i++) {
        out->inputs[i] = request->inputs[i];
        if (i == IMAGE || (i == RESIDUAL && has_residual))
            channels_first_shape(&request->inputs[i].shape, &out->inputs[i].shape);
    }
    channels_first_shape(&request->outputs[0].shape, &out->request.outputs[0].shape);
    out->request.inputs = out->inputs;
}
