/* MatMul, Gemm and FusedMatMul. */
#include "kernels/cuda/planners/cuda_matmul.h"

#include <math.h>
#include <string.h>

#include "kernels/cpu/matmul/cpu_matmul.h"

CudaEpilogue cuda_epilogue_of(const CpuEpilogue *epilogue) {
    return (CudaEpilogue){.alpha = epilogue->alpha,
        .bias_scale = epilogue->bias_scale,
        .activation_alpha = epilogue->parameters.alpha,
        .activation_beta = epilogue->parameters.beta,
        .activation = epilogue->activation};
}

enum { VECTOR_ROWS_MAX = 8 /* fewer rows than this fill too little of a tile */ };

static uint64_t parts(int64_t count, int64_t size) { return (uint64_t)((count + size - 1) / size); }

Error *cuda_matmul_run(const Plan *plan, const Launch *launch, const CudaMatmulParams *params) {
    const bool wide = params->dtype == DTYPE_FLOAT64, real = dtype_is_float((DType)params->dtype);
    if (real && !wide && params->rows <= VECTOR_ROWS_MAX) {
        const bool turned = params->b_column != 1;
        const int64_t width = turned ? CUDA_MATVEC_WIDTH_TURNED : CUDA_MATVEC_WIDTH;
        return cuda_run_blocks(plan, launch, CUDA_KERNEL_MATVEC_F32,
            params->batches * (uint64_t)params->rows * parts(params->columns, width), params,
            sizeof *params);
    }
    CudaKernelId kernel = wide ? CUDA_KERNEL_MATMUL_F64 : CUDA_KERNEL_MATMUL_F32;
    if (!real) kernel = CUDA_KERNEL_MATMUL_U64;
    const uint64_t tiles =
        parts(params->columns, CUDA_MATMUL_TILE) * parts(params->rows, CUDA_MATMUL_TILE);
    return cuda_run_blocks(plan, launch, kernel, params->batches * tiles, params, sizeof *params);
}

typedef struct State {
    CudaMatmulParams params;
    bool has_bias, has_residual;
} State;

static Error *launch_matmul(const Plan *plan, const Launch *launch, const Shape *output_shapes) {
    const State *state = plan_state(plan);
    CudaMatmulParams params = state->params;
    (void)output_shapes;
    params.a = launch->inputs[0];
    params.b = launch->inputs[1];
    params.c = launch->outputs[0];
    if (state->has_bias) params.epilogue.bias = launch->inputs[2];
    if (state->has_residual) params.epilogue.residual = launch->inputs[3];
    return cuda_matmul_run(plan, launch, &params);
}

/* Integers are scaled by integers only. */
static bool is_whole(double scale) { return fabs(scale) <= 0x1p53 && scale == trunc(scale); }

static void place(CudaMatmulParams *params, const CpuMatmul *matmul) {
    params->rows = matmul->rows;
    params->columns = matmul->columns;
    params->depth = matmul->depth;
    params->a_row = matmul->a_row;
    params->a_column = matmul->a_column;
    params->b_row = matmul->b_row;
    params->b_column = matmul->b_column;
    params->bias_row = matmul->bias_row;
    params->bias_column = matmul->bias_column;
    params->batches = (uint64_t)matmul->batch_count;
    params->batch_rank = matmul->batch.rank;
    memcpy(params->batch_dims, matmul->batch.dims, sizeof params->batch_dims);
    memcpy(params->a_batch, matmul->a_batch, sizeof params->a_batch);
    memcpy(params->b_batch, matmul->b_batch, sizeof params->b_batch);
    memcpy(params->bias_batch, matmul->bias_batch, sizeof params->bias_batch);
    params->epilogue = cuda_epilogue_of(&matmul->epilogue);
    if (params->batch_rank > 0) return;
    params->batch_rank = 1;
    params->batch_dims[0] = 1;
    params->a_batch[0] = params->b_batch[0] = params->bias_batch[0] = 0;
}

static Error *plan_matmul(Device *device, const PlanRequest *request, Plan **out) {
    const DType dtype = request->inputs[0].dtype;
    const bool wide = dtype == DTYPE_FLOAT64;
    CpuMatmul matmul;
    TRY(cpu_matmul_operands(
        request, CPU_LEVEL_PORTABLE, wide ? DTYPE_FLOAT64 : DTYPE_FLOAT32, &matmul));
    if (!dtype_is_float(dtype) &&
        !(is_whole(matmul.epilogue.alpha) && is_whole(matmul.epilogue.bias_scale)))
        return cuda_decline(out);
    TRY(plan_create(device, request, "cuda.matmul", sizeof(State), out));
    State *state = plan_state(*out);
    place(&state->params, &matmul);
    state->params.dtype = dtype;
    state->has_bias = matmul.has_bias;
    state->has_residual = matmul.has_residual;
    (*out)->launch = launch_matmul;
    return NULL;
}

#define DTYPES_WRAPPING                                                                            \
    (DTYPE_BIT(DTYPE_INT32) | DTYPE_BIT(DTYPE_INT64) | DTYPE_BIT(DTYPE_UINT32) |                   \
        DTYPE_BIT(DTYPE_UINT64))
const Kernel cuda_matmul[] = {
    {OPERATOR_MATMUL, DTYPES_FLOAT | DTYPES_WRAPPING, plan_matmul, "cuda.matmul", 0},
    {OPERATOR_GEMM, DTYPES_FLOAT | DTYPES_WRAPPING, plan_matmul, "cuda.matmul", 0},
    {OPERATOR_FUSED_MATMUL, DTYPES_FLOAT, plan_matmul, "cuda.matmul", 0},
    KERNELS_END,
};
