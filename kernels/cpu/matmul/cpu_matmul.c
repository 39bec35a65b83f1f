/* MatMul, Gemm and FusedMatMul of float32 and, through float32, of float16 and bfloat16. */
#include "kernels/cpu/matmul/cpu_matmul.h"

#include "kernels/cpu/loops/cpu_float_plan.h"
#include "kernels/cpu/matmul/cpu_matmul_narrow.h"

static Error *run(const void *state, const CpuFloatCall *call) {
    const CpuMatmul *matmul = state;
    const CpuMatmulBuffers buffers = {
        .a = call->inputs[0],
        .b = call->inputs[1],
        .bias = matmul->has_bias ? call->inputs[2] : NULL,
        .residual = matmul->has_residual ? call->inputs[3] : NULL,
        .c = call->outputs[0],
        .scratch = call->workspace,
    };
    return (matmul->narrow ? cpu_matmul_run_narrow : cpu_matmul_run)(
        call->device, matmul, &buffers, call->launch);
}

static Error *plan_at(
    Device *device, CpuLevel level, const char *name, const PlanRequest *request, Plan **out) {
    CpuMatmul matmul;
    TRY(cpu_matmul_operands(request, level, DTYPE_FLOAT32, &matmul));
    matmul.narrow = cpu_matmul_is_narrow(&matmul, level);
    cpu_matmul_prepare(&matmul, level);
    void *state;
    TRY(cpu_float_plan_create(device, request, name, sizeof(CpuMatmul), run, out, &state));
    *(CpuMatmul *)state = matmul;
    cpu_float_plan_set_workspace(*out, (uint64_t)cpu_matmul_scratch_count(&matmul) * sizeof(float));
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

#define ROWS(operator_id)                                                                          \
    {operator_id, DTYPES_FLOAT32_AND_HALF, plan_fast, "cpu.matmul", 0}, {                          \
        operator_id, DTYPES_FLOAT32_AND_HALF, plan_portable, "cpu.matmul_portable",                \
            KERNEL_PORTABLE                                                                        \
    }

const Kernel cpu_matmul[] = {
    ROWS(OPERATOR_MATMUL),
    ROWS(OPERATOR_GEMM),
    ROWS(OPERATOR_FUSED_MATMUL),
    KERNELS_END,
};
