/* Operators that move elements by rules known at plan time: Transpose, Expand, Tile, Slice, Concat,
 * Split, Trilu, Dropout. */
#include <string.h>

#include "kernels/cpu/cpu_copy.h"
#include "kernels/shape_rules/arguments.h"
#include "kernels/strided_view.h"

/* One copy for each input of Concat, each output of the others. */
typedef struct State {
    uint32_t count;
    CpuCopy copies[];
} State;

static Error *launch_copies(const Plan *plan, const Launch *launch, bool many_inputs) {
    const State *state = plan_state(plan);
    for (uint32_t i = 0; i < state->count; i++) {
        const void *from = cpu_input(launch, many_inputs ? i : 0);
        void *to = cpu_output(launch, many_inputs ? 0 : i);
        TRY(cpu_copy_run(cpu_device(plan->device), launch->threads, &state->copies[i], to, from));
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
    TRY(plan_create(device, request, name, sizeof(State) + count * sizeof(CpuCopy), out));
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
    cpu_copy_make(view.rank, view.dims, view.strides, view.offset, to, 0, element_size(request),
        &state->copies[0]);
    return NULL;
}

static Error *plan_transpose(Device *device, const PlanRequest *request, Plan **out) {
    return plan_view(device, request, "cpu.transpose", out);
}

static Error *plan_expand(Device *device, const PlanRequest *request, Plan **out) {
    return plan_view(device, request, "cpu.expand", out);
}

static Error *plan_tile(Device *device, const PlanRequest *request, Plan **out) {
    return plan_view(device, request, "cpu.tile", out);
}

static Error *plan_slice(Device *device, const PlanRequest *request, Plan **out) {
    return plan_view(device, request, "cpu.slice", out);
}

static Error *plan_concat(Device *device, const PlanRequest *request, Plan **out) {
    uint32_t axis;
    TRY(arguments_axis(request, &axis));
    TRY(create(device, request, "cpu.concat", request->input_count, out));
    State *state = plan_state(*out);
    (*out)->launch = launch_inputs;
    int64_t at = 0;
    for (uint32_t i = 0; i < request->input_count; i++) {
        const Shape *part = &request->inputs[i].shape;
        StridedView view;
        int64_t compact[STRIDED_VIEW_RANK_MAX];
        strided_view_part(&request->outputs[0].shape, part, axis, at, &view);
        strided_view_compact(&view, compact);
        cpu_copy_make(view.rank, view.dims, compact, 0, view.strides, view.offset,
            element_size(request), &state->copies[i]);
        at += part->dims[axis];
    }
    return NULL;
}

static Error *plan_split(Device *device, const PlanRequest *request, Plan **out) {
    uint32_t axis;
    int64_t sizes[PLAN_OUTPUTS_MAX];
    TRY(arguments_split(request, &axis, sizes));
    TRY(create(device, request, "cpu.split", request->output_count, out));
    State *state = plan_state(*out);
    int64_t at = 0;
    for (uint32_t i = 0; i < request->output_count; i++) {
        StridedView view;
        int64_t compact[STRIDED_VIEW_RANK_MAX];
        strided_view_part(&request->inputs[0].shape, &request->outputs[i].shape, axis, at, &view);
        strided_view_compact(&view, compact);
        cpu_copy_make(view.rank, view.dims, view.strides, view.offset, compact, 0,
            element_size(request), &state->copies[i]);
        at += sizes[i];
    }
    return NULL;
}

/* Trilu keeps in row r the columns from r + k on (upper) or up to r + k. */
typedef struct TriluState {
    uint64_t rows; /* of all matrices */
    int64_t height, width, k;
    uint32_t size;
    bool upper;
} TriluState;

typedef struct TriluRun {
    const TriluState *state;
    char *to;
    const char *from;
} TriluRun;

static Error *run_trilu(void *context, uint64_t begin, uint64_t end, uint32_t part) {
    const TriluRun *run = context;
    const TriluState *state = run->state;
    (void)part;
    size_t row_bytes = (size_t)state->width * state->size;
    for (uint64_t row = begin; row < end; row++) {
        int64_t r = (int64_t)(row % (uint64_t)state->height), split;
        /* the first column of the upper part, within 0 … width */
        if (__builtin_add_overflow(r, state->k, &split)) split = INT64_MAX;
        if (!state->upper && split < INT64_MAX) split++;
        split = split < 0 ? 0 : split > state->width ? state->width : split;
        size_t left = (size_t)split * state->size, right = row_bytes - left;
        char *to = run->to + row * row_bytes;
        const char *from = run->from + row * row_bytes;
        memset(state->upper ? to : to + left, 0, state->upper ? left : right);
        if (to == from) continue;
        if (state->upper)
            memcpy(to + left, from + left, right);
        else
            memcpy(to, from, left);
    }
    return NULL;
}

static Error *launch_trilu(
    const Plan *plan, const Launch *launch, const Shape *output_shapes, bool *out_abandoned) {
    const TriluState *state = plan_state(plan);
    TriluRun run = {state, cpu_output(launch, 0), cpu_input(launch, 0)};
    (void)output_shapes;
    (void)out_abandoned;
    uint64_t row_bytes = (uint64_t)state->width * state->size;
    if (state->rows == 0 || row_bytes == 0) return NULL;
    return cpu_for_each(cpu_device(plan->device), launch->threads, state->rows,
        131072 / row_bytes + 1, run_trilu, &run);
}

static Error *plan_trilu(Device *device, const PlanRequest *request, Plan **out) {
    const Shape *shape = &request->inputs[0].shape;
    int64_t k = 0;
    if (request->input_count > 1 && request->inputs[1].present) TRY(arguments_int(request, 1, &k));
    TRY(plan_create(device, request, "cpu.trilu", sizeof(TriluState), out));
    TriluState *state = plan_state(*out);
    state->height = shape->dims[shape->rank - 2];
    state->width = shape->dims[shape->rank - 1];
    state->rows = (uint64_t)shape_product(shape, 0, shape->rank - 1);
    state->k = k;
    state->size = element_size(request);
    state->upper = attributes_int(request->attributes, "upper") != 0;
    (*out)->launch = launch_trilu;
    return NULL;
}

/* Dropout at inference with its mask: a copy, and all true. Without the mask it is a view. */
static Error *launch_dropout(
    const Plan *plan, const Launch *launch, const Shape *output_shapes, bool *out_abandoned) {
    const uint64_t *count = plan_state(plan);
    (void)output_shapes;
    (void)out_abandoned;
    if (*count == 0) return NULL;
    memset(cpu_output(launch, 1), 1, (size_t)*count);
    uint64_t bytes = *count * (dtype_bits(plan->outputs[0].dtype) / 8);
    return cpu_copy_bytes(cpu_device(plan->device), launch->threads, cpu_output(launch, 0),
        cpu_input(launch, 0), bytes);
}

static Error *plan_dropout(Device *device, const PlanRequest *request, Plan **out) {
    if (request->output_count < 2) return cpu_decline(out);
    TRY(plan_create(device, request, "cpu.dropout", sizeof(uint64_t), out));
    *(uint64_t *)plan_state(*out) = (uint64_t)shape_count_unchecked(&request->inputs[0].shape);
    (*out)->launch = launch_dropout;
    return NULL;
}

const Kernel cpu_movement[] = {
    {OPERATOR_TRANSPOSE, DTYPES_ANY, plan_transpose, "cpu.transpose", KERNEL_PORTABLE},
    {OPERATOR_EXPAND, DTYPES_ANY, plan_expand, "cpu.expand", KERNEL_PORTABLE},
    {OPERATOR_TILE, DTYPES_ANY, plan_tile, "cpu.tile", KERNEL_PORTABLE},
    {OPERATOR_SLICE, DTYPES_ANY, plan_slice, "cpu.slice", KERNEL_PORTABLE},
    {OPERATOR_CONCAT, DTYPES_ANY, plan_concat, "cpu.concat", KERNEL_PORTABLE},
    {OPERATOR_SPLIT, DTYPES_ANY, plan_split, "cpu.split", KERNEL_PORTABLE},
    {OPERATOR_TRILU, DTYPES_ANY, plan_trilu, "cpu.trilu", KERNEL_PORTABLE},
    {OPERATOR_DROPOUT, DTYPES_ANY, plan_dropout, "cpu.dropout", KERNEL_PORTABLE},
    KERNELS_END,
};
