/* Conv and FusedConv of float32, float16 and bfloat16. Pointwise ones are matrix products over the
 * image as it lies; depthwise ones have a kernel of their own; 3 × 3 with step 1 are transformed
 * (Winograd); all others are gathered. The half types are widened first and rounded once at the
 * end. */
#include <string.h>

#include "kernels/cpu/cpu_conv_kernel.h"
#include "kernels/cpu/cpu_widen.h"

typedef enum ConvWay { CONV_GATHERED, CONV_POINTWISE } ConvWay;

enum { OPERANDS = 4 }; /* X, W, bias, residual */

typedef struct ConvState {
    ConvWay way;
    DType dtype;
    CpuConv conv;
    CpuMatmul matmul;         /* CONV_POINTWISE */
    int64_t counts[OPERANDS]; /* elements; 0: absent */
    int64_t output_count;
} ConvState;

/* Floats a block takes in the workspace, so that the next one stays aligned. */
static int64_t block_count(int64_t count) { return (count + 15) / 16 * 16; }

static Error *run(
    const Plan *plan, const Launch *launch, const CpuConvBuffers *buffers, bool *out_abandoned) {
    const ConvState *state = plan_state(plan);
    CpuDevice *device = cpu_device(plan->device);
    if (state->output_count == 0) return NULL;
    if (state->way == CONV_GATHERED)
        return cpu_conv_run(device, &state->conv, buffers, launch, out_abandoned);
    const CpuMatmulBuffers matrices = {
        .a = buffers->w,
        .b = buffers->x,
        .bias = buffers->bias,
        .residual = buffers->residual,
        .c = buffers->y,
    };
    return cpu_matmul_run(device, &state->matmul, &matrices, launch, out_abandoned);
}

static Error *launch_float32(
    const Plan *plan, const Launch *launch, const Shape *output_shapes, bool *out_abandoned) {
    (void)output_shapes;
    const ConvState *state = plan_state(plan);
    const CpuConvBuffers buffers = {
        .x = cpu_input(launch, 0),
        .w = cpu_input(launch, 1),
        .bias = state->conv.has_bias ? cpu_input(launch, 2) : NULL,
        .residual = state->conv.has_residual ? cpu_input(launch, 3) : NULL,
        .y = cpu_output(launch, 0),
    };
    return run(plan, launch, &buffers, out_abandoned);
}

static Error *launch_half(
    const Plan *plan, const Launch *launch, const Shape *output_shapes, bool *out_abandoned) {
    (void)output_shapes;
    const ConvState *state = plan_state(plan);
    CpuDevice *device = cpu_device(plan->device);
    float *next = cpu_workspace(launch);
    const float *operands[OPERANDS] = {0};
    for (uint32_t i = 0; i < OPERANDS; i++) {
        if (state->counts[i] == 0) continue;
        TRY(cpu_widen(
            device, launch->threads, state->dtype, cpu_input(launch, i), state->counts[i], next));
        operands[i] = next;
        next += block_count(state->counts[i]);
    }
    const CpuConvBuffers buffers = {operands[0], operands[1], operands[2], operands[3], next};
    TRY(run(plan, launch, &buffers, out_abandoned));
    if (*out_abandoned || state->output_count == 0) return NULL;
    return cpu_narrow(device, launch->threads, state->dtype, buffers.y, state->output_count,
        cpu_output(launch, 0));
}

static bool is_given(const PlanRequest *request, uint32_t index) {
    return index < request->input_count && request->inputs[index].present;
}

static Error *conv_of(const PlanRequest *request, CpuConv *out) {
    const Shape *x = &request->inputs[0].shape, *w = &request->inputs[1].shape;
    CpuConv conv = {
        .batch = x->dims[0],
        .groups = attributes_int(request->attributes, "group"),
        .has_bias = is_given(request, 2),
        .has_residual = is_given(request, 3),
        .epilogue = {.alpha = 1, .bias_scale = 1},
    };
    TRY(cpu_window_of(
        request->attributes, x, &request->outputs[0].shape, w->dims + 2, false, &conv.window));
    conv.channels = w->dims[1];
    conv.filters = w->dims[0] / conv.groups;
    if (request->operator_info->id == OPERATOR_FUSED_CONV) {
        const Attributes *attributes = request->attributes;
        TRY(activation_of(attributes, &conv.epilogue.activation));
        conv.epilogue.activation_alpha = (float)attributes_float(attributes, "activation_alpha");
        conv.epilogue.activation_beta = (float)attributes_float(attributes, "activation_beta");
    }
    *out = conv;
    return NULL;
}

/* y[n, g] = w[g] [M, C] x[n, g] [C, pixels] */
static CpuMatmul matmul_of(const CpuConv *conv) {
    const int64_t pixels = conv->window.output_count;
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
    CpuConv conv;
    TRY(conv_of(request, &conv));
    OWN(Plan, plan) = NULL;
    TRY(plan_create(device, request, name, sizeof(ConvState), &plan));
    ConvState *state = plan_state(plan);
    cpu_conv_prepare(&conv, level);
    state->conv = conv;
    state->dtype = request->inputs[0].dtype;
    state->output_count = shape_count_unchecked(&request->outputs[0].shape);
    /* without channels every sum is empty, which only the gathering kernel takes */
    if (cpu_window_is_pointwise(&conv.window) && conv.channels > 0) {
        state->way = CONV_POINTWISE;
        state->matmul = matmul_of(&conv);
        cpu_matmul_prepare(&state->matmul, level);
    }
    plan->launch = launch_float32;
    if (state->dtype != DTYPE_FLOAT32) {
        plan->launch = launch_half;
        int64_t floats = block_count(state->output_count);
        for (uint32_t i = 0; i < request->input_count && i < OPERANDS; i++) {
            if (!request->inputs[i].present) continue;
            state->counts[i] = shape_count_unchecked(&request->inputs[i].shape);
            floats += block_count(state->counts[i]);
        }
        plan->workspace_bytes = (uint64_t)floats * sizeof(float);
    }
    *out = TAKE(plan);
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

#define DTYPES_CONV                                                                                \
    (DTYPE_BIT(DTYPE_FLOAT32) | DTYPE_BIT(DTYPE_FLOAT16) | DTYPE_BIT(DTYPE_BFLOAT16))

const Kernel cpu_conv[] = {
    {OPERATOR_CONV, DTYPES_CONV, plan_fast, "cpu.conv", 0},
    {OPERATOR_CONV, DTYPES_CONV, plan_portable, "cpu.conv_portable", KERNEL_PORTABLE},
    {OPERATOR_FUSED_CONV, DTYPES_CONV, plan_fast, "cpu.conv", 0},
    {OPERATOR_FUSED_CONV, DTYPES_CONV, plan_portable, "cpu.conv_portable", KERNEL_PORTABLE},
    KERNELS_END,
};
