/* Hardmax: 1 at the first of the largest elements along an axis, 0 elsewhere. */
#include <string.h>

#include "kernels/cpu/core/cpu_index.h"
#include "kernels/cpu/core/cpu_order.h"
#include "kernels/cpu/core/cpu_order_keys.h"
#include "kernels/tensor/dtype_scalar.h"
#include "kernels/arguments/arguments.h"

enum { ELEMENTS_PER_PART = 16384, BLOCK = 256 };

/* [outer, dim, inner] */
typedef struct State {
    int64_t outer, dim, inner;
    DType dtype;
    uint32_t size;
    uint8_t one[8];
    CpuOrderKeys *keys; /* of float32 elements beside each other; NULL: of any others */
} State;

typedef struct Run {
    const State *state;
    const char *from;
    char *to;
} Run;

/* NaN counts as the largest, as in ArgMax. */
static int64_t find_largest(const State *state, const char *from) {
    uint64_t keys[BLOCK], most = 0;
    int64_t found = 0;
    KernelStopMeter meter = {0};
    for (int64_t begin = 0; begin < state->dim; begin += BLOCK) {
        if (kernel_stop_ends_after(&meter, BLOCK * 8)) break;
        const int64_t count = state->dim - begin < BLOCK ? state->dim - begin : BLOCK;
        cpu_order_keys(
            state->dtype, from + begin * state->inner * state->size, state->inner, count, keys);
        for (int64_t i = 0; i < count; i++)
            if ((begin == 0 && i == 0) || keys[i] > most) {
                most = keys[i];
                found = begin + i;
            }
    }
    return found;
}

static int64_t find_largest_float(const State *state, const float *from) {
    uint32_t keys[BLOCK], most = 0;
    int64_t found = 0;
    KernelStopMeter meter = {0};
    for (int64_t begin = 0; begin < state->dim; begin += BLOCK) {
        if (kernel_stop_ends_after(&meter, BLOCK * 4)) break;
        const int64_t count = state->dim - begin < BLOCK ? state->dim - begin : BLOCK;
        uint32_t largest;
        state->keys(from + begin, count, 0, keys, &largest);
        if (largest <= most) continue; /* no key is 0 */
        most = largest;
        for (found = 0; keys[found] != most;) found++;
        found += begin;
    }
    return found;
}

static Error *run_lanes(void *context, uint64_t begin, uint64_t end, uint32_t part) {
    const Run *run = context;
    const State *state = run->state;
    (void)part;
    for (int64_t lane = (int64_t)begin; lane < (int64_t)end; lane++) {
        const int64_t base = lane / state->inner * state->dim * state->inner + lane % state->inner;
        const char *from = run->from + base * state->size;
        const int64_t found = state->keys
                                  ? find_largest_float(state, (const float *)(const void *)from)
                                  : find_largest(state, from);
        if (state->inner == 1)
            KERNEL_STOP_EVERY (i, 0, state->dim, KERNEL_STOP_TURNS)
                memset(run->to + (base + i) * state->size, 0,
                    (size_t)((kernel_stop_piece(i, state->dim) - i) * state->size));
        else
            KERNEL_STOP_EACH (i, 0, state->dim)
                memset(run->to + (base + i * state->inner) * state->size, 0, state->size);
        cpu_move(run->to + (base + found * state->inner) * state->size, state->one, state->size);
    }
    return NULL;
}

static Error *launch_hardmax(const Plan *plan, const Launch *launch, const Shape *output_shapes) {
    const State *state = plan_state(plan);
    Run run = {state, cpu_input(launch, 0), cpu_output(launch, 0)};
    (void)output_shapes;
    if (state->dim == 0) return NULL;
    return cpu_for_each(cpu_device(plan->device), launch->threads,
        (uint64_t)(state->outer * state->inner), (uint64_t)(ELEMENTS_PER_PART / state->dim) + 1,
        run_lanes, &run);
}

static Error *plan_hardmax(Device *device, const PlanRequest *request, Plan **out) {
    const Shape *input = &request->inputs[0].shape;
    uint32_t axis;
    TRY(arguments_axis(request, &axis));
    TRY(plan_create(device, request, "cpu.hardmax", sizeof(State), out));
    State *state = plan_state(*out);
    state->outer = shape_product(input, 0, axis);
    state->dim = input->dims[axis];
    state->inner = shape_product(input, axis + 1, input->rank);
    state->dtype = request->inputs[0].dtype;
    state->size = dtype_bits(state->dtype) / 8;
    if (state->dtype == DTYPE_FLOAT32 && state->inner == 1)
        state->keys = cpu_order_keys_for(cpu_device(device)->level);
    (void)dtype_scalar_write(state->dtype, 1, state->one); /* every float has a 1 */
    (*out)->launch = launch_hardmax;
    return NULL;
}

const Kernel cpu_hardmax[] = {
    {OPERATOR_HARDMAX, DTYPES_FLOAT, plan_hardmax, "cpu.hardmax", KERNEL_PORTABLE},
    KERNELS_END,
};
