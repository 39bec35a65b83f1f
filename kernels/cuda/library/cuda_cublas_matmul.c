/* MatMul, Gemm and FusedMatMul by cuBLASLt, with the epilogues that it has: a bias for each column,
 * or an addend of the output's shape, or both, and relu or the tanh form of gelu. Other requests
 * are declined, and the next tables' kernels take them. */
#include "kernels/cpu/matmul/cpu_matmul.h"
#include "kernels/cuda/library/cuda_cublas.h"
#include "kernels/cuda/library/cuda_library_plan.h"
#include "kernels/cuda/runtime/cuda_stream.h"

enum { BIAS = CUDA_LIBRARY_BIAS, RESIDUAL = CUDA_LIBRARY_RESIDUAL };

typedef struct State {
    CudaLibraryState base;
    CudaCublasProduct product;
    bool has_bias;  /* input 2 has one element for each column */
    uint32_t added; /* index of the input to add; 0: none */
} State;

/* ---- operands that the library can read ---- */

/* Rows and columns at those strides, seen by columns; false when neither way round fits. */
static bool matrix_of(
    int64_t rows, int64_t columns, int64_t row, int64_t column, CudaCublasMatrix *out) {
    bool plain = (column == 1 || columns == 1) && (rows == 1 || row >= columns);
    bool turned = (row == 1 || rows == 1) && (columns == 1 || column >= rows);
    if (plain)
        *out = (CudaCublasMatrix){
            (uint64_t)columns, (uint64_t)rows, rows == 1 ? columns : row, 0, false};
    else if (turned)
        *out = (CudaCublasMatrix){
            (uint64_t)rows, (uint64_t)columns, columns == 1 ? rows : column, 0, true};
    return plain || turned;
}

/* The common stride of all batch dimensions; false when there is none. */
static bool batch_step_of(const Shape *batch, const int64_t *strides, int64_t *out) {
    *out = batch->rank ? strides[batch->rank - 1] : 0;
    for (uint32_t i = 0; i + 1 < batch->rank; i++)
        if (strides[i] != batch->dims[i + 1] * strides[i + 1]) return false;
    return true;
}

static bool is_compact(const CpuMatmul *matmul) {
    int64_t step;
    if (matmul->bias_column != 1 || matmul->bias_row != matmul->columns) return false;
    return matmul->batch.rank == 0 || (batch_step_of(&matmul->batch, matmul->bias_batch, &step) &&
                                          step == matmul->rows * matmul->columns);
}

static bool is_one_a_column(const CpuMatmul *matmul) {
    int64_t step;
    return matmul->bias_column == 1 && matmul->bias_row == 0 &&
           batch_step_of(&matmul->batch, matmul->bias_batch, &step) && step == 0;
}

static bool place_added(const CpuMatmul *matmul, CudaCublasProblem *problem, State *state) {
    if (matmul->has_residual) {
        state->added = RESIDUAL;
        problem->beta = 1;
    }
    if (!matmul->has_bias) return true;
    if (is_one_a_column(matmul) && matmul->epilogue.bias_scale == 1) {
        state->has_bias = true;
        return true;
    }
    if (matmul->has_residual || !is_compact(matmul)) return false;
    state->added = BIAS;
    problem->beta = (float)matmul->epilogue.bias_scale;
    return true;
}

static bool place_epilogue(Activation activation, bool has_bias, int *out) {
    if (activation == ACTIVATION_NONE)
        *out = has_bias ? CUBLASLT_EPILOGUE_BIAS : CUBLASLT_EPILOGUE_DEFAULT;
    else if (activation == ACTIVATION_RELU)
        *out = has_bias ? CUBLASLT_EPILOGUE_RELU_BIAS : CUBLASLT_EPILOGUE_RELU;
    else if (activation == ACTIVATION_GELU_TANH)
        *out = has_bias ? CUBLASLT_EPILOGUE_GELU_BIAS : CUBLASLT_EPILOGUE_GELU;
    else
        return false;
    return true;
}

static bool place(const CpuMatmul *matmul, CudaCublasProblem *problem, State *state) {
    const Shape *batch = &matmul->batch;
    if (matmul->rows == 0 || matmul->columns == 0 || matmul->depth == 0) return false;
    if (matmul->batch_count == 0 || matmul->batch_count > INT32_MAX) return false;
    problem->batch_count = (int32_t)matmul->batch_count;
    problem->alpha = (float)matmul->epilogue.alpha;
    /* left and right change places: all is seen by columns */
    if (!matrix_of(
            matmul->depth, matmul->columns, matmul->b_row, matmul->b_column, &problem->left) ||
        !matrix_of(matmul->rows, matmul->depth, matmul->a_row, matmul->a_column, &problem->right) ||
        !matrix_of(matmul->rows, matmul->columns, matmul->columns, 1, &problem->to))
        return false;
    if (!batch_step_of(batch, matmul->b_batch, &problem->left.batch_step) ||
        !batch_step_of(batch, matmul->a_batch, &problem->right.batch_step))
        return false;
    problem->to.batch_step = matmul->rows * matmul->columns;
    return place_added(matmul, problem, state) &&
           place_epilogue(matmul->epilogue.activation, state->has_bias, &problem->epilogue);
}

/* ---- launch ---- */

static Error *run(const Plan *plan, const Launch *launch, const CudaLibraryAddresses *at) {
    const State *state = plan_state(plan);
    CudaDevice *device = cuda_device(plan->device);
    const CudaCublasAddresses addresses = {.left = at->inputs[1],
        .right = at->inputs[0],
        .bias = state->has_bias ? at->inputs[BIAS] : 0,
        .added = state->added ? at->inputs[state->added] : 0,
        .to = at->to,
        .workspace = launch->workspace};
    CUstream queue;
    uint64_t key = cuda_cublas_stretch_key(&state->product);
    TRY(cuda_stream_record(device, launch->stream, "cublasLtMatmul", key, &queue));
    return cuda_cublas_run(device, &state->product, &addresses, queue);
}

/* ---- plan ---- */

static void deinit(CudaDevice *device, void *state) {
    cuda_cublas_deinit(device, &((State *)state)->product);
}

static const CudaLibraryKind kind = {"cuda.cublas_matmul", run, NULL, deinit};

static int type_of(DType dtype) {
    if (dtype == DTYPE_FLOAT16) return CUDA_R_16F;
    return dtype == DTYPE_BFLOAT16 ? CUDA_R_16BF : CUDA_R_32F;
}

static Error *plan_matmul(Device *device, const PlanRequest *request, Plan **out) {
    const bool rounds = cuda_device(device)->options.tf32;
    CudaCublasProblem problem = {.type = type_of(request->inputs[0].dtype),
        .compute = rounds ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F};
    State state = {.base = {.kind = &kind, .reads = 3}};
    CpuMatmul matmul;
    bool found;
    *out = NULL;
    if (problem.type != CUDA_R_32F) problem.compute = CUBLAS_COMPUTE_32F;
    TRY(cpu_matmul_operands(request, CPU_LEVEL_PORTABLE, DTYPE_FLOAT32, &matmul));
    if (!place(&matmul, &problem, &state)) return NULL;
    if (state.has_bias) state.base.reads |= 1U << BIAS;
    if (state.added) state.base.reads |= 1U << state.added;
    TRY(cuda_cublas_init(cuda_device(device), &problem, &state.product, &found));
    if (!found) return NULL;
    return cuda_library_plan_create(
        device, request, &state, sizeof state, state.product.workspace_bytes, out);
}

static const Kernel cuda_cublas_matmul[] = {
    {OPERATOR_MATMUL, DTYPES_FLOAT32_AND_HALF, plan_matmul, "cuda.cublas_matmul", 0},
    {OPERATOR_GEMM, DTYPES_FLOAT32_AND_HALF, plan_matmul, "cuda.cublas_matmul", 0},
    {OPERATOR_FUSED_MATMUL, DTYPES_FLOAT32_AND_HALF, plan_matmul, "cuda.cublas_matmul", 0},
    KERNELS_END,
};

const Kernel *const *cuda_cublas_tables(void) {
    static const Kernel *const tables[] = {cuda_cublas_matmul, NULL};
    return tables;
}
