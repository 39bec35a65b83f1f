/* RandomUniform and RandomNormal from Philox: element i depends on the key, the counter and i
 * alone. */
#include <string.h>

#include "kernels/cpu/core/cpu_internal.h"
#include "kernels/tensor/philox.h"
#include "kernels/scalar/scalar_half.h"

enum { ELEMENTS_PER_PART = 2048 };

typedef struct State {
    bool normal, seeded;
    double offset, scale;
    uint64_t key; /* if seeded */
    uint64_t count;
    DType dtype;
} State;

typedef struct Run {
    const State *state;
    void *to;
    uint64_t key, counter;
} Run;

static Error *run_elements(void *context, uint64_t begin, uint64_t end, uint32_t part) {
    const Run *run = context;
    const State *state = run->state;
    (void)part;
    for (uint64_t i = begin; i < end; i++) {
        double x =
            philox_number(run->key, run->counter, i, state->normal) * state->scale + state->offset;
        if (state->dtype == DTYPE_FLOAT64) ((double *)run->to)[i] = x;
        if (state->dtype == DTYPE_FLOAT32) ((float *)run->to)[i] = (float)x;
        if (state->dtype == DTYPE_FLOAT16)
            ((uint16_t *)run->to)[i] = scalar_narrow_float16(scalar_narrow_to_odd(x));
        if (state->dtype == DTYPE_BFLOAT16)
            ((uint16_t *)run->to)[i] = scalar_narrow_bfloat16(scalar_narrow_to_odd(x));
    }
    return NULL;
}

static Error *launch_random(const Plan *plan, const Launch *launch, const Shape *output_shapes) {
    const State *state = plan_state(plan);
    Run run = {state, cpu_output(launch, 0), launch->philox_key, launch->philox_counter};
    (void)output_shapes;
    if (state->seeded) {
        run.key = state->key;
        run.counter = 0;
    }
    return cpu_for_each(cpu_device(plan->device), launch->threads, state->count, ELEMENTS_PER_PART,
        run_elements, &run);
}

static Error *plan_random(Device *device, const PlanRequest *request, Plan **out) {
    const Attributes *attributes = request->attributes;
    TRY(plan_create(device, request, "cpu.random", sizeof(State), out));
    State *state = plan_state(*out);
    state->normal = request->operator_info->id == OPERATOR_RANDOM_NORMAL;
    state->dtype = request->outputs[0].dtype;
    state->count = (uint64_t)shape_count_unchecked(&request->outputs[0].shape);
    state->offset = attributes_float(attributes, state->normal ? "mean" : "low");
    state->scale = state->normal ? attributes_float(attributes, "scale")
                                 : attributes_float(attributes, "high") - state->offset;
    state->seeded = attributes_has(attributes, "seed");
    if (state->seeded) state->key = scalar_bits_f64(attributes_float(attributes, "seed"));
    if (!state->seeded) (*out)->philox_draws = state->count * PHILOX_NUMBER_DRAWS;
    (*out)->launch = launch_random;
    return NULL;
}

/* The operators have no inputs, so a row's element types are the output's. */
const Kernel cpu_random[] = {
    {OPERATOR_RANDOM_UNIFORM, DTYPES_FLOAT, plan_random, "cpu.random", KERNEL_PORTABLE},
    {OPERATOR_RANDOM_NORMAL, DTYPES_FLOAT, plan_random, "cpu.random", KERNEL_PORTABLE},
    KERNELS_END,
};
