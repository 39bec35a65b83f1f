/* Operators along one axis: ArgMax, ArgMin, TopK, CumSum. */
#include "kernels/cuda/planners/cuda_internal.h"
#include "kernels/arguments/arguments.h"

enum { THREAD_DIM_MAX = 64 /* lanes shorter than this are not worth a block */ };

static uint64_t lane_count(const CudaLanesParams *params) {
    return (uint64_t)params->outer * (uint64_t)params->inner;
}

static CudaLanesParams with_addresses(const Plan *plan, const Launch *launch) {
    CudaLanesParams params = *(const CudaLanesParams *)plan_state(plan);
    params.from = launch->inputs[0];
    params.to = launch->outputs[0];
    if (plan->output_count > 1) params.indices = launch->outputs[1];
    return params;
}

static Error *create(Device *device, const PlanRequest *request, uint32_t axis, const char *name,
    Plan **out, CudaLanesParams **out_params) {
    const TensorSpec *input = &request->inputs[0];
    TRY(plan_create(device, request, name, sizeof(CudaLanesParams), out));
    CudaLanesParams *params = plan_state(*out);
    params->outer = shape_product(&input->shape, 0, axis);
    params->dim = input->shape.dims[axis];
    params->inner = shape_product(&input->shape, axis + 1, input->shape.rank);
    params->dtype = input->dtype;
    *out_params = params;
    return NULL;
}

static Error *launch_arg(const Plan *plan, const Launch *launch, const Shape *output_shapes) {
    const CudaLanesParams params = with_addresses(plan, launch);
    (void)output_shapes;
    if (params.inner > 1 || params.dim <= THREAD_DIM_MAX)
        return cuda_run_units(
            plan, launch, CUDA_KERNEL_ARG_THREADS, lane_count(&params), &params, sizeof params);
    return cuda_run_blocks(
        plan, launch, CUDA_KERNEL_ARG_BLOCKS, lane_count(&params), &params, sizeof params);
}

static Error *plan_arg(Device *device, const PlanRequest *request, Plan **out) {
    uint32_t axis;
    CudaLanesParams *params;
    TRY(arguments_axis(request, &axis));
    TRY(create(device, request, axis, "cuda.arg_reduce", out, &params));
    params->smallest = request->operator_info->id == OPERATOR_ARG_MIN;
    params->last = attributes_int(request->attributes, "select_last_index") != 0;
    (*out)->launch = launch_arg;
    return NULL;
}

static Error *launch_top_k(const Plan *plan, const Launch *launch, const Shape *output_shapes) {
    const CudaLanesParams params = with_addresses(plan, launch);
    (void)output_shapes;
    if (params.k == 0) return NULL;
    return cuda_run_blocks(
        plan, launch, CUDA_KERNEL_TOP_K, lane_count(&params), &params, sizeof params);
}

static Error *plan_top_k(Device *device, const PlanRequest *request, Plan **out) {
    uint32_t axis;
    CudaLanesParams *params;
    TRY(arguments_axis(request, &axis));
    TRY(create(device, request, axis, "cuda.top_k", out, &params));
    params->k = request->outputs[0].shape.dims[axis];
    params->smallest = attributes_int(request->attributes, "largest") == 0;
    (*out)->launch = launch_top_k;
    return NULL;
}

static Error *launch_cum_sum(const Plan *plan, const Launch *launch, const Shape *output_shapes) {
    const CudaLanesParams params = with_addresses(plan, launch);
    (void)output_shapes;
    return cuda_run_units(
        plan, launch, CUDA_KERNEL_CUM_SUM, lane_count(&params), &params, sizeof params);
}

static Error *plan_cum_sum(Device *device, const PlanRequest *request, Plan **out) {
    int64_t given;
    uint32_t axis;
    CudaLanesParams *params;
    TRY(arguments_int(request, 1, &given));
    TRY(shape_axis(given, request->inputs[0].shape.rank, &axis));
    TRY(create(device, request, axis, "cuda.cum_sum", out, &params));
    params->exclusive = attributes_int(request->attributes, "exclusive") != 0;
    params->reverse = attributes_int(request->attributes, "reverse") != 0;
    (*out)->launch = launch_cum_sum;
    return NULL;
}

const Kernel cuda_lanes[] = {
    {OPERATOR_ARG_MAX, DTYPES_NUMBER, plan_arg, "cuda.arg_reduce", 0},
    {OPERATOR_ARG_MIN, DTYPES_NUMBER, plan_arg, "cuda.arg_reduce", 0},
    {OPERATOR_TOP_K, DTYPES_NUMBER, plan_top_k, "cuda.top_k", 0},
    {OPERATOR_CUM_SUM, DTYPES_NUMBER, plan_cum_sum, "cuda.cum_sum", 0},
    KERNELS_END,
};
