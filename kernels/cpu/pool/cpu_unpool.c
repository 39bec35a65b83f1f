/* MaxUnpool: writes each element at its index among zeros. The index counts in the whole output, as
 * MaxPool's index counts in its input. Of several elements with one index the last one stays, so
 * one thread writes. */
#include <inttypes.h>
#include <string.h>

#include "kernels/cpu/movement/cpu_copy.h"
#include "kernels/cpu/core/cpu_index.h"

typedef struct State {
    int64_t count, output_count;
    uint32_t size;
    CpuCopy clear;
} State;

static Error *launch_unpool(const Plan *plan, const Launch *launch, const Shape *output_shapes) {
    static const uint64_t zero = 0;
    const State *state = plan_state(plan);
    const CpuIndices indices = {cpu_input(launch, 1), true};
    const char *from = cpu_input(launch, 0);
    char *to = cpu_output(launch, 0);
    (void)output_shapes;
    if (state->output_count == 0) return NULL;
    TRY(cpu_copy_run(cpu_device(plan->device), launch->threads, &state->clear, to, &zero));
    KernelStopMeter meter = {0};
    for (int64_t i = 0; i < state->count; i++) {
        TRY(kernel_stop_count(&meter, 8));
        const int64_t index = cpu_index_load(&indices, i);
        if (index < 0 || index >= state->output_count)
            FAIL(FAILED,
                "MaxUnpool: index %" PRId64 " at position %" PRId64 " is outside [0, %" PRId64 "]",
                index, i, state->output_count - 1);
        cpu_move(to + index * state->size, from + i * state->size, state->size);
    }
    return NULL;
}

static Error *plan_unpool(Device *device, const PlanRequest *request, Plan **out) {
    const Shape *x = &request->inputs[0].shape, *y = &request->outputs[0].shape;
    TRY(plan_create(device, request, "cpu.max_unpool", sizeof(State), out));
    State *state = plan_state(*out);
    const int64_t none = 0, one = 1;
    state->count = shape_count_unchecked(x);
    state->output_count = shape_count_unchecked(y);
    state->size = dtype_bits(request->inputs[0].dtype) / 8;
    cpu_copy_make(1, &state->output_count, &none, 0, &one, 0, state->size, &state->clear);
    (*out)->launch = launch_unpool;
    return NULL;
}

const Kernel cpu_unpool[] = {
    {OPERATOR_MAX_UNPOOL, DTYPES_FLOAT, plan_unpool, "cpu.max_unpool", KERNEL_PORTABLE},
    KERNELS_END,
};
