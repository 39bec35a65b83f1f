/* Softmax and LogSoftmax along any axis. */
#include "kernels/cuda/planners/cuda_internal.h"

static Error *launch_softmax(const Plan *plan, const Launch *launch, const Shape *output_shapes) {
    CudaSoftmaxParams params = *(const CudaSoftmaxParams *)plan_state(plan);
    const bool wide = params.dtype == DTYPE_FLOAT64;
    (void)output_shapes;
    params.from = launch->inputs[0];
    params.to = launch->outputs[0];
    if (params.size == 0) return NULL;
    if (params.inner == 1)
        return cuda_run_blocks(plan, launch,
            wide ? CUDA_KERNEL_SOFTMAX_ROWS_F64 : CUDA_KERNEL_SOFTMAX_ROWS_F32,
            (uint64_t)params.outer, &params, sizeof params);
    return cuda_run_units(plan, launch,
        wide ? CUDA_KERNEL_SOFTMAX_COLUMNS_F64 : CUDA_KERNEL_SOFTMAX_COLUMNS_F32,
        (uint64_t)params.outer * (uint64_t)params.inner, &params, sizeof params);
}

static Error *plan_softmax(Device *device, const PlanRequest *request, Plan **out) {
    const Shape *shape = &request->inputs[0].shape;
    uint32_t axis;
    TRY(shape_axis(attributes_int(request->attributes, "axis"), shape->rank, &axis));
    TRY(plan_create(device, request, "cuda.softmax", sizeof(CudaSoftmaxParams), out));
    CudaSoftmaxParams *params = plan_state(*out);
    params->outer = shape_product(shape, 0, axis);
    params->size = shape->dims[axis];
    params->inner = shape_product(shape, axis + 1, shape->rank);
    params->dtype = request->inputs[0].dtype;
    params->logarithm = request->operator_info->id == OPERATOR_LOG_SOFTMAX;
    (*out)->launch = launch_softmax;
    return NULL;
}

const Kernel cuda_softmax[] = {
    {OPERATOR_SOFTMAX, DTYPES_FLOAT, plan_softmax, "cuda.softmax", 0},
    {OPERATOR_LOG_SOFTMAX, DTYPES_FLOAT, plan_softmax, "cuda.softmax", 0},
    KERNELS_END,
};
