/* FusedConv of one group over images [N, H, W, C]: after Winograd where that pays, else directly,
 * by a rule that looks at the weights and attributes alone. Weights that are no constants are
 * packed by every launch: the same bits. */
#include "kernels/cpu/cpu_conv_images.h"

#include "kernels/cpu/cpu_conv_last.h"
#include "kernels/cpu/cpu_float_plan.h"
#include "kernels/cpu/cpu_winograd.h"
#include "kernels/shape_rules/channels_first.h"

static bool takes(
    const OperatorInfo *info, const Attributes *attributes, DType dtype, const Shape *weights) {
    return info->id == OPERATOR_FUSED_CONV && attributes_int(attributes, "channels_last") != 0 &&
           attributes_int(attributes, "group") == 1 && dtype == DTYPE_FLOAT32 &&
           weights->rank == 4 && shape_count_unchecked(weights) > 0;
}

static int64_t packed_count_of(uint32_t layout, const Shape *weights) {
    return layout == CPU_LAYOUT_WINOGRAD ? cpu_winograd_packed_count(weights)
                                         : cpu_conv_last_packed_count(weights);
}

static uint32_t layout_of(
    const CpuDevice *device, const Attributes *attributes, const Shape *weights) {
    return cpu_winograd_takes(&device->rules, attributes, weights) ? CPU_LAYOUT_WINOGRAD
                                                                   : CPU_LAYOUT_CONV_LAST;
}

static void pack(uint32_t layout, const float *plain, const Shape *weights, float *to) {
    if (layout == CPU_LAYOUT_WINOGRAD)
        cpu_winograd_pack(plain, weights, to);
    else
        cpu_conv_last_pack(plain, weights, to);
}

bool cpu_conv_images_pack_rule(const CpuDevice *device, const PackRequest *request,
    uint32_t *out_layout, uint64_t *out_bytes) {
    const TensorSpec *weights = &request->constant;
    if (device->portable_only || request->input_index != 1 ||
        !takes(request->operator_info, request->attributes, weights->dtype, &weights->shape))
        return false;
    *out_layout = layout_of(device, request->attributes, &weights->shape);
    *out_bytes = (uint64_t)packed_count_of(*out_layout, &weights->shape) * sizeof(float);
    return true;
}

bool cpu_conv_images_pack(const CpuDevice *device, const PackRequest *request, uint32_t layout,
    const float *plain, float *to) {
    const TensorSpec *weights = &request->constant;
    if (request->input_index != 1 ||
        !takes(request->operator_info, request->attributes, weights->dtype, &weights->shape) ||
        layout != layout_of(device, request->attributes, &weights->shape))
        return false;
    pack(layout, plain, &weights->shape, to);
    return true;
}

typedef struct ImagesState {
    uint32_t layout;      /* of packed weights: how it is computed, too */
    int64_t packed_count; /* floats at the workspace's start; 0: the weights come packed */
    Shape weights;
    CpuConvLast direct;
    CpuWinograd transformed;
} ImagesState;

static Error *run(const void *opaque, const CpuFloatCall *call, bool *out_abandoned) {
    const ImagesState *state = opaque;
    const bool has_bias = state->direct.has_bias, has_residual = state->direct.has_residual;
    const float *w = call->inputs[1], *bias = has_bias ? call->inputs[2] : NULL;
    const float *residual = has_residual ? call->inputs[3] : NULL;
    float *scratch = call->workspace; /* NULL where nothing is needed */
    if (cpu_conv_last_units(&state->direct) == 0) return NULL;
    if (state->packed_count > 0) {
        float *packed = scratch;
        scratch += state->packed_count;
        pack(state->layout, w, &state->weights, packed);
        w = packed;
    }
    const CpuConvLastBuffers buffers = {
        call->inputs[0], w, bias, residual, call->outputs[0], scratch};
    if (state->layout == CPU_LAYOUT_WINOGRAD)
        return cpu_winograd_run(
            call->device, &state->transformed, &buffers, call->launch, out_abandoned);
    return cpu_conv_last_run(call->device, &state->direct, &buffers, call->launch, out_abandoned);
}

static Error *conv_of(const PlanRequest *request, CpuLevel level, CpuConvLast *out) {
    ChannelsFirst first;
    channels_first_of(request, &first);
    const Shape *x = &first.inputs[0].shape, *w = &first.inputs[1].shape;
    *out = (CpuConvLast){
        .images = x->dims[0],
        .channels = x->dims[1],
        .filters = w->dims[0],
        .has_bias = plan_request_has(request, 2),
        .has_residual = plan_request_has(request, 3),
    };
    TRY(window_of(&first.request, &out->window));
    TRY(cpu_epilogue_of(request, level, DTYPE_FLOAT32, &out->epilogue));
    if (shape_count_unchecked(&request->outputs[0].shape) > 0) cpu_conv_last_prepare(out, level);
    return NULL;
}

static CpuWinograd winograd_of(const CpuConvLast *conv, CpuLevel level) {
    CpuWinograd made = {
        .window = conv->window,
        .images = conv->images,
        .channels = conv->channels,
        .filters = conv->filters,
        .has_bias = conv->has_bias,
        .has_residual = conv->has_residual,
        .epilogue = conv->epilogue,
    };
    cpu_winograd_prepare(&made, level);
    return made;
}

/* In order: weights that are packed here, the kernel's own. */
static uint64_t workspace_bytes(const CpuDevice *cpu, const ImagesState *state) {
    const uint64_t units = cpu_conv_last_units(&state->direct);
    const int64_t parts = cpu_part_count(cpu, cpu->threads_max, units, 1);
    const int64_t scratch = state->layout == CPU_LAYOUT_WINOGRAD
                                ? cpu_winograd_scratch_count(cpu, &state->transformed)
                                : parts * cpu_conv_last_scratch_count(&state->direct);
    return (uint64_t)(state->packed_count + scratch) * sizeof(float);
}

static Error *plan(Device *device, const PlanRequest *request, Plan **out) {
    CpuDevice *cpu = cpu_device(device);
    const TensorSpec *weights = &request->inputs[1];
    if (!takes(request->operator_info, request->attributes, weights->dtype, &weights->shape))
        return cpu_decline(out);
    ImagesState made = {
        .layout = layout_of(cpu, request->attributes, &weights->shape), .weights = weights->shape};
    const bool winograd = made.layout == CPU_LAYOUT_WINOGRAD;
    TRY(conv_of(request, cpu->level, &made.direct));
    if (cpu_conv_last_units(&made.direct) > 0) {
        if (winograd) made.transformed = winograd_of(&made.direct, cpu->level);
        if (weights->layout == CPU_LAYOUT_PLAIN)
            made.packed_count = packed_count_of(made.layout, &weights->shape);
    }
    void *state;
    TRY(cpu_float_plan_create(device, request, winograd ? "cpu.winograd" : "cpu.conv_last",
        sizeof(ImagesState), run, out, &state));
    *(ImagesState *)state = made;
    if (cpu_conv_last_units(&made.direct) > 0)
        cpu_float_plan_set_workspace(*out, workspace_bytes(cpu, &made));
    return NULL;
}

const Kernel cpu_conv_images[] = {
    {OPERATOR_FUSED_CONV, DTYPE_BIT(DTYPE_FLOAT32), plan, "cpu.conv_last", 0},
    KERNELS_END,
};
