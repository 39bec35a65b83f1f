/* RegexFullMatch: threads share the elements, and each has scratch of its own. */
#include "kernels/cpu/strings/cpu_strings.h"
#include "kernels/tensor/regex.h"

typedef struct State {
    int64_t count;
    Regex *regex;
    size_t scratch_size; /* of one thread, a multiple of 8 */
} State;

typedef struct Run {
    const State *state;
    const void *from;
    uint8_t *to;
    char *scratch;
} Run;

static Error *match_elements(void *context, uint64_t begin, uint64_t end, uint32_t part) {
    const Run *run = context;
    const State *state = run->state;
    void *scratch = run->scratch + part * state->scratch_size;
    for (uint64_t i = begin; i < end; i++) {
        StringView text = string_tensor_at(run->from, state->count, (int64_t)i);
        run->to[i] = regex_matches(state->regex, text.text, (size_t)text.size, scratch);
    }
    return NULL;
}

static Error *launch_match(const Plan *plan, const Launch *launch, const Shape *output_shapes) {
    const State *state = plan_state(plan);
    Run run = {state, cpu_input(launch, 0), cpu_output(launch, 0), cpu_workspace(launch)};
    (void)output_shapes;
    return cpu_for_each(cpu_device(plan->device), launch->threads, (uint64_t)state->count, 64,
        match_elements, &run);
}

static void destroy(Plan *plan) {
    State *state = plan_state(plan);
    regex_release(state->regex);
    plan_free(plan);
}

static Error *plan_match(Device *device, const PlanRequest *request, Plan **out) {
    OWN(Regex, regex) = NULL;
    TRY(regex_create(attributes_text(request->attributes, "pattern"), &regex));
    TRY(plan_create(device, request, "cpu.regex_full_match", sizeof(State), out));
    State *state = plan_state(*out);
    state->count = shape_count_unchecked(&request->inputs[0].shape);
    state->scratch_size = (regex_scratch_size(regex) + 7) & ~(size_t)7;
    state->regex = TAKE(regex);
    (*out)->workspace_bytes = state->scratch_size * cpu_device(device)->threads_max;
    (*out)->destroy = destroy;
    (*out)->launch = launch_match;
    return NULL;
}

const Kernel cpu_regex_full_match[] = {
    {OPERATOR_REGEX_FULL_MATCH, DTYPES_STRING, plan_match, "cpu.regex_full_match", KERNEL_PORTABLE},
    KERNELS_END,
};
