/* NonZero: counts first, then writes the coordinates of the elements that are not zero (NaN is
 * not), row-major. */
#include <inttypes.h>

#include "kernels/cpu/core/cpu_internal.h"

typedef struct State {
    Shape shape;
    int64_t count;
    DType dtype;
    uint32_t size;
} State;

/* Loaded once; -0 is zero. */
static bool is_not_zero(const State *state, const void *from, int64_t at) {
    bool is_float = dtype_is_float(state->dtype);
    switch (state->size) {
    case 1:
        return ((const volatile uint8_t *)from)[at] != 0;
    case 2: {
        uint16_t x = ((const volatile uint16_t *)from)[at];
        return (is_float ? x & 0x7FFFu : x) != 0;
    }
    case 4: {
        uint32_t x = ((const volatile uint32_t *)from)[at];
        return (is_float ? x & 0x7FFFFFFFu : x) != 0;
    }
    default: {
        uint64_t x = ((const volatile uint64_t *)from)[at];
        return (is_float ? x & 0x7FFFFFFFFFFFFFFFu : x) != 0;
    }
    }
}

static Error *measure(const Plan *plan, const Launch *launch, Shape *out_shapes) {
    const State *state = plan_state(plan);
    const void *from = cpu_input(launch, 0);
    int64_t found = 0;
    KernelStopMeter meter = {0};
    for (int64_t i = 0; i < state->count; i++) {
        TRY(kernel_stop_count(&meter, 16));
        found += is_not_zero(state, from, i);
    }
    out_shapes[0].dims[1] = found;
    return NULL;
}

static Error *launch_non_zero(const Plan *plan, const Launch *launch, const Shape *output_shapes) {
    const State *state = plan_state(plan);
    const void *from = cpu_input(launch, 0);
    int64_t *to = cpu_output(launch, 0);
    int64_t room = output_shapes[0].dims[1], found = 0;
    int64_t coordinates[SHAPE_RANK_MAX] = {0};
    KernelStopMeter meter = {0};
    for (int64_t i = 0; i < state->count; i++) {
        TRY(kernel_stop_count(&meter, 16 + 2 * state->shape.rank));
        if (is_not_zero(state, from, i)) {
            if (found == room) FAIL(FAILED, "NonZero: the input changed while it was read");
            for (uint32_t d = 0; d < state->shape.rank; d++) to[d * room + found] = coordinates[d];
            found++;
        }
        for (uint32_t d = state->shape.rank; d-- > 0;) {
            if (++coordinates[d] < state->shape.dims[d]) break;
            coordinates[d] = 0;
        }
    }
    if (found != room) FAIL(FAILED, "NonZero: the input changed while it was read");
    return NULL;
}

static Error *plan_non_zero(Device *device, const PlanRequest *request, Plan **out) {
    TRY(plan_create(device, request, "cpu.non_zero", sizeof(State), out));
    State *state = plan_state(*out);
    state->shape = request->inputs[0].shape;
    state->count = shape_count_unchecked(&state->shape);
    state->dtype = request->inputs[0].dtype;
    state->size = dtype_bits(state->dtype) / 8;
    (*out)->measure = measure;
    (*out)->launch = launch_non_zero;
    return NULL;
}

const Kernel cpu_non_zero[] = {
    {OPERATOR_NON_ZERO, DTYPES_NUMBER | DTYPE_BIT(DTYPE_BOOL), plan_non_zero, "cpu.non_zero",
        KERNEL_PORTABLE},
    KERNELS_END,
};
