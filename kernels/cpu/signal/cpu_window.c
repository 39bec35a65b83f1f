/* BlackmanWindow, HammingWindow, HannWindow and MelWeightMatrix: computed in float64, then cast. */
#include <math.h>
#include <string.h>

#include "kernels/cpu/core/cpu_internal.h"
#include "kernels/cpu/loops/cpu_loop_find.h"
#include "kernels/scalar/scalar_exponential.h"
#include "kernels/scalar/scalar_trigonometric.h"
#include "kernels/arguments/arguments.h"
#include "kernels/arguments/fourier.h"

enum { ELEMENTS_PER_PART = 2048, BLOCK = 256 };

/* Numbers become the output's element type. */
typedef struct Output {
    CpuLoop *cast; /* NULL: the results stay float64 */
    uint32_t size;
} Output;

static bool find_output(Device *device, DType dtype, Output *out) {
    out->size = dtype_bits(dtype) / 8;
    out->cast = cpu_loop_find_cast(cpu_device(device)->level, DTYPE_FLOAT64, dtype, false);
    return out->cast || dtype == DTYPE_FLOAT64;
}

static void write_output(
    const Output *output, void *to, int64_t at, const double *values, int64_t count) {
    const CpuOperand from = {values, 1};
    const CpuParameters none = {0};
    char *place = (char *)to + at * output->size;
    if (output->cast)
        output->cast(place, &from, count, &none);
    else
        memcpy(place, values, (size_t)count * sizeof(double));
}

/* a - b cos(angle) + c cos(2 angle), angle = 2 pi i / period */
typedef struct WindowState {
    double a, b, c, period;
    int64_t size;
    Output output;
} WindowState;

typedef struct WindowRun {
    const WindowState *state;
    void *to;
} WindowRun;

static Error *run_window(void *context, uint64_t begin, uint64_t end, uint32_t part) {
    (void)part;
    const WindowRun *run = context;
    const WindowState *state = run->state;
    double values[BLOCK];
    for (int64_t first = (int64_t)begin; first < (int64_t)end; first += BLOCK) {
        const int64_t left = (int64_t)end - first, count = left < BLOCK ? left : BLOCK;
        for (int64_t i = 0; i < count; i++) {
            const double angle = 0x1.921fb54442d18p+2 * (double)(first + i) / state->period;
            values[i] =
                state->a - state->b * scalar_cos_f64(angle) + state->c * scalar_cos_f64(2 * angle);
        }
        write_output(&state->output, run->to, first, values, count);
    }
    return NULL;
}

static Error *launch_window(const Plan *plan, const Launch *launch, const Shape *output_shapes) {
    const WindowState *state = plan_state(plan);
    WindowRun run = {state, cpu_output(launch, 0)};
    (void)output_shapes;
    return cpu_for_each(cpu_device(plan->device), launch->threads, (uint64_t)state->size,
        ELEMENTS_PER_PART, run_window, &run);
}

static Error *plan_window(Device *device, const PlanRequest *request, Plan **out) {
    WindowState state = {.a = 0.42, .b = 0.5, .c = 0.08};
    if (!find_output(device, request->outputs[0].dtype, &state.output)) return cpu_decline(out);
    TRY(arguments_int(request, 0, &state.size));
    const bool periodic = attributes_int(request->attributes, "periodic") != 0;
    state.period = (double)state.size - !periodic;
    const char *name = "cpu.blackman_window";
    if (request->operator_info->id == OPERATOR_HANN_WINDOW) {
        state.a = state.b = 0.5;
        state.c = 0;
        name = "cpu.hann_window";
    } else if (request->operator_info->id == OPERATOR_HAMMING_WINDOW) {
        state.a = 25.0 / 46;
        state.b = 21.0 / 46;
        state.c = 0;
        name = "cpu.hamming_window";
    }
    TRY(plan_create(device, request, name, sizeof state, out));
    memcpy(plan_state(*out), &state, sizeof state);
    (*out)->launch = launch_window;
    return NULL;
}

/* Triangles over the bins of a spectrum, one for each band. */
typedef struct MelState {
    MelArguments mel;
    int64_t bins;
    Output output;
} MelState;

typedef struct MelRun {
    const MelState *state;
    void *to;
} MelRun;

static double mel_of(double hertz) {
    return 2595 * scalar_log1p_f64(hertz / 700) / scalar_log_f64(10);
}

/* The bin of edge `at` (0 … bands + 1). */
static int64_t edge_of(const MelState *state, int64_t at) {
    const MelArguments *mel = &state->mel;
    const double low = mel_of(mel->low), high = mel_of(mel->high);
    const double step = (high - low) / (double)(mel->bands + 2);
    const double hertz =
        700 * scalar_expm1_f64(((double)at * step + low) / 2595 * scalar_log_f64(10));
    const double bin = floor((double)(mel->dft_length + 1) * hertz / (double)mel->sample_rate);
    return bin < (double)state->bins ? (int64_t)bin : state->bins - 1;
}

static double weight_of(int64_t bin, int64_t left, int64_t center, int64_t right) {
    if (bin >= center && bin < right) return (double)(right - bin) / (double)(right - center);
    if (bin == center) return 1;
    if (bin >= left && bin < center) return (double)(bin - left) / (double)(center - left);
    return 0;
}

/* A unit is a block of bands, whose edges are computed once. */
static Error *run_mel(void *context, uint64_t begin, uint64_t end, uint32_t part) {
    (void)part;
    const MelRun *run = context;
    const MelState *state = run->state;
    KernelStopMeter meter = {0};
    for (int64_t unit = (int64_t)begin; unit < (int64_t)end; unit++) {
        int64_t edges[BLOCK + 2];
        double values[BLOCK];
        const int64_t first = unit * BLOCK, left = state->mel.bands - first;
        const int64_t count = left < BLOCK ? left : BLOCK;
        for (int64_t i = 0; i < count + 2; i++) edges[i] = edge_of(state, first + i);
        for (int64_t bin = 0; bin < state->bins; bin++) {
            if (kernel_stop_ends_after(&meter, (uint64_t)count * 8 + 16)) return NULL;
            for (int64_t i = 0; i < count; i++)
                values[i] = weight_of(bin, edges[i], edges[i + 1], edges[i + 2]);
            write_output(&state->output, run->to, bin * state->mel.bands + first, values, count);
        }
    }
    return NULL;
}

static Error *launch_mel(const Plan *plan, const Launch *launch, const Shape *output_shapes) {
    const MelState *state = plan_state(plan);
    MelRun run = {state, cpu_output(launch, 0)};
    (void)output_shapes;
    return cpu_for_each(cpu_device(plan->device), launch->threads,
        (uint64_t)((state->mel.bands + BLOCK - 1) / BLOCK), 1, run_mel, &run);
}

static Error *plan_mel(Device *device, const PlanRequest *request, Plan **out) {
    MelState state = {0};
    if (!find_output(device, request->outputs[0].dtype, &state.output)) return cpu_decline(out);
    TRY(fourier_mel_arguments(request, &state.mel));
    state.bins = state.mel.dft_length / 2 + 1;
    TRY(plan_create(device, request, "cpu.mel_weight_matrix", sizeof state, out));
    memcpy(plan_state(*out), &state, sizeof state);
    (*out)->launch = launch_mel;
    return NULL;
}

#define DTYPES_SIZE (DTYPE_BIT(DTYPE_INT32) | DTYPE_BIT(DTYPE_INT64))

const Kernel cpu_window[] = {
    {OPERATOR_BLACKMAN_WINDOW, DTYPES_SIZE, plan_window, "cpu.blackman_window", KERNEL_PORTABLE},
    {OPERATOR_HAMMING_WINDOW, DTYPES_SIZE, plan_window, "cpu.hamming_window", KERNEL_PORTABLE},
    {OPERATOR_HANN_WINDOW, DTYPES_SIZE, plan_window, "cpu.hann_window", KERNEL_PORTABLE},
    {OPERATOR_MEL_WEIGHT_MATRIX, DTYPES_SIZE, plan_mel, "cpu.mel_weight_matrix", KERNEL_PORTABLE},
    KERNELS_END,
};
