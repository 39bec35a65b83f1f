/* MaxUnpool: zeros, and each element put back where the index says. Of several with one index the
 * last stays, which one thread sees to. */
#include <inttypes.h>
#include <string.h>

#include "kernels/cpu/cpu_copy.h"
#include "kernels/cpu/cpu_index.h"
#include "kernels/shape_rules/window.h"

typedef struct State {
    int64_t count;        /* of the input */
    int64_t pooled_count; /* of what was pooled: indices are below it */
    uint64_t output_bytes;
    uint32_t size, rank;
    int64_t pooled[WINDOW_RANK_MAX]; /* indices count within that … */
    int64_t output[WINDOW_RANK_MAX]; /* … which is the front corner of this */
    bool same;                       /* it is all of it */
    CpuCopy clear;
} State;

/* From an index into all that was pooled to one into the output. */
static int64_t place(const State *state, int64_t index) {
    if (state->same) return index;
    int64_t at = 0, step = 1;
    for (uint32_t d = state->rank; d-- > 0;) {
        at += index % state->pooled[d] * step;
        index /= state->pooled[d];
        step *= state->output[d];
    }
    return at + index * step;
}

static Error *launch_unpool(
    const Plan *plan, const Launch *launch, const Shape *output_shapes, bool *out_abandoned) {
    static const uint64_t zero = 0;
    const State *state = plan_state(plan);
    const CpuIndices indices = {cpu_input(launch, 1), true};
    const char *from = cpu_input(launch, 0);
    char *to = cpu_output(launch, 0);
    (void)output_shapes;
    (void)out_abandoned;
    if (state->output_bytes == 0) return NULL;
    TRY(cpu_copy_run(cpu_device(plan->device), launch->threads, &state->clear, to, &zero));
    for (int64_t i = 0; i < state->count; i++) {
        const int64_t index = cpu_index_load(&indices, i);
        if (index < 0 || index >= state->pooled_count)
            FAIL(FAILED,
                "MaxUnpool: index %" PRId64 " at position %" PRId64 " is outside [0, %" PRId64 "]",
                index, i, state->pooled_count - 1);
        cpu_move(to + place(state, index) * state->size, from + i * state->size, state->size);
    }
    return NULL;
}

static Error *plan_unpool(Device *device, const PlanRequest *request, Plan **out) {
    const Shape *x = &request->inputs[0].shape, *y = &request->outputs[0].shape;
    Window window;
    TRY(window_of_unpool(request, &window));
    TRY(plan_create(device, request, "cpu.max_unpool", sizeof(State), out));
    State *state = plan_state(*out);
    int64_t count = shape_count_unchecked(y), none = 0, one = 1;
    state->count = shape_count_unchecked(x);
    state->size = dtype_bits(request->inputs[0].dtype) / 8;
    state->output_bytes = (uint64_t)count * state->size;
    state->rank = window.rank;
    state->same = true;
    /* at most the output's count, which is checked */
    state->pooled_count = count ? shape_product(x, 0, 2) : 0;
    for (uint32_t i = 0; i < window.rank; i++) {
        state->pooled[i] = window.output[i];
        state->output[i] = y->dims[2 + i];
        state->same = state->same && state->pooled[i] == state->output[i];
        state->pooled_count *= count ? state->pooled[i] : 0;
    }
    cpu_copy_make(1, &count, &none, 0, &one, 0, state->size, &state->clear);
    (*out)->launch = launch_unpool;
    return NULL;
}

const Kernel cpu_unpool[] = {
    {OPERATOR_MAX_UNPOOL, DTYPES_FLOAT, plan_unpool, "cpu.max_unpool", KERNEL_PORTABLE},
    KERNELS_END,
};
