/* RandomUniform and RandomNormal: the numbers that the cpu draws. */
#include "kernels/cuda/planners/cuda_internal.h"
#include "kernels/tensor/philox.h"

typedef struct State {
    CudaRandomParams params;
    bool seeded; /* key and counter are the plan's */
} State;

static Error *launch_random(const Plan *plan, const Launch *launch, const Shape *output_shapes) {
    const State *state = plan_state(plan);
    CudaRandomParams params = state->params;
    (void)output_shapes;
    params.to = launch->outputs[0];
    if (!state->seeded) {
        params.key = launch->philox_key;
        params.counter = launch->philox_counter;
    }
    return cuda_run_units(plan, launch, CUDA_KERNEL_RANDOM, params.count, &params, sizeof params);
}

static Error *plan_random(Device *device, const PlanRequest *request, Plan **out) {
    const Attributes *attributes = request->attributes;
    const bool normal = request->operator_info->id == OPERATOR_RANDOM_NORMAL;
    TRY(plan_create(device, request, "cuda.random", sizeof(State), out));
    State *state = plan_state(*out);
    CudaRandomParams *params = &state->params;
    params->normal = normal;
    params->dtype = request->outputs[0].dtype;
    params->count = (uint64_t)shape_count_unchecked(&request->outputs[0].shape);
    params->offset = attributes_float(attributes, normal ? "mean" : "low");
    params->scale = normal ? attributes_float(attributes, "scale")
                           : attributes_float(attributes, "high") - params->offset;
    state->seeded = attributes_has(attributes, "seed");
    if (state->seeded) params->key = scalar_bits_f64(attributes_float(attributes, "seed"));
    if (!state->seeded) (*out)->philox_draws = params->count * PHILOX_NUMBER_DRAWS;
    (*out)->launch = launch_random;
    return NULL;
}

/* The operators have no inputs, so a row's element types are the output's. */
const Kernel cuda_random[] = {
    {OPERATOR_RANDOM_UNIFORM, DTYPES_FLOAT, plan_random, "cuda.random", 0},
    {OPERATOR_RANDOM_NORMAL, DTYPES_FLOAT, plan_random, "cuda.random", 0},
    KERNELS_END,
};
