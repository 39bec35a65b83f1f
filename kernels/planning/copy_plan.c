#include "kernels/planning/copy_plan.h"

enum { ALIGNMENT = 16 };

/* The device's prepared copy follows the step in memory. */
typedef struct Step {
    _Alignas(ALIGNMENT) uint32_t input;
    uint32_t output;
} Step;

/* The steps follow the state in memory. */
typedef struct State {
    _Alignas(ALIGNMENT) const CopyPlanDevice *copies;
    size_t step_size; /* size of a step with its prepared copy */
    uint32_t count;
    uint32_t element_size;
} State;

static Step *step_at(State *state, uint32_t index) {
    return (Step *)(void *)((char *)(state + 1) + index * state->step_size);
}

static Error *launch_copies(const Plan *plan, const Launch *launch, const Shape *output_shapes) {
    State *state = plan_state(plan);
    (void)output_shapes;
    for (uint32_t i = 0; i < state->count; i++) {
        const Step *step = step_at(state, i);
        const uint64_t to = launch->outputs[step->output], from = launch->inputs[step->input];
        TRY(state->copies->run(plan, launch, step + 1, to, from));
    }
    return NULL;
}

static void add_step(void *context, uint32_t index, const StridedCopy *copy) {
    State *state = context;
    Step *step = step_at(state, index);
    step->input = copy->input;
    step->output = copy->output;
    state->copies->prepare(copy, state->element_size, step + 1);
}

Error *copy_plan_create(Device *device, const PlanRequest *request, const char *kernel_name,
    const CopyPlanDevice *copies, Plan **out) {
    OWN(Plan, plan) = NULL;
    const uint32_t count = strided_copy_count(request);
    const size_t step_size = sizeof(Step) + (copies->size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    TRY(plan_create(device, request, kernel_name, sizeof(State) + count * step_size, &plan));
    State *state = plan_state(plan);
    *state = (State){copies, step_size, count, dtype_bits(request->outputs[0].dtype) / 8};
    plan->launch = launch_copies;
    TRY(strided_copy_each(request, add_step, state));
    *out = TAKE(plan);
    return NULL;
}
