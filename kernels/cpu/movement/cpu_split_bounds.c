/* SplitBounds: the bounds follow from shapes and values alone, so they are computed with the plan.
 * Pieces of one length are computed by each launch, since there may be many. */
#include "kernels/cpu/core/cpu_internal.h"
#include "kernels/tensor/dtype_scalar.h"
#include "kernels/arguments/arguments.h"

typedef struct State {
    int64_t dim, step, count; /* step 0: the bounds are listed */
    int64_t bounds[];
} State;

static Error *launch_split_bounds(
    const Plan *plan, const Launch *launch, const Shape *output_shapes) {
    const State *state = plan_state(plan);
    int64_t *to = cpu_output(launch, 0);
    (void)output_shapes;
    for (int64_t i = 0; i < state->count; i++) {
        if (i % KERNEL_STOP_TURNS == 0) TRY(kernel_stop_check());
        to[i] = state->step ? i * state->step : state->bounds[i];
    }
    to[state->count] = state->dim;
    return NULL;
}

static Error *plan_split_bounds(Device *device, const PlanRequest *request, Plan **out) {
    int64_t dim, step, count, begin = 0;
    TRY(arguments_split_pieces(request, &dim, &step, &count));
    size_t listed = step ? 0 : (size_t)count;
    TRY(plan_create(
        device, request, "cpu.split_bounds", sizeof(State) + listed * sizeof(int64_t), out));
    State *state = plan_state(*out);
    state->dim = dim;
    state->step = step;
    state->count = count;
    for (size_t i = 0; i < listed; i++) {
        DType dtype = request->inputs[1].dtype;
        int64_t length = 0;
        state->bounds[i] = begin;
        (void)dtype_scalar_read_int(
            dtype, (const char *)request->values[1] + i * (dtype_bits(dtype) / 8), &length);
        begin += length;
    }
    (*out)->launch = launch_split_bounds;
    return NULL;
}

const Kernel cpu_split_bounds[] = {
    {OPERATOR_SPLIT_BOUNDS, DTYPE_BIT(DTYPE_INT64), plan_split_bounds, "cpu.split_bounds",
        KERNEL_PORTABLE},
    KERNELS_END,
};
