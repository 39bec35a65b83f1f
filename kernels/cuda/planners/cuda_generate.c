/* Operators whose result comes from shapes, attributes or a few numbers: ConstantOfShape, Range,
 * Shape, Size, OneHot. */
#include <string.h>

#include "kernels/cuda/planners/cuda_copy.h"
#include "kernels/arguments/arguments.h"
#include "kernels/tensor/tensor.h"

static Error *launch_fill(const Plan *plan, const Launch *launch, const Shape *output_shapes) {
    const CudaFillParams *state = plan_state(plan);
    (void)output_shapes;
    return cuda_copy_fill(
        plan, launch, launch->outputs[0], state->value, state->size, state->count);
}

static Error *plan_constant_of_shape(Device *device, const PlanRequest *request, Plan **out) {
    const Tensor *value = attributes_tensor(request->attributes, "value");
    *out = NULL; /* packed elements are the host's */
    if (cuda_element_size(&request->outputs[0]) == 0) return NULL;
    TRY(plan_create(device, request, "cuda.constant_of_shape", sizeof(CudaFillParams), out));
    CudaFillParams *state = plan_state(*out);
    state->size = cuda_element_size(&request->outputs[0]);
    state->count = (uint64_t)shape_count_unchecked(&request->outputs[0].shape);
    if (value) memcpy(&state->value, tensor_data(value), state->size);
    (*out)->launch = launch_fill;
    return NULL;
}

static Error *launch_numbers(const Plan *plan, const Launch *launch, const Shape *output_shapes) {
    CudaNumbersParams params = *(const CudaNumbersParams *)plan_state(plan);
    (void)output_shapes;
    params.to = launch->outputs[0];
    return cuda_run_units(plan, launch, CUDA_KERNEL_NUMBERS, params.count, &params, sizeof params);
}

static Error *plan_numbers(Device *device, const PlanRequest *request, Plan **out) {
    ShapeNumbers made;
    arguments_shape_numbers(request, &made);
    TRY(plan_create(device, request, kernel_row_name(cuda_generate, request->operator_info->id),
        sizeof(CudaNumbersParams), out));
    CudaNumbersParams *params = plan_state(*out);
    params->count = made.count;
    memcpy(params->numbers, made.numbers, sizeof params->numbers);
    (*out)->launch = launch_numbers;
    return NULL;
}

static Error *launch_range(const Plan *plan, const Launch *launch, const Shape *output_shapes) {
    CudaRangeParams params = *(const CudaRangeParams *)plan_state(plan);
    (void)output_shapes;
    params.to = launch->outputs[0];
    return cuda_run_units(plan, launch, CUDA_KERNEL_RANGE, params.count, &params, sizeof params);
}

static Error *plan_range(Device *device, const PlanRequest *request, Plan **out) {
    RangeArguments range;
    TRY(arguments_range(request, &range));
    TRY(plan_create(device, request, "cuda.range", sizeof(CudaRangeParams), out));
    CudaRangeParams *params = plan_state(*out);
    params->count = (uint64_t)range.count;
    params->start = range.start;
    params->step = range.step;
    params->start_int = range.start_int;
    params->step_int = range.step_int;
    params->dtype = request->inputs[0].dtype;
    (*out)->launch = launch_range;
    return NULL;
}

static Error *launch_one_hot(const Plan *plan, const Launch *launch, const Shape *output_shapes) {
    CudaOneHotParams params = *(const CudaOneHotParams *)plan_state(plan);
    (void)output_shapes;
    params.indices = launch->inputs[0];
    params.values = launch->inputs[2];
    params.to = launch->outputs[0];
    return cuda_run_units(plan, launch, CUDA_KERNEL_ONE_HOT, params.count, &params, sizeof params);
}

static Error *plan_one_hot(Device *device, const PlanRequest *request, Plan **out) {
    const Shape *indices = &request->inputs[0].shape;
    uint32_t axis;
    TRY(shape_axis(attributes_int(request->attributes, "axis"), indices->rank + 1, &axis));
    TRY(plan_create(device, request, "cuda.one_hot", sizeof(CudaOneHotParams), out));
    CudaOneHotParams *params = plan_state(*out);
    params->count = (uint64_t)shape_count_unchecked(&request->outputs[0].shape);
    params->depth = request->outputs[0].shape.dims[axis];
    params->inner = shape_product(indices, axis, indices->rank);
    params->dtype = request->inputs[0].dtype;
    params->size = cuda_element_size(&request->outputs[0]);
    (*out)->launch = launch_one_hot;
    return NULL;
}

const Kernel cuda_generate[] = {
    {OPERATOR_CONSTANT_OF_SHAPE, DTYPES_ANY, plan_constant_of_shape, "cuda.constant_of_shape", 0},
    {OPERATOR_RANGE, DTYPES_NUMBER, plan_range, "cuda.range", 0},
    {OPERATOR_SHAPE, DTYPES_SIZED, plan_numbers, "cuda.shape", 0},
    {OPERATOR_SIZE, DTYPES_SIZED, plan_numbers, "cuda.size", 0},
    {OPERATOR_ONE_HOT, DTYPES_NUMBER, plan_one_hot, "cuda.one_hot", 0},
    KERNELS_END,
};
