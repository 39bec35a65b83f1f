/* Operators that move elements by rules known at plan time: Transpose, Expand, Tile, Slice, Concat,
 * Split, Trilu, Dropout, Pad. */
#include <string.h>

#include "kernels/cuda/planners/cuda_copy.h"
#include "kernels/arguments/arguments.h"
#include "kernels/arguments/strided_copy.h"

typedef struct Step {
    uint32_t input, output;
    CudaCopy copy;
} Step;

typedef struct State {
    uint32_t count;
    uint32_t element_size;
    Step steps[];
} State;

static uint32_t element_size(const PlanRequest *request) {
    return dtype_bits(request->outputs[0].dtype) / 8;
}

static Error *launch_copies(const Plan *plan, const Launch *launch, const Shape *output_shapes) {
    const State *state = plan_state(plan);
    (void)output_shapes;
    for (uint32_t i = 0; i < state->count; i++) {
        const Step *step = &state->steps[i];
        const uint64_t from = launch->inputs[step->input], to = launch->outputs[step->output];
        TRY(cuda_copy_run(plan, launch, &step->copy, to, from));
    }
    return NULL;
}

static void add_step(void *context, uint32_t index, const StridedCopy *copy) {
    State *state = context;
    Step *step = &state->steps[index];
    step->input = copy->input;
    step->output = copy->output;
    cuda_copy_make(copy->rank, copy->dims, copy->from_strides, copy->from_offset, copy->to_strides,
        copy->to_offset, state->element_size, &step->copy);
}

static Error *plan_copies(Device *device, const PlanRequest *request, Plan **out) {
    OWN(Plan, plan) = NULL;
    const uint32_t count = strided_copy_count(request);
    TRY(plan_create(device, request, kernel_row_name(cuda_movement, request->operator_info->id),
        sizeof(State) + count * sizeof(Step), &plan));
    State *state = plan_state(plan);
    state->count = count;
    state->element_size = element_size(request);
    plan->launch = launch_copies;
    TRY(strided_copy_each(request, add_step, state));
    *out = TAKE(plan);
    return NULL;
}

static Error *launch_trilu(const Plan *plan, const Launch *launch, const Shape *output_shapes) {
    CudaTriluParams params = *(const CudaTriluParams *)plan_state(plan);
    (void)output_shapes;
    params.from = launch->inputs[0];
    params.to = launch->outputs[0];
    return cuda_run_units(plan, launch, CUDA_KERNEL_TRILU, params.count, &params, sizeof params);
}

static Error *plan_trilu(Device *device, const PlanRequest *request, Plan **out) {
    const Shape *shape = &request->inputs[0].shape;
    int64_t k = 0;
    if (plan_request_has(request, 1)) TRY(arguments_int(request, 1, &k));
    TRY(plan_create(device, request, "cuda.trilu", sizeof(CudaTriluParams), out));
    CudaTriluParams *params = plan_state(*out);
    params->count = (uint64_t)shape_count_unchecked(shape);
    params->height = shape->dims[shape->rank - 2];
    params->width = shape->dims[shape->rank - 1];
    params->k = k;
    params->size = element_size(request);
    params->upper = attributes_int(request->attributes, "upper") != 0;
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
