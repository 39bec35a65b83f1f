#include "kernels/cpu/normalization/cpu_group_plan.h"

#include "kernels/cpu/loops/cpu_float_plan.h"

enum { ELEMENTS_PER_PART = 16384 };

typedef struct State {
    ReduceGroups groups;
    CpuGroupRun *run;
    CpuLevel level;
    bool is_empty; /* the output has no elements; the number of groups may still be any */
} State;

typedef struct Run {
    const State *state;
    const void *from;
    void *to;
} Run;

static Error *run_units(void *context, uint64_t begin, uint64_t end, uint32_t part) {
    const Run *run = context;
    (void)part;
    for (uint64_t unit = begin; unit < end; unit++) {
        const CpuGroupChunk chunk = cpu_group_chunk(&run->state->groups, run->state->level, unit);
        run->state->run(&chunk, run->from, run->to);
    }
    return NULL;
}

static Error *run(const void *opaque, const CpuFloatCall *call) {
    const State *state = opaque;
    Run run = {state, call->inputs[0], call->outputs[0]};
    const int64_t elements = cpu_group_elements(&state->groups);
    if (state->is_empty) return NULL;
    return cpu_for_each(call->device, call->launch->threads, cpu_group_chunks(&state->groups),
        (uint64_t)(ELEMENTS_PER_PART / (elements + 1)) + 1, run_units, &run);
}

Error *cpu_group_plan_create(Device *device, const PlanRequest *request, const char *kernel_name,
    const bool reduced[SHAPE_RANK_MAX], CpuGroupRun *run_float32, CpuGroupRun *run_float64,
    Plan **out) {
    void *opaque;
    TRY(cpu_float_plan_create(device, request, kernel_name, sizeof(State), run, out, &opaque));
    State *state = opaque;
    reduce_groups_make(&request->inputs[0].shape, reduced, &state->groups);
    state->run = request->inputs[0].dtype == DTYPE_FLOAT64 ? run_float64 : run_float32;
    state->level = cpu_device(device)->level;
    state->is_empty = shape_count_unchecked(&request->outputs[0].shape) == 0;
    return NULL;
}
