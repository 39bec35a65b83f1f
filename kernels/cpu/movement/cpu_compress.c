/* Compress: the slices along an axis whose condition is true. The conditions are counted first. */
#include "kernels/cpu/core/cpu_index.h"
#include "kernels/arguments/arguments.h"

/* The input is [outer, dim, slice]; without an axis [1, elements, 1]. */
typedef struct State {
    uint64_t outer, dim, slice_bytes;
    uint64_t conditions; /* at most dim */
    uint32_t axis;       /* of the output */
} State;

/* Any byte but 0 is true. Loaded once in a pass. */
static bool is_true(const Launch *launch, uint64_t at) {
    return ((const volatile uint8_t *)cpu_input(launch, 1))[at] != 0;
}

static Error *measure(const Plan *plan, const Launch *launch, Shape *out_shapes) {
    const State *state = plan_state(plan);
    int64_t found = 0;
    KernelStopMeter meter = {0};
    for (uint64_t i = 0; i < state->conditions; i++) {
        TRY(kernel_stop_count(&meter, 8));
        found += is_true(launch, i);
    }
    out_shapes[0].dims[state->axis] = found;
    return NULL;
}

/* Copies each selected slice to its place in each of the outer blocks. */
static Error *launch_compress(const Plan *plan, const Launch *launch, const Shape *output_shapes) {
    const State *state = plan_state(plan);
    const uint64_t room = (uint64_t)output_shapes[0].dims[state->axis];
    const char *from = cpu_input(launch, 0);
    char *to = cpu_output(launch, 0);
    uint64_t found = 0;
    KernelStopMeter meter = {0};
    for (uint64_t i = 0; i < state->conditions; i++) {
        TRY(kernel_stop_count(&meter, 8 + state->outer * (1 + state->slice_bytes / 16)));
        if (!is_true(launch, i)) continue;
        if (found == room) FAIL(FAILED, "Compress: the condition changed while it was read");
        KERNEL_STOP_EACH (outer, 0, state->slice_bytes > 0 ? (int64_t)state->outer : 0)
            cpu_move(to + ((uint64_t)outer * room + found) * state->slice_bytes,
                from + ((uint64_t)outer * state->dim + i) * state->slice_bytes,
                (size_t)state->slice_bytes);
        found++;
    }
    if (found != room) FAIL(FAILED, "Compress: the condition changed while it was read");
    return kernel_stop_check(); /* a stopped launch leaves the last slices unwritten */
}

static Error *plan_compress(Device *device, const PlanRequest *request, Plan **out) {
    const Shape *input = &request->inputs[0].shape;
    const bool flat = !attributes_has(request->attributes, "axis");
    uint32_t axis = 0;
    if (!flat) TRY(arguments_axis(request, &axis));
    TRY(plan_create(device, request, "cpu.compress", sizeof(State), out));
    State *state = plan_state(*out);
    const uint64_t size = dtype_bits(request->inputs[0].dtype) / 8;
    state->axis = axis;
    state->outer = flat ? 1 : (uint64_t)shape_product(input, 0, axis);
    state->dim = (uint64_t)(flat ? shape_count_unchecked(input) : input->dims[axis]);
    state->slice_bytes = size * (flat ? 1 : (uint64_t)shape_product(input, axis + 1, input->rank));
    state->conditions = (uint64_t)request->inputs[1].shape.dims[0];
    (*out)->measure = measure;
    (*out)->launch = launch_compress;
    return NULL;
}

const Kernel cpu_compress[] = {
    {OPERATOR_COMPRESS, DTYPES_ANY, plan_compress, "cpu.compress", KERNEL_PORTABLE},
    KERNELS_END,
};
