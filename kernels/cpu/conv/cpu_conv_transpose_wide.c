/* ConvTranspose of float64: each plane of outputs adds up the channels, one kernel position after
 * the other, without fused multiply-adds. */
#include "kernels/cpu/loops/cpu_float_plan.h"
#include "kernels/cpu/conv/cpu_fold.h"

enum { TERMS_PER_PART = 65536 };

typedef struct State {
    CpuFold fold;
    int64_t planes, groups, channels, filters; /* planes: N × M; channels, filters: of a group */
    int64_t input_count, output_count, kernel_count;
    bool has_bias;
} State;

typedef struct Run {
    const State *state;
    const double *x, *w, *bias;
    double *y;
} Run;

static void add_row(void *to_, int64_t step, const void *from_, int64_t count, const void *factor) {
    double *to = to_;
    const double *from = from_, weight = *(const double *)factor;
    for (int64_t i = 0; i < count; i++) to[i * step] += from[i] * weight;
}

/* A unit is a plane. */
static Error *run_planes(void *context, uint64_t begin, uint64_t end, uint32_t part) {
    (void)part;
    const Run *run = context;
    const State *state = run->state;
    const int64_t filters = state->groups * state->filters;
    for (int64_t plane = (int64_t)begin; plane < (int64_t)end; plane++) {
        const int64_t image = plane / filters, filter = plane % filters;
        const int64_t group = filter / state->filters;
        double *y = run->y + plane * state->output_count;
        for (int64_t i = 0; i < state->output_count; i++) y[i] = run->bias ? run->bias[filter] : 0;
        for (int64_t i = 0; i < state->channels * state->kernel_count; i++) {
            TRY(kernel_stop_check());
            const int64_t channel = group * state->channels + i / state->kernel_count;
            const int64_t position = i % state->kernel_count;
            const int64_t w = (channel * state->filters + filter % state->filters);
            const double *x =
                run->x + (image * state->groups * state->channels + channel) * state->input_count;
            cpu_fold_position(
                &state->fold, position, x, &run->w[w * state->kernel_count + position], y);
        }
    }
    return NULL;
}

static Error *run(const void *opaque, const CpuFloatCall *call) {
    const State *state = opaque;
    if (state->planes * state->output_count == 0) return NULL;
    Run run = {state, (const void *)call->inputs[0], (const void *)call->inputs[1],
        state->has_bias ? (const void *)call->inputs[2] : NULL, (void *)call->outputs[0]};
    const int64_t cost =
        state->channels * state->kernel_count * state->input_count + state->output_count;
    return cpu_for_each(call->device, call->launch->threads, (uint64_t)state->planes,
        (uint64_t)(TERMS_PER_PART / cost) + 1, run_planes, &run);
}

static Error *plan(Device *device, const PlanRequest *request, Plan **out) {
    const Shape *x = &request->inputs[0].shape, *w = &request->inputs[1].shape;
    const Shape *y = &request->outputs[0].shape;
    Window window;
    void *opaque;
    TRY(window_of_transpose(request, &window));
    TRY(cpu_float_plan_create(
        device, request, "cpu.conv_transpose_wide", sizeof(State), run, out, &opaque));
    State *state = opaque;
    *state = (State){
        .planes = shape_product(y, 0, 2),
        .groups = attributes_int(request->attributes, "group"),
        .filters = w->dims[1],
        .input_count = shape_product(x, 2, x->rank),
        .output_count = shape_product(y, 2, y->rank),
        .kernel_count = shape_product(w, 2, w->rank),
        .has_bias = plan_request_has(request, 2),
    };
    state->channels = x->dims[1] / state->groups;
    cpu_fold_make(&window, window.output, window.input, sizeof(double), add_row, &state->fold);
    return NULL;
}

const Kernel cpu_conv_transpose_wide[] = {
    {OPERATOR_CONV_TRANSPOSE, DTYPE_BIT(DTYPE_FLOAT64), plan, "cpu.conv_transpose_wide",
        KERNEL_PORTABLE},
    KERNELS_END,
};
