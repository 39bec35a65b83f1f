/* MatMul, Gemm and FusedMatMul of float32, float16 and bfloat16. The half types are widened to
 * float32, summed there, and rounded once at the end. */
#include "kernels/cpu/cpu_matmul.h"

#include "kernels/cpu/cpu_pack.h"
#include "kernels/cpu/cpu_widen.h"

typedef struct MatmulState {
    CpuMatmul matmul;
    uint32_t bias_index, residual_index;
    DType dtype;
    /* for half types: elements of each operand to be widened, 0 for none */
    int64_t widened[4];
    int64_t output_count;
    int64_t scratch_count;
} MatmulState;

static const float zero_operand = 0; /* stands for matrices of depth 0, which have no address */

static Error *launch_float32(
    const Plan *plan, const Launch *launch, const Shape *output_shapes, bool *out_abandoned) {
    (void)output_shapes;
    const MatmulState *state = plan_state(plan);
    CpuMatmulBuffers buffers = {
        .a = cpu_input(launch, 0),
        .b = cpu_input(launch, 1),
        .bias = state->matmul.has_bias ? cpu_input(launch, state->bias_index) : NULL,
        .residual = state->matmul.has_residual ? cpu_input(launch, state->residual_index) : NULL,
        .c = cpu_output(launch, 0),
        .scratch = cpu_workspace(launch),
    };
    if (state->matmul.depth == 0) buffers.a = buffers.b = &zero_operand;
    return cpu_matmul_run(
        cpu_device(plan->device), &state->matmul, &buffers, launch, out_abandoned);
}

/* Floats a block takes in the workspace, so that the next one stays aligned. */
static int64_t block_count(int64_t count) { return (count + 15) / 16 * 16; }

static Error *launch_half(
    const Plan *plan, const Launch *launch, const Shape *output_shapes, bool *out_abandoned) {
    (void)output_shapes;
    const MatmulState *state = plan_state(plan);
    CpuDevice *device = cpu_device(plan->device);
    float *next = cpu_workspace(launch);
    const float *operands[4] = {0};
    for (uint32_t i = 0; i < 4; i++) {
        if (state->widened[i] == 0) continue;
        TRY(cpu_widen(
            device, launch->threads, state->dtype, cpu_input(launch, i), state->widened[i], next));
        operands[i] = next;
        next += block_count(state->widened[i]);
    }
    if (state->matmul.b_packed) operands[1] = cpu_input(launch, 1);
    if (state->matmul.depth == 0) operands[0] = operands[1] = &zero_operand;
    CpuMatmulBuffers buffers = {
        .a = operands[0],
        .b = operands[1],
        .bias = operands[2],
        .residual = operands[3],
        .c = next,
        .scratch = next + block_count(state->output_count),
    };
    TRY(cpu_matmul_run(device, &state->matmul, &buffers, launch, out_abandoned));
    if (*out_abandoned || state->output_count == 0) return NULL;
    return cpu_narrow(device, launch->threads, state->dtype, buffers.c, state->output_count,
        cpu_output(launch, 0));
}

static Error *plan_at(
    Device *device, CpuLevel level, const char *name, const PlanRequest *request, Plan **out) {
    CpuMatmulOperands operands;
    TRY(cpu_matmul_operands(request, &operands));
    OWN(Plan, plan) = NULL;
    TRY(plan_create(device, request, name, sizeof(MatmulState), &plan));
    MatmulState *state = plan_state(plan);
    state->matmul = operands.matmul;
    state->bias_index = operands.bias_index;
    state->residual_index = operands.residual_index;
    state->dtype = request->inputs[0].dtype;
    cpu_matmul_prepare(&state->matmul, level);
    state->scratch_count = cpu_matmul_scratch_count(&state->matmul);
    state->output_count = shape_count_unchecked(&request->outputs[0].shape);
    plan->launch = launch_float32;
    int64_t floats = state->scratch_count;
    if (state->dtype != DTYPE_FLOAT32) {
        plan->launch = launch_half;
        for (uint32_t i = 0; i < request->input_count && i < 4; i++) {
            if (!request->inputs[i].present || request->inputs[i].layout != CPU_LAYOUT_PLAIN)
                continue;
            if (i == 2 && !state->matmul.has_bias) continue;
            state->widened[i] = shape_count_unchecked(&request->inputs[i].shape);
            floats += block_count(state->widened[i]);
        }
        floats += block_count(state->output_count);
    }
    plan->workspace_bytes = (uint64_t)floats * sizeof(float);
    *out = TAKE(plan);
    return NULL;
}

static Error *plan_fast(Device *device, const PlanRequest *request, Plan **out) {
    const CpuLevel level = cpu_device(device)->level;
    if (level == CPU_LEVEL_PORTABLE) return cpu_decline(out);
    return plan_at(device, level, "cpu.matmul", request, out);
}

static Error *plan_portable(Device *device, const PlanRequest *request, Plan **out) {
    return plan_at(device, CPU_LEVEL_PORTABLE, "cpu.matmul_portable", request, out);
}

#define DTYPES_MATMUL                                                                              \
    (DTYPE_BIT(DTYPE_FLOAT32) | DTYPE_BIT(DTYPE_FLOAT16) | DTYPE_BIT(DTYPE_BFLOAT16))

const Kernel cpu_matmul[] = {
    {OPERATOR_MATMUL, DTYPES_MATMUL, plan_fast, "cpu.matmul", 0},
    {OPERATOR_MATMUL, DTYPES_MATMUL, plan_portable, "cpu.matmul_portable", KERNEL_PORTABLE},
    {OPERATOR_GEMM, DTYPES_MATMUL, plan_fast, "cpu.matmul", 0},
    {OPERATOR_GEMM, DTYPES_MATMUL, plan_portable, "cpu.matmul_portable", KERNEL_PORTABLE},
    {OPERATOR_FUSED_MATMUL, DTYPES_MATMUL, plan_fast, "cpu.matmul", 0},
    {OPERATOR_FUSED_MATMUL, DTYPES_MATMUL, plan_portable, "cpu.matmul_portable", KERNEL_PORTABLE},
    KERNELS_END,
};
