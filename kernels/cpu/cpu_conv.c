/* Conv and FusedConv of float32 and, through float32, of float16 and bfloat16. Pointwise ones are
 * matrix products over the image as it lies, depthwise ones sums of shifted planes, all others are
 * gathered. */
#include <string.h>

#include "kernels/cpu/cpu_conv_depthwise.h"
#include "kernels/cpu/cpu_dnnl.h"
#include "kernels/cpu/cpu_float_plan.h"
#include "kernels/cpu/cpu_pack.h"

typedef enum ConvWay { CONV_GATHERED, CONV_POINTWISE, CONV_DEPTHWISE } ConvWay;

typedef struct ConvState {
    ConvWay way;
    CpuConv conv;
    CpuMatmul matmul; /* CONV_POINTWISE */
    int64_t output_count;
    bool unpacks; /* the weights come in oneDNN's form, but it has nothing for this image */
    dnnl_memory_desc_t packed_form;
} ConvState;

static Error *run(const void *opaque, const CpuFloatCall *call, bool *out_abandoned) {
    const ConvState *state = opaque;
    if (state->output_count == 0) return NULL;
    CpuConvBuffers buffers = {
        .x = call->inputs[0],
        .w = call->inputs[1],
        .bias = state->conv.has_bias ? call->inputs[2] : NULL,
        .residual = state->conv.has_residual ? call->inputs[3] : NULL,
        .y = call->outputs[0],
    };
    if (state->unpacks) {
        cpu_dnnl_conv_unpack(&state->packed_form, buffers.w, call->workspace);
        buffers.w = call->workspace;
    }
    if (state->way == CONV_DEPTHWISE)
        return cpu_conv_depthwise_run(
            call->device, &state->conv, &buffers, call->launch, out_abandoned);
    if (state->way == CONV_GATHERED)
        return cpu_conv_run(call->device, &state->conv, &buffers, call->launch, out_abandoned);
    const CpuMatmulBuffers matrices = {
        .a = buffers.w,
        .b = buffers.x,
        .bias = buffers.bias,
        .residual = buffers.residual,
        .c = buffers.y,
    };
    return cpu_matmul_run(call->device, &state->matmul, &matrices, call->launch, out_abandoned);
}

static Error *conv_of(const PlanRequest *request, CpuLevel level, CpuConv *out) {
    const Shape *x = &request->inputs[0].shape, *w = &request->inputs[1].shape;
    CpuConv conv = {
        .batch = x->dims[0],
        .groups = attributes_int(request->attributes, "group"),
        .channels = w->dims[1],
        .has_bias = plan_request_has(request, 2),
        .has_residual = plan_request_has(request, 3),
        .input_count = shape_product(x, 2, x->rank),
        .output_count = shape_product(&request->outputs[0].shape, 2, x->rank),
        .kernel_count = shape_product(w, 2, w->rank),
    };
    conv.filters = w->dims[0] / conv.groups;
    TRY(window_of(request, &conv.window));
    TRY(cpu_epilogue_of(request, level, DTYPE_FLOAT32, &conv.epilogue));
    *out = conv;
    return NULL;
}

/* One element a step, nothing padded: output pixel i is a product over input pixel i. */
static bool is_pointwise(const Window *window) {
    for (uint32_t i = 0; i < window->rank; i++)
        if (window->kernel[i] != 1 || window->stride[i] != 1 || window->pad_begin[i] != 0 ||
            window->output[i] != window->input[i])
            return false;
    return true;
}

/* y[n, g] = w[g] [M, C] x[n, g] [C, pixels] */
static CpuMatmul matmul_of(const CpuConv *conv) {
    const int64_t pixels = conv->output_count;
    return (CpuMatmul){
        .rows = conv->filters,
        .columns = pixels,
        .depth = conv->channels,
        .a_row = conv->channels,
        .a_column = 1,
        .b_row = pixels,
        .b_column = 1,
        .has_bias = conv->has_bias,
        .has_residual = conv->has_residual,
        .batch = {2, {conv->batch, conv->groups}},
        .batch_count = conv->batch * conv->groups,
        .a_batch = {0, conv->filters * conv->channels},
        .b_batch = {conv->groups * conv->channels * pixels, conv->channels * pixels},
        .bias_batch = {0, conv->filters},
        .bias_row = 1,
        .epilogue = conv->epilogue,
    };
}

static Error *plan_at(
    Device *device, CpuLevel level, const char *name, const PlanRequest *request, Plan **out) {
    ConvState conv = {.output_count = shape_count_unchecked(&request->outputs[0].shape)};
    conv.unpacks = request->inputs[1].layout == CPU_LAYOUT_DNNL;
    if (conv.unpacks)
        TRY(cpu_dnnl_conv_form(
            cpu_device(device), request->attributes, &request->inputs[1].shape, &conv.packed_form));
    TRY(conv_of(request, level, &conv.conv));
    cpu_conv_prepare(&conv.conv, level);
    if (cpu_conv_is_depthwise(&conv.conv)) {
        conv.way = CONV_DEPTHWISE;
    } else if (is_pointwise(&conv.conv.window)) {
        conv.way = CONV_POINTWISE;
        conv.matmul = matmul_of(&conv.conv);
        cpu_matmul_prepare(&conv.matmul, level);
    }
    void *state;
    TRY(cpu_float_plan_create(device, request, name, sizeof(ConvState), run, out, &state));
    *(ConvState *)state = conv;
    if (conv.unpacks)
        cpu_float_plan_set_workspace(
            *out, (uint64_t)shape_count_unchecked(&request->inputs[1].shape) * sizeof(float));
    return NULL;
}

static Error *plan_fast(Device *device, const PlanRequest *request, Plan **out) {
    const CpuLevel level = cpu_device(device)->level;
    if (level == CPU_LEVEL_PORTABLE) return cpu_decline(out);
    return plan_at(device, level, "cpu.conv", request, out);
}

static Error *plan_portable(Device *device, const PlanRequest *request, Plan **out) {
    return plan_at(device, CPU_LEVEL_PORTABLE, "cpu.conv_portable", request, out);
}

#define ROWS(operator_id)                                                                          \
    {operator_id, DTYPES_FLOAT32_AND_HALF, plan_fast, "cpu.conv", 0}, {                            \
        operator_id, DTYPES_FLOAT32_AND_HALF, plan_portable, "cpu.conv_portable", KERNEL_PORTABLE  \
    }

const Kernel cpu_conv[] = {
    ROWS(OPERATOR_CONV),
    ROWS(OPERATOR_FUSED_CONV),
    KERNELS_END,
};
