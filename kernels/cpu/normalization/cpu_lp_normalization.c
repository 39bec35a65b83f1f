/* LpNormalization: lanes along an axis are divided by their norm, which is kept in float64; a lane
 * of zeros is unchanged. Neighbouring lanes are computed together. */
#include <math.h>

#include "kernels/cpu/loops/cpu_float_plan.h"
#include "kernels/scalar/scalar_base.h"
#include "kernels/arguments/arguments.h"

enum { ELEMENTS_PER_PART = 16384, BLOCK = 64 };

/* [outer, dim, inner] */
typedef struct State {
    int64_t outer, dim, inner;
    bool squares; /* true: p is 2, false: p is 1 */
    bool wide;    /* true: float64, false: float32 */
} State;

typedef struct Run {
    const State *state;
    const void *from;
    void *to;
} Run;

/* `count` lanes from element `at` on. y may be x. */
#define LP_NORMALIZATION(name, T, s)                                                               \
    static void run_block_##name(                                                                  \
        const State *state, const T *x, T *y, int64_t at, int64_t count) {                         \
        double norms[BLOCK] = {0};                                                                 \
        KernelStopMeter meter = {0};                                                               \
        for (int64_t k = 0; k < state->dim; k++) {                                                 \
            if (kernel_stop_ends_after(&meter, (uint64_t)count * 4 + 4)) return;                   \
            for (int64_t i = 0; i < count; i++) {                                                  \
                const double value = (double)x[at + k * state->inner + i];                         \
                norms[i] += state->squares ? value * value : scalar_abs_f64(value);                \
            }                                                                                      \
        }                                                                                          \
        for (int64_t i = 0; i < count; i++) norms[i] = state->squares ? sqrt(norms[i]) : norms[i]; \
        for (int64_t k = 0; k < state->dim; k++) {                                                 \
            if (kernel_stop_ends_after(&meter, (uint64_t)count * 4 + 4)) return;                   \
            for (int64_t i = 0; i < count; i++) {                                                  \
                const int64_t place = at + k * state->inner + i;                                   \
                const double value = norms[i] == 0 ? 0 : (double)x[place] / norms[i];              \
                y[place] = scalar_canonical_##s((T)value);                                         \
            }                                                                                      \
        }                                                                                          \
    }
LP_NORMALIZATION(float32, float, f32)
LP_NORMALIZATION(float64, double, f64)

static Error *run_units(void *context, uint64_t begin, uint64_t end, uint32_t part) {
    const Run *run = context;
    const State *state = run->state;
    const int64_t per_outer = (state->inner + BLOCK - 1) / BLOCK;
    (void)part;
    for (int64_t unit = (int64_t)begin; unit < (int64_t)end; unit++) {
        const int64_t column = unit % per_outer * BLOCK, left = state->inner - column;
        const int64_t at = unit / per_outer * state->dim * state->inner + column;
        const int64_t count = left < BLOCK ? left : BLOCK;
        if (state->wide)
            run_block_float64(state, run->from, run->to, at, count);
        else
            run_block_float32(state, run->from, run->to, at, count);
    }
    return NULL;
}

static Error *run(const void *opaque, const CpuFloatCall *call) {
    const State *state = opaque;
    Run run = {state, call->inputs[0], call->outputs[0]};
    if (state->dim == 0) return NULL; /* lanes of nothing cost no memory: any number */
    const int64_t width = state->inner < BLOCK ? state->inner : BLOCK;
    return cpu_for_each(call->device, call->launch->threads,
        (uint64_t)(state->outer * ((state->inner + BLOCK - 1) / BLOCK)),
        (uint64_t)(ELEMENTS_PER_PART / (state->dim * width + 1)) + 1, run_units, &run);
}

static Error *plan_lp_normalization(Device *device, const PlanRequest *request, Plan **out) {
    const Shape *input = &request->inputs[0].shape;
    uint32_t axis;
    void *opaque;
    TRY(arguments_axis(request, &axis));
    TRY(cpu_float_plan_create(
        device, request, "cpu.lp_normalization", sizeof(State), run, out, &opaque));
    State *state = opaque;
    state->outer = shape_product(input, 0, axis);
    state->dim = input->dims[axis];
    state->inner = shape_product(input, axis + 1, input->rank);
    state->squares = attributes_int(request->attributes, "p") == 2;
    state->wide = request->inputs[0].dtype == DTYPE_FLOAT64;
    return NULL;
}

const Kernel cpu_lp_normalization[] = {
    {OPERATOR_LP_NORMALIZATION, DTYPES_FLOAT, plan_lp_normalization, "cpu.lp_normalization",
        KERNEL_PORTABLE},
    KERNELS_END,
};
