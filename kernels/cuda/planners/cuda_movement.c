/* Operators that move elements by rules known at plan time: Transpose, Expand, Tile, Slice, Concat,
 * Split, Trilu, Dropout, Pad. */
#include <string.h>

#include "kernels/cuda/planners/cuda_copy.h"
#include "kernels/arguments/arguments.h"
#include "kernels/planning/copy_plan.h"

static uint32_t element_size(const PlanRequest *request) {
    return dtype_bits(request->outputs[0].dtype) / 8;
}

static void prepare_copy(const StridedCopy *copy, uint32_t element_bytes, void *out_prepared) {
    cuda_copy_make(copy->rank, copy->dims, copy->from_strides, copy->from_offset, copy->to_strides,
        copy->to_offset, element_bytes, out_prepared);
}

static Error *run_copy(
    const Plan *plan, const Launch *launch, const void *prepared, uint64_t to, uint64_t from) {
    return cuda_copy_run(plan, launch, prepared, to, from);
}

static Error *plan_copies(Device *device, const PlanRequest *request, Plan **out) {
    static const CopyPlanDevice copies = {sizeof(CudaCopy), prepare_copy, run_copy};
    const char *name = kernel_row_name(cuda_movement, request->operator_info->id);
    return copy_plan_create(device, request, name, &copies, out);
}

static Error *launch_trilu(const Plan *plan, const Launch *launch, const Shape *output_shapes) {
    CudaTriluParams params = *(const CudaTriluParams *)plan_state(plan);
    (void)output_shapes;
    params.from = launch->inputs[0];
    params.to = launch->outputs[0];
    return cuda_run_units(plan, launch, CUDA_KERNEL_TRILU, params.count, &params, sizeof params);
}

static Error *plan_trilu(Device *device, const PlanRequest *request, Plan **out) {
    TriluArguments trilu;
    TRY(arguments_trilu(request, &trilu));
    TRY(plan_create(device, request, "cuda.trilu", sizeof(CudaTriluParams), out));
    CudaTriluParams *params = plan_state(*out);
    params->count = trilu.rows * (uint64_t)trilu.width;
    params->height = trilu.height;
    params->width = trilu.width;
    params->k = trilu.k;
    params->size = element_size(request);
    params->upper = trilu.upper;
    (*out)->launch = launch_trilu;
    return NULL;
}

/* Dropout at inference with its mask: a copy, and all true. Without the mask it is a view. */
static Error *launch_dropout(const Plan *plan, const Launch *launch, const Shape *output_shapes) {
    const uint64_t *count = plan_state(plan);
    (void)output_shapes;
    TRY(cuda_copy_fill(plan, launch, launch->outputs[1], 1, 1, *count));
    return cuda_copy_bytes(plan, launch, launch->outputs[0], launch->inputs[0],
        *count * cuda_element_size(&plan->outputs[0]));
}

static Error *plan_dropout(Device *device, const PlanRequest *request, Plan **out) {
    if (request->output_count < 2) return cuda_decline(out);
    TRY(plan_create(device, request, "cuda.dropout", sizeof(uint64_t), out));
    *(uint64_t *)plan_state(*out) = (uint64_t)shape_count_unchecked(&request->inputs[0].shape);
    (*out)->launch = launch_dropout;
    return NULL;
}

static Error *launch_pad(const Plan *plan, const Launch *launch, const Shape *output_shapes) {
    CudaPadParams params = *(const CudaPadParams *)plan_state(plan);
    (void)output_shapes;
    params.from = launch->inputs[0];
    params.to = launch->outputs[0];
    if (plan->input_count > 2) params.value = launch->inputs[2];
    return cuda_run_units(plan, launch, CUDA_KERNEL_PAD, params.count, &params, sizeof params);
}

static uint32_t pad_mode(PadMode mode) {
    static const uint8_t modes[] = {[PAD_CONSTANT] = CUDA_PAD_CONSTANT,
        [PAD_REFLECT] = CUDA_PAD_REFLECT,
        [PAD_EDGE] = CUDA_PAD_EDGE,
        [PAD_WRAP] = CUDA_PAD_WRAP};
    return modes[mode];
}

static Error *plan_pad(Device *device, const PlanRequest *request, Plan **out) {
    PadArguments pad;
    TRY(arguments_pad(request, &pad));
    const Shape *in = &request->inputs[0].shape, *to = &request->outputs[0].shape;
    TRY(plan_create(device, request, kernel_row_name(cuda_movement, request->operator_info->id),
        sizeof(CudaPadParams), out));
    CudaPadParams *params = plan_state(*out);
    params->mode = pad_mode(pad.mode);
    params->rank = in->rank;
    params->size = element_size(request);
    params->count = (uint64_t)shape_count_unchecked(to);
    memcpy(params->in_dims, in->dims, sizeof params->in_dims);
    memcpy(params->out_dims, to->dims, sizeof params->out_dims);
    memcpy(params->begin, pad.begin, sizeof params->begin);
    shape_strides(in, params->strides);
    (*out)->launch = launch_pad;
    return NULL;
}

const Kernel cuda_movement[] = {
    {OPERATOR_TRANSPOSE, DTYPES_ANY, plan_copies, "cuda.transpose", 0},
    {OPERATOR_EXPAND, DTYPES_ANY, plan_copies, "cuda.expand", 0},
    {OPERATOR_TILE, DTYPES_ANY, plan_copies, "cuda.tile", 0},
    {OPERATOR_SLICE, DTYPES_ANY, plan_copies, "cuda.slice", 0},
    {OPERATOR_DEPTH_TO_SPACE, DTYPES_ANY, plan_copies, "cuda.depth_to_space", 0},
    {OPERATOR_SPACE_TO_DEPTH, DTYPES_ANY, plan_copies, "cuda.space_to_depth", 0},
    {OPERATOR_CONCAT, DTYPES_ANY, plan_copies, "cuda.concat", 0},
    {OPERATOR_SPLIT, DTYPES_ANY, plan_copies, "cuda.split", 0},
    {OPERATOR_TRILU, DTYPES_ANY, plan_trilu, "cuda.trilu", 0},
    {OPERATOR_DROPOUT, DTYPES_ANY, plan_dropout, "cuda.dropout", 0},
    {OPERATOR_PAD, DTYPES_ANY, plan_pad, "cuda.pad", 0},
    {OPERATOR_CENTER_CROP_PAD, DTYPES_ANY, plan_pad, "cuda.center_crop_pad", 0},
    KERNELS_END,
};
