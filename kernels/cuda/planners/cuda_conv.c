/* Conv, FusedConv and ConvTranspose by our own kernel, for requests that no library takes. */
#include "kernels/cuda/planners/cuda_matmul.h"
#include "kernels/cuda/planners/cuda_window.h"
#include "kernels/arguments/channels_first.h"

typedef struct State {
    CudaConvParams params;
    bool transposed, has_bias, has_residual;
} State;

static Error *launch_conv(const Plan *plan, const Launch *launch, const Shape *output_shapes) {
    const State *state = plan_state(plan);
    CudaConvParams params = state->params;
    const bool wide = params.dtype == DTYPE_FLOAT64;
    CudaKernelId kernel = wide ? CUDA_KERNEL_CONV_F64 : CUDA_KERNEL_CONV_F32;
    (void)output_shapes;
    if (state->transposed) kernel = CUDA_KERNEL_CONV_TRANSPOSE_F32;
    params.x = launch->inputs[0];
    params.w = launch->inputs[1];
    params.y = launch->outputs[0];
    if (state->has_bias) params.epilogue.bias = launch->inputs[2];
    if (state->has_residual) params.epilogue.residual = launch->inputs[3];
    return cuda_run_units(plan, launch, kernel, params.count, &params, sizeof params);
}

static Error *plan_conv(Device *device, const PlanRequest *request, Plan **out) {
    const Shape *x = &request->inputs[0].shape, *w = &request->inputs[1].shape;
    const Shape *y = &request->outputs[0].shape;
    const DType dtype = request->inputs[0].dtype;
    const bool transposed = request->operator_info->id == OPERATOR_CONV_TRANSPOSE;
    const int64_t groups = attributes_int(request->attributes, "group");
    Window window;
    CpuEpilogue epilogue;
    *out = NULL;
    if (channels_last_is(request)) return NULL;
    TRY(transposed ? window_of_transpose(request, &window) : window_of(request, &window));
    TRY(cpu_epilogue_of(request, CPU_LEVEL_PORTABLE,
        dtype == DTYPE_FLOAT64 ? DTYPE_FLOAT64 : DTYPE_FLOAT32, &epilogue));
    TRY(plan_create(device, request, "cuda.conv", sizeof(State), out));
    State *state = plan_state(*out);
    state->transposed = transposed;
    state->has_bias = plan_request_has(request, 2);
    state->has_residual = plan_request_has(request, 3);
    CudaConvParams *params = &state->params;
    params->count = (uint64_t)shape_count_unchecked(y);
    params->groups = groups;
    params->channels = transposed ? x->dims[1] / groups : w->dims[1];
    params->filters = transposed ? w->dims[1] : w->dims[0] / groups;
    params->input_count = shape_product(x, 2, x->rank);
    params->output_count = shape_product(y, 2, y->rank);
    params->kernel_count = shape_product(w, 2, w->rank);
    params->dtype = dtype;
    params->window = cuda_window_of(&window);
    params->epilogue = cuda_epilogue_of(&epilogue);
    (*out)->launch = launch_conv;
    return NULL;
}

const Kernel cuda_conv[] = {
    {OPERATOR_CONV, DTYPES_FLOAT, plan_conv, "cuda.conv", 0},
    {OPERATOR_FUSED_CONV, DTYPES_FLOAT, plan_conv, "cuda.conv", 0},
    {OPERATOR_CONV_TRANSPOSE, DTYPES_FLOAT32_AND_HALF, plan_conv, "cuda.conv", 0},
    KERNELS_END,
};
