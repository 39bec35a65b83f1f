/* Operators that move elements by rules known at plan time: Transpose, Expand, Tile, Slice, Concat,
 * Split, Trilu, Dropout, Pad. */
#include <string.h>

#include "kernels/cuda/cuda_copy.h"
#include "kernels/shape_rules/arguments.h"
#include "kernels/strided_view.h"

/* One copy for each input of Concat, each output of the others. */
typedef struct State {
    uint32_t count;
    CudaCopy copies[];
} State;

static Error *launch_copies(const Plan *plan, const Launch *launch, bool many_inputs) {
    const State *state = plan_state(plan);
    for (uint32_t i = 0; i < state->count; i++) {
        uint64_t from = launch->inputs[many_inputs ? i : 0];
        uint64_t to = launch->outputs[many_inputs ? 0 : i];
        TRY(cuda_copy_run(plan, launch, &state->copies[i], to, from));
    }
    return NULL;
}

static Error *launch_outputs(
    const Plan *plan, const Launch *launch, const Shape *output_shapes, bool *out_abandoned) {
    (void)output_shapes;
    (void)out_abandoned;
    return launch_copies(plan, launch, false);
}

static Error *launch_inputs(
    const Plan *plan, const Launch *launch, const Shape *output_shapes, bool *out_abandoned) {
    (void)output_shapes;
    (void)out_abandoned;
    return launch_copies(plan, launch, true);
}

static uint32_t element_size(const PlanRequest *request) {
    return dtype_bits(request->outputs[0].dtype) / 8;
}

static Error *create(
    Device *device, const PlanRequest *request, const char *name, uint32_t count, Plan **out) {
    TRY(plan_create(device, request, name, sizeof(State) + count * sizeof(CudaCopy), out));
    State *state = plan_state(*out);
    state->count = count;
    (*out)->launch = launch_outputs;
    return NULL;
}

static Error *plan_view(Device *device, const PlanRequest *request, const char *name, Plan **out) {
    StridedView view;
    int64_t to[STRIDED_VIEW_RANK_MAX];
    TRY(strided_view_of(request, &view));
    strided_view_compact(&view, to);
    TRY(create(device, request, name, 1, out));
    State *state = plan_state(*out);
    cuda_copy_make(view.rank, view.dims, view.strides, view.offset, to, 0, element_size(request),
        &state->copies[0]);
    return NULL;
}

static Error *plan_transpose(Device *device, const PlanRequest *request, Plan **out) {
    return plan_view(device, request, "cuda.transpose", out);
}

static Error *plan_expand(Device *device, const PlanRequest *request, Plan **out) {
    return plan_view(device, request, "cuda.expand", out);
}

static Error *plan_tile(Device *device, const PlanRequest *request, Plan **out) {
    return plan_view(device, request, "cuda.tile", out);
}

static Error *plan_slice(Device *device, const PlanRequest *request, Plan **out) {
    return plan_view(device, request, "cuda.slice", out);
}

static Error *plan_concat(Device *device, const PlanRequest *request, Plan **out) {
    uint32_t axis;
    TRY(arguments_axis(request, &axis));
    TRY(create(device, request, "cuda.concat", request->input_count, out));
    State *state = plan_state(*out);
    (*out)->launch = launch_inputs;
    int64_t at = 0;
    for (uint32_t i = 0; i < request->input_count; i++) {
        const Shape *part = &request->inputs[i].shape;
        StridedView view;
        int64_t compact[STRIDED_VIEW_RANK_MAX];
        strided_view_part(&request->outputs[0].shape, part, axis, at, &view);
        strided_view_compact(&view, compact);
        cuda_copy_make(view.rank, view.dims, compact, 0, view.strides, view.offset,
            element_size(request), &state->copies[i]);
        at += part->dims[axis];
    }
    return NULL;
}

static Error *plan_split(Device *device, const PlanRequest *request, Plan **out) {
    uint32_t axis;
    int64_t sizes[PLAN_OUTPUTS_MAX];
    TRY(arguments_split(request, &axis, sizes));
    TRY(create(device, request, "cuda.split", request->output_count, out));
    State *state = plan_state(*out);
    int64_t at = 0;
    for (uint32_t i = 0; i < request->output_count; i++) {
        StridedView view;
        int64_t compact[STRIDED_VIEW_RANK_MAX];
        strided_view_part(&request->inputs[0].shape, &request->outputs[i].shape, axis, at, &view);
        strided_view_compact(&view, compact);
        cuda_copy_make(view.rank, view.dims, view.strides, view.offset, compact, 0,
            element_size(request), &state->copies[i]);
        at += sizes[i];
    }
    return NULL;
}

static Error *launch_trilu(
    const Plan *plan, const Launch *launch, const Shape *output_shapes, bool *out_abandoned) {
    CudaTriluParams params = *(const CudaTriluParams *)plan_state(plan);
    (void)output_shapes;
    (void)out_abandoned;
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
static Error *launch_dropout(
    const Plan *plan, const Launch *launch, const Shape *output_shapes, bool *out_abandoned) {
    const uint64_t *count = plan_state(plan);
    (void)output_shapes;
    (void)out_abandoned;
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

static Error *launch_pad(
    const Plan *plan, const Launch *launch, const Shape *output_shapes, bool *out_abandoned) {
    CudaPadParams params = *(const CudaPadParams *)plan_state(plan);
    (void)output_shapes;
    (void)out_abandoned;
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
    TRY(plan_create(device, request, "cuda.pad", sizeof(CudaPadParams), out));
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
    {OPERATOR_TRANSPOSE, DTYPES_ANY, plan_transpose, "cuda.transpose", 0},
    {OPERATOR_EXPAND, DTYPES_ANY, plan_expand, "cuda.expand", 0},
    {OPERATOR_TILE, DTYPES_ANY, plan_tile, "cuda.tile", 0},
    {OPERATOR_SLICE, DTYPES_ANY, plan_slice, "cuda.slice", 0},
    {OPERATOR_CONCAT, DTYPES_ANY, plan_concat, "cuda.concat", 0},
    {OPERATOR_SPLIT, DTYPES_ANY, plan_split, "cuda.split", 0},
    {OPERATOR_TRILU, DTYPES_ANY, plan_trilu, "cuda.trilu", 0},
    {OPERATOR_DROPOUT, DTYPES_ANY, plan_dropout, "cuda.dropout", 0},
    {OPERATOR_PAD, DTYPES_ANY, plan_pad, "cuda.pad", 0},
    KERNELS_END,
};
