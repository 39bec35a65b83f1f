/* MaxPool and AveragePool. */
#include "kernels/cuda/planners/cuda_window.h"

static Error *launch_pool(const Plan *plan, const Launch *launch, const Shape *output_shapes) {
    CudaPoolParams params = *(const CudaPoolParams *)plan_state(plan);
    (void)output_shapes;
    params.x = launch->inputs[0];
    params.y = launch->outputs[0];
    if (plan->output_count > 1) params.indices = launch->outputs[1];
    return cuda_run_units(plan, launch, CUDA_KERNEL_POOL, params.count, &params, sizeof params);
}

static Error *plan_pool(Device *device, const PlanRequest *request, Plan **out) {
    const Attributes *attributes = request->attributes;
    const Shape *x = &request->inputs[0].shape, *y = &request->outputs[0].shape;
    Window window;
    TRY(window_of(request, &window));
    TRY(plan_create(device, request, "cuda.pool", sizeof(CudaPoolParams), out));
    CudaPoolParams *params = plan_state(*out);
    params->window = cuda_window_of(&window);
    params->count = (uint64_t)shape_count_unchecked(y);
    params->input_count = shape_product(x, 2, x->rank);
    params->output_count = shape_product(y, 2, y->rank);
    params->kernel_count = 1;
    for (uint32_t i = 0; i < window.rank; i++) params->kernel_count *= window.kernel[i];
    params->dtype = request->inputs[0].dtype;
    params->average = request->operator_info->id == OPERATOR_AVERAGE_POOL;
    if (params->average)
        params->include_padding = attributes_int(attributes, "count_include_pad") != 0;
    else
        window_index_steps(
            &window, attributes_int(attributes, "storage_order") != 0, params->index_step);
    (*out)->launch = launch_pool;
    return NULL;
}

const Kernel cuda_pool[] = {
    {OPERATOR_MAX_POOL, DTYPES_FLOAT | DTYPE_BIT(DTYPE_INT8) | DTYPE_BIT(DTYPE_UINT8), plan_pool,
        "cuda.pool", 0},
    {OPERATOR_AVERAGE_POOL, DTYPES_FLOAT, plan_pool, "cuda.pool", 0},
    KERNELS_END,
};
