/* Conv and FusedConv of float32 and, through float32, of float16 and bfloat16. Pointwise ones are
 * matrix products over the image in place, depthwise ones sums of shifted planes, all others are
 * gathered. Images with their channels last for which oneDNN has no kernel are transposed to
 * channels first and back. */
#include <string.h>

#include "kernels/cpu/conv/cpu_conv_depthwise.h"
#include "kernels/cpu/movement/cpu_copy.h"
#include "kernels/cpu/dnnl/cpu_dnnl.h"
#include "kernels/cpu/loops/cpu_float_plan.h"
#include "kernels/cpu/core/cpu_internal.h"
#include "kernels/cpu/core/cpu_layouts.h"
#include "kernels/arguments/channels_first.h"

typedef enum ConvWay { CONV_GATHERED, CONV_POINTWISE, CONV_DEPTHWISE } ConvWay;

typedef struct ConvState {
    ConvWay way;
    CpuConv conv;
    CpuMatmul matmul; /* CONV_POINTWISE */
    int64_t output_count;
    bool unpacks; /* the weights are in oneDNN's form, but oneDNN has no kernel for this image */
    dnnl_memory_desc_t packed_form;
    bool reorders;        /* channels last */
    CpuCopy enter, leave; /* enter: of the source; leave: of the result, whose way back is `back` */
    CpuCopy back;         /* of the residual */
    int64_t weight_count,
        source_count; /* floats in the workspace, in this order; the result has two buffers */
} ConvState;

static Error *run_conv(
    const ConvState *state, const CpuConvBuffers *buffers, const CpuFloatCall *call) {
    if (state->way == CONV_DEPTHWISE)
        return cpu_conv_depthwise_run(call->device, &state->conv, buffers, call->launch);
    if (state->way == CONV_GATHERED)
        return cpu_conv_run(call->device, &state->conv, buffers, call->launch);
    const CpuMatmulBuffers matrices = {
        .a = buffers->w,
        .b = buffers->x,
        .bias = buffers->bias,
        .residual = buffers->residual,
        .c = buffers->y,
    };
    return cpu_matmul_run(call->device, &state->matmul, &matrices, call->launch);
}

static Error *run_reordered(
    const ConvState *state, CpuConvBuffers *buffers, const CpuFloatCall *call) {
    float *source = (float *)call->workspace + state->weight_count;
    float *result = source + state->source_count, *residual = result + state->output_count;
    const uint32_t threads = call->launch->threads;
    TRY(cpu_copy_run(call->device, threads, &state->enter, source, buffers->x));
    if (buffers->residual) {
        TRY(cpu_copy_run(call->device, threads, &state->back, residual, buffers->residual));
        buffers->residual = residual;
    }
    buffers->x = source;
    buffers->y = result;
    TRY(run_conv(state, buffers, call));
    return cpu_copy_run(call->device, threads, &state->leave, call->outputs[0], result);
}

static Error *run(const void *opaque, const CpuFloatCall *call) {
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
    if (state->reorders) return run_reordered(state, &buffers, call);
    return run_conv(state, &buffers, call);
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

/* True for steps of 1 without padding: output pixel i is a product over input pixel i. */
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

/* The copy from [N, pixels, C] to [N, C, pixels], or back. */
static void reorder_of(const Shape *first, bool back, CpuCopy *out) {
    const int64_t images = first->dims[0], channels = first->dims[1];
    const int64_t pixels = shape_product(first, 2, first->rank);
    const int64_t to_first[] = {images, channels, pixels};
    const int64_t to_last[] = {images, pixels, channels};
    const int64_t planes[] = {channels * pixels, pixels, 1},
                  rows[] = {channels * pixels, 1, channels};
    const int64_t planes_back[] = {planes[0], 1, pixels}, rows_back[] = {planes[0], channels, 1};
    if (back)
        cpu_copy_make(3, to_last, planes_back, 0, rows_back, 0, sizeof(float), out);
    else
        cpu_copy_make(3, to_first, rows, 0, planes, 0, sizeof(float), out);
}

static void set_reorders(const PlanRequest *first, ConvState *conv) {
    const Shape *source = &first->inputs[0].shape, *result = &first->outputs[0].shape;
    conv->reorders = true;
    conv->source_count = shape_count_unchecked(source);
    reorder_of(source, false, &conv->enter);
    reorder_of(result, false, &conv->back);
    reorder_of(result, true, &conv->leave);
}

static Error *plan_at(
    Device *device, CpuLevel level, const char *name, const PlanRequest *given, Plan **out) {
    ChannelsFirst first;
    const PlanRequest *request = given;
    if (channels_last_is(given)) {
        channels_first_of(given, &first);
        request = &first.request;
    }
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
    if (conv.unpacks) conv.weight_count = shape_count_unchecked(&request->inputs[1].shape);
    if (request != given && conv.output_count > 0) set_reorders(request, &conv);
    void *state;
    TRY(cpu_float_plan_create(device, given, name, sizeof(ConvState), run, out, &state));
    *(ConvState *)state = conv;
    const int64_t results = conv.reorders ? 2 * conv.output_count : 0;
    cpu_float_plan_set_workspace(
        *out, (uint64_t)(conv.weight_count + conv.source_count + results) * sizeof(float));
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
