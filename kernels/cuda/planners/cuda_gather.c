/* Gather, GatherElements, GatherND. */
#include <string.h>

#include "kernels/cuda/planners/cuda_copy.h"
#include "kernels/cuda/planners/cuda_index.h"
#include "kernels/arguments/arguments.h"

/* Slices travel in the largest units that the addresses of this launch allow. */
static void widen(CudaGatherParams *params) {
    const uint32_t unit = cuda_copy_unit(params->slice * params->size, params->from, params->to);
    if (unit <= params->size) return;
    const uint32_t factor = unit / params->size;
    params->size = unit;
    params->slice /= factor;
    params->batch_stride /= factor;
    for (uint32_t d = 0; d < params->depth; d++) params->strides[d] /= factor;
}

static Error *launch_gather(const Plan *plan, const Launch *launch, const Shape *output_shapes) {
    CudaGatherParams params = *(const CudaGatherParams *)plan_state(plan);
    (void)output_shapes;
    if (params.batches * params.tuples * params.slice == 0) return NULL;
    TRY(cuda_index_begin(
        plan, launch, params.indices.wide ? DTYPE_INT64 : DTYPE_INT32, &params.indices));
    params.from = launch->inputs[0];
    params.to = launch->outputs[0];
    widen(&params);
    TRY(cuda_run_units(plan, launch, CUDA_KERNEL_GATHER,
        params.batches * params.tuples * params.slice, &params, sizeof params));
    if (params.depth == 0) return NULL;
    const char *name = params.same_indices ? "Gather" : "GatherND";
    return cuda_index_end(plan, launch, name, &params.indices, params.dims, params.depth);
}

static Error *create(
    Device *device, const PlanRequest *request, const char *name, size_t size, Plan **out) {
    TRY(plan_create(device, request, name, size, out));
    (*out)->workspace_bytes = CUDA_INDEX_WORKSPACE;
    return NULL;
}

static Error *plan_gather(Device *device, const PlanRequest *request, Plan **out) {
    uint32_t axis;
    TRY(arguments_axis(request, &axis));
    const Shape *data = &request->inputs[0].shape;
    TRY(create(device, request, "cuda.gather", sizeof(CudaGatherParams), out));
    CudaGatherParams *params = plan_state(*out);
    params->indices.wide = request->inputs[1].dtype == DTYPE_INT64;
    params->same_indices = 1;
    params->depth = 1;
    params->size = cuda_element_size(&request->inputs[0]);
    params->batches = (uint64_t)shape_product(data, 0, axis);
    params->tuples = (uint64_t)shape_count_unchecked(&request->inputs[1].shape);
    params->slice = (uint64_t)shape_product(data, axis + 1, data->rank);
    params->dims[0] = data->dims[axis];
    params->strides[0] = (int64_t)params->slice;
    params->batch_stride = (uint64_t)shape_product(data, axis, data->rank);
    (*out)->launch = launch_gather;
    return NULL;
}

static Error *plan_tuples(Device *device, const PlanRequest *request, Plan **out) {
    const Shape *data = &request->inputs[0].shape, *indices = &request->inputs[1].shape;
    const uint32_t batch_dims = (uint32_t)attributes_int(request->attributes, "batch_dims");
    int64_t strides[SHAPE_RANK_MAX];
    shape_strides(data, strides);
    TRY(create(device, request, "cuda.gather_nd", sizeof(CudaGatherParams), out));
    CudaGatherParams *params = plan_state(*out);
    params->indices.wide = 1;
    params->size = cuda_element_size(&request->inputs[0]);
    params->depth = (uint32_t)indices->dims[indices->rank - 1];
    for (uint32_t d = 0; d < params->depth; d++) {
        params->dims[d] = data->dims[batch_dims + d];
        params->strides[d] = strides[batch_dims + d];
    }
    params->batches = (uint64_t)shape_product(data, 0, batch_dims);
    params->tuples = (uint64_t)shape_product(indices, batch_dims, indices->rank - 1);
    params->batch_stride = (uint64_t)shape_product(data, batch_dims, data->rank);
    params->slice = (uint64_t)shape_product(data, batch_dims + params->depth, data->rank);
    (*out)->launch = launch_gather;
    return NULL;
}

static Error *launch_elements(const Plan *plan, const Launch *launch, const Shape *output_shapes) {
    CudaGatherElementsParams params = *(const CudaGatherElementsParams *)plan_state(plan);
    (void)output_shapes;
    if (params.count == 0) return NULL;
    TRY(cuda_index_begin(
        plan, launch, params.indices.wide ? DTYPE_INT64 : DTYPE_INT32, &params.indices));
    params.from = launch->inputs[0];
    params.to = launch->outputs[0];
    TRY(cuda_run_units(
        plan, launch, CUDA_KERNEL_GATHER_ELEMENTS, params.count, &params, sizeof params));
    return cuda_index_end(plan, launch, "GatherElements", &params.indices, &params.dim, 1);
}

static Error *plan_elements(Device *device, const PlanRequest *request, Plan **out) {
    uint32_t axis;
    TRY(arguments_axis(request, &axis));
    const Shape *data = &request->inputs[0].shape, *indices = &request->inputs[1].shape;
    TRY(create(device, request, "cuda.gather_elements", sizeof(CudaGatherElementsParams), out));
    CudaGatherElementsParams *params = plan_state(*out);
    params->indices.wide = request->inputs[1].dtype == DTYPE_INT64;
    params->count = (uint64_t)shape_count_unchecked(indices);
    params->size = cuda_element_size(&request->inputs[0]);
    params->rank = indices->rank;
    memcpy(params->dims, indices->dims, sizeof params->dims);
    shape_strides(data, params->strides);
    params->axis_stride = params->strides[axis];
    params->strides[axis] = 0;
    params->dim = data->dims[axis];
    (*out)->launch = launch_elements;
    return NULL;
}

const Kernel cuda_gather[] = {
    {OPERATOR_GATHER, DTYPES_ANY, plan_gather, "cuda.gather", 0},
    {OPERATOR_GATHER_ELEMENTS, DTYPES_ANY, plan_elements, "cuda.gather_elements", 0},
    {OPERATOR_GATHER_ND, DTYPES_ANY, plan_tuples, "cuda.gather_nd", 0},
    KERNELS_END,
};
