/* DFT and STFT: a unit is one transform, gathered into scratch, transformed in float64 and rounded
 * once. */
#include <string.h>

#include "kernels/cpu/loops/cpu_float_plan.h"
#include "kernels/cpu/signal/cpu_fourier.h"
#include "kernels/arguments/fourier.h"

enum {
    ELEMENTS_PER_PART = 2048,
    /* Each launch makes larger tables in the workspace, whose memory counts against the caller's
     * grant. */
    TABLES_OF_PLAN_MAX = 1 << 20
};

typedef struct State {
    FourierArguments fourier;
    int64_t dim, inner; /* DFT: [outer, dim, inner]; STFT: dim is the signal's length */
    uint64_t units;
    int64_t scratch;        /* numbers of a part */
    size_t late_bytes;      /* of tables that a launch makes */
    const CpuFourier *made; /* otherwise */
    bool wide, has_window;
} State;

typedef struct Run {
    const State *state;
    const CpuFourier *fourier;
    const void *from, *window;
    void *to;
    CpuComplex *scratch;
} Run;

/* The numbers of a unit: the first ones, and the step between them. */
typedef struct Lane {
    int64_t from, to, step;
} Lane;

static Lane lane_of(const State *state, int64_t unit) {
    const FourierArguments *fourier = &state->fourier;
    if (fourier->frames) {
        const int64_t signal = unit / fourier->frames, frame = unit % fourier->frames;
        return (Lane){signal * state->dim + frame * fourier->step, unit * fourier->bins, 1};
    }
    const int64_t outer = unit / state->inner, at = unit % state->inner;
    return (Lane){outer * state->dim * state->inner + at, outer * fourier->bins * state->inner + at,
        state->inner};
}

static void gather(const Run *run, Lane lane, CpuComplex *values) {
    const State *state = run->state;
    const FourierArguments *fourier = &state->fourier;
    KERNEL_STOP_EACH (i, 0, fourier->taken) {
        const int64_t at = lane.from + i * lane.step;
        CpuComplex value = {0, 0};
        if (fourier->complex_input)
            value = (CpuComplex){cpu_float_load(state->wide, run->from, 2 * at),
                cpu_float_load(state->wide, run->from, 2 * at + 1)};
        else
            value.re = cpu_float_load(state->wide, run->from, at);
        if (state->has_window) {
            const double weight = cpu_float_load(state->wide, run->window, i);
            value.re *= weight;
            value.im *= weight;
        }
        values[i] = value;
    }
    KERNEL_STOP_EACH (i, fourier->taken, fourier->length) values[i] = (CpuComplex){0, 0};
    /* the second half mirrors the first */
    for (int64_t i = 1; fourier->half_input && i <= (fourier->length - 1) / 2; i++)
        values[fourier->length - i] = (CpuComplex){values[i].re, -values[i].im};
}

static void scatter(const Run *run, Lane lane, const CpuComplex *values) {
    const State *state = run->state;
    const FourierArguments *fourier = &state->fourier;
    const double divisor = fourier->inverse ? (double)fourier->length : 1;
    KERNEL_STOP_EACH (i, 0, fourier->bins) {
        const int64_t at = lane.to + i * lane.step;
        if (fourier->real_output) {
            cpu_float_store(state->wide, run->to, at, values[i].re / divisor);
            continue;
        }
        cpu_float_store(state->wide, run->to, 2 * at, values[i].re / divisor);
        cpu_float_store(state->wide, run->to, 2 * at + 1, values[i].im / divisor);
    }
}

static Error *run_units(void *context, uint64_t begin, uint64_t end, uint32_t part) {
    const Run *run = context;
    const State *state = run->state;
    CpuComplex *values = run->scratch + part * state->scratch;
    for (uint64_t unit = begin; unit < end; unit++) {
        const Lane lane = lane_of(state, (int64_t)unit);
        gather(run, lane, values);
        TRY(kernel_stop_check());
        cpu_fourier_run(
            run->fourier, state->fourier.inverse, values, values + state->fourier.length);
        TRY(kernel_stop_check());
        scatter(run, lane, values);
    }
    return NULL;
}

static Error *run(const void *opaque, const CpuFloatCall *call) {
    const State *state = opaque;
    char *workspace = call->workspace;
    if (state->units == 0) return NULL;
    Run run = {
        .state = state,
        .fourier = state->made,
        .from = call->inputs[0],
        .window = state->has_window ? call->inputs[2] : NULL,
        .to = call->outputs[0],
        .scratch = (CpuComplex *)(void *)(workspace + state->late_bytes),
    };
    if (state->late_bytes) run.fourier = cpu_fourier_make(state->fourier.length, workspace);
    TRY(kernel_stop_check()); /* tables that the stop left half made are not read */
    return cpu_for_each(call->device, call->launch->threads, state->units,
        (uint64_t)(ELEMENTS_PER_PART / state->fourier.length) + 1, run_units, &run);
}

static Error *plan_of(
    Device *device, const PlanRequest *request, const char *name, State *state, Plan **out) {
    size_t bytes = 0;
    uint64_t workspace = 0;
    void *opaque;
    const int64_t length = state->fourier.length;
    state->wide = request->inputs[0].dtype == DTYPE_FLOAT64;
    if (shape_count_unchecked(&request->outputs[0].shape) == 0) state->units = 0;
    if (state->units > 0) {
        const uint64_t parts = state->units < CPU_THREADS_MAX ? state->units : CPU_THREADS_MAX;
        bytes = cpu_fourier_size(length);
        if (bytes > TABLES_OF_PLAN_MAX) {
            state->late_bytes = bytes;
            bytes = 0;
        }
        state->scratch = length + cpu_fourier_scratch(length);
        /* the length's limit keeps that far from an overflow */
        workspace = (uint64_t)state->scratch * parts * sizeof(CpuComplex) + state->late_bytes;
    }
    TRY(cpu_float_plan_create(device, request, name, sizeof(State) + bytes, run, out, &opaque));
    if (bytes) state->made = cpu_fourier_make(length, (State *)opaque + 1);
    memcpy(opaque, state, sizeof *state);
    cpu_float_plan_set_workspace(*out, workspace);
    return cpu_plan_check(out);
}

static Error *plan_dft(Device *device, const PlanRequest *request, Plan **out) {
    const Shape *x = &request->inputs[0].shape;
    State state = {0};
    TRY(fourier_of_dft(request, &state.fourier));
    const uint32_t axis = state.fourier.axis;
    state.dim = x->dims[axis];
    state.inner = shape_product(x, axis + 1, x->rank - 1);
    state.units = (uint64_t)(shape_product(x, 0, axis) * state.inner);
    return plan_of(device, request, "cpu.dft", &state, out);
}

static Error *plan_stft(Device *device, const PlanRequest *request, Plan **out) {
    State state = {.has_window = plan_request_has(request, 2)};
    TRY(fourier_of_stft(request, &state.fourier));
    state.dim = request->inputs[0].shape.dims[1];
    state.inner = 1;
    state.units = (uint64_t)(request->inputs[0].shape.dims[0] * state.fourier.frames);
    return plan_of(device, request, "cpu.stft", &state, out);
}

const Kernel cpu_dft[] = {
    {OPERATOR_DFT, DTYPES_FLOAT, plan_dft, "cpu.dft", KERNEL_PORTABLE},
    {OPERATOR_STFT, DTYPES_FLOAT, plan_stft, "cpu.stft", KERNEL_PORTABLE},
    KERNELS_END,
};
