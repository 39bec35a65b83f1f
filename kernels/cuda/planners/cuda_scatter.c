/* ScatterElements and ScatterND: a copy of the data into which updates are written, in the order of
 * the indices if several have the same target. */
#include <string.h>

#include "kernels/cuda/planners/cuda_copy.h"
#include "kernels/cuda/planners/cuda_index.h"
#include "kernels/arguments/arguments.h"

/* False when these elements cannot be combined. */
static bool combine_of(const PlanRequest *request, uint32_t *out) {
    static const struct {
        const char *name;
        CudaCombine combine;
    } reductions[] = {{"add", CUDA_COMBINE_ADD}, {"mul", CUDA_COMBINE_MUL},
        {"max", CUDA_COMBINE_MAX}, {"min", CUDA_COMBINE_MIN}};
    const char *reduction = attributes_text(request->attributes, "reduction");
    *out = CUDA_COMBINE_SET;
    for (size_t i = 0; i < sizeof reductions / sizeof reductions[0]; i++)
        if (strcmp(reduction, reductions[i].name) == 0) *out = reductions[i].combine;
    return *out == CUDA_COMBINE_SET || DTYPES_NUMBER >> request->inputs[0].dtype & 1;
}

static Error *copy_data(const Plan *plan, const Launch *launch) {
    const TensorSpec *output = &plan->outputs[0];
    return cuda_copy_bytes(plan, launch, launch->outputs[0], launch->inputs[0],
        (uint64_t)shape_count_unchecked(&output->shape) * cuda_element_size(output));
}

static Error *launch_elements(const Plan *plan, const Launch *launch, const Shape *output_shapes) {
    CudaScatterElementsParams params = *(const CudaScatterElementsParams *)plan_state(plan);
    (void)output_shapes;
    TRY(copy_data(plan, launch));
    if (params.lanes == 0 || params.length == 0) return NULL;
    TRY(cuda_index_begin(
        plan, launch, params.indices.wide ? DTYPE_INT64 : DTYPE_INT32, &params.indices));
    params.updates = launch->inputs[2];
    params.to = launch->outputs[0];
    TRY(cuda_run_units(
        plan, launch, CUDA_KERNEL_SCATTER_ELEMENTS, params.lanes, &params, sizeof params));
    return cuda_index_end(plan, launch, "ScatterElements", &params.indices, &params.dim, 1);
}

static Error *plan_elements(Device *device, const PlanRequest *request, Plan **out) {
    const Shape *data = &request->inputs[0].shape, *indices = &request->inputs[1].shape;
    int64_t strides[SHAPE_RANK_MAX], positions[SHAPE_RANK_MAX];
    uint32_t axis, combine;
    TRY(arguments_axis(request, &axis));
    if (!combine_of(request, &combine)) return cuda_decline(out);
    TRY(plan_create(
        device, request, "cuda.scatter_elements", sizeof(CudaScatterElementsParams), out));
    (*out)->workspace_bytes = CUDA_INDEX_WORKSPACE;
    CudaScatterElementsParams *params = plan_state(*out);
    shape_strides(data, strides);
    shape_strides(indices, positions);
    params->indices.wide = request->inputs[1].dtype == DTYPE_INT64;
    params->dtype = request->inputs[0].dtype;
    params->size = cuda_element_size(&request->inputs[0]);
    params->combine = combine;
    params->dim = data->dims[axis];
    params->axis_stride = strides[axis];
    params->length = indices->dims[axis];
    params->lane_stride = positions[axis];
    params->lanes = 1;
    for (uint32_t d = 0; d < indices->rank; d++) {
        if (d == axis) continue;
        params->lanes *= (uint64_t)indices->dims[d];
        params->dims[params->rank] = indices->dims[d];
        params->strides[params->rank] = strides[d];
        params->positions[params->rank++] = positions[d];
    }
    if (params->rank == 0) params->dims[params->rank++] = 1;
    (*out)->launch = launch_elements;
    return NULL;
}

static Error *launch_tuples(const Plan *plan, const Launch *launch, const Shape *output_shapes) {
    CudaScatterTuplesParams params = *(const CudaScatterTuplesParams *)plan_state(plan);
    (void)output_shapes;
    TRY(copy_data(plan, launch));
    if (params.tuples == 0 || params.slice == 0) return NULL;
    TRY(cuda_index_begin(plan, launch, DTYPE_INT64, &params.indices));
    params.updates = launch->inputs[2];
    params.to = launch->outputs[0];
    TRY(cuda_run_units(
        plan, launch, CUDA_KERNEL_SCATTER_TUPLES, params.slice, &params, sizeof params));
    if (params.depth == 0) return NULL;
    return cuda_index_end(plan, launch, "ScatterND", &params.indices, params.dims, params.depth);
}

static Error *plan_tuples(Device *device, const PlanRequest *request, Plan **out) {
    const Shape *data = &request->inputs[0].shape, *indices = &request->inputs[1].shape;
    int64_t strides[SHAPE_RANK_MAX];
    uint32_t combine;
    if (!combine_of(request, &combine)) return cuda_decline(out);
    TRY(plan_create(device, request, "cuda.scatter_nd", sizeof(CudaScatterTuplesParams), out));
    (*out)->workspace_bytes = CUDA_INDEX_WORKSPACE;
    CudaScatterTuplesParams *params = plan_state(*out);
    shape_strides(data, strides);
    params->dtype = request->inputs[0].dtype;
    params->size = cuda_element_size(&request->inputs[0]);
    params->combine = combine;
    params->depth = (uint32_t)indices->dims[indices->rank - 1];
    for (uint32_t d = 0; d < params->depth; d++) {
        params->dims[d] = data->dims[d];
        params->strides[d] = strides[d];
    }
    params->tuples = (uint64_t)shape_product(indices, 0, indices->rank - 1);
    params->slice = (uint64_t)shape_product(data, params->depth, data->rank);
    (*out)->launch = launch_tuples;
    return NULL;
}

const Kernel cuda_scatter[] = {
    {OPERATOR_SCATTER_ELEMENTS, DTYPES_ANY, plan_elements, "cuda.scatter_elements", 0},
    {OPERATOR_SCATTER_ND, DTYPES_ANY, plan_tuples, "cuda.scatter_nd", 0},
    KERNELS_END,
};
