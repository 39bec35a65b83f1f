/* QuantizeLinear and DequantizeLinear: runs of elements with the scale and zero point of each. */
#include "kernels/cpu/elementwise/cpu_small.h"
#include "kernels/cpu/loops/cpu_loop_find.h"
#include "kernels/scalar/scalar_float.h"
#include "kernels/arguments/quantization.h"

enum { RUNS_PER_PART = 16 };

typedef struct State {
    QuantizationLayout layout;
    uint64_t count;
    DType to;
    DType precision; /* in which x is divided by the scale */
    bool whole;      /* int32 divided by int32 */
    bool saturate;
    bool has_zero_point;
    CpuWiden x, scale, zero_point;
    CpuLoop *loop; /* between float32 and bytes with one scale; may be NULL */
} State;

typedef struct Run {
    const State *state;
    const void *x, *scale, *zero_point;
    void *to;
    CpuParameters parameters; /* of the loop */
} Run;

static void loop_run(const Run *run, uint64_t first, uint64_t count) {
    const bool widens = run->state->to == DTYPE_FLOAT32;
    const CpuOperand from = {(const char *)run->x + first * (widens ? 1 : sizeof(float)), 1};
    run->state->loop((char *)run->to + first * (widens ? sizeof(float) : 1), &from, (int64_t)count,
        &run->parameters);
}

/* The number of elements from `first` on whose scales are consecutive, or are the same scale
 * (*out_step 0). *out_scale: the first one's index. */
static uint64_t stretch(
    const QuantizationLayout *layout, uint64_t first, uint64_t *out_scale, bool *out_step) {
    const uint64_t inner = first % layout->inner, row = first / layout->inner;
    const uint64_t axis = row % layout->axis, outer = row / layout->axis;
    const uint64_t block = axis / layout->block;
    *out_step = layout->apart ? layout->inner > 1 : layout->inner == 1 && layout->axis > 1;
    if (layout->apart) {
        *out_scale = (outer * layout->blocks + block) * layout->inner + inner;
        if (layout->inner > 1) return layout->inner - inner;
        const uint64_t in_block = layout->block - axis % layout->block, left = layout->axis - axis;
        return in_block < left ? in_block : left;
    }
    *out_scale = axis;
    return layout->inner == 1 ? layout->axis - axis : layout->inner - inner;
}

/* Writes the scale (or zero point) of each of `count` elements. */
static void spread(const QuantizationLayout *layout, const CpuWiden *widen, const void *data,
    uint64_t first, uint64_t count, float *out) {
    for (uint64_t i = 0; i < count;) {
        uint64_t scale;
        bool step;
        uint64_t length = stretch(layout, first + i, &scale, &step);
        length = length < count - i ? length : count - i;
        if (step) {
            cpu_widen_run(widen, data, scale, length, out + i);
        } else {
            const float value = cpu_widen_one(widen, data, scale);
            for (uint64_t k = 0; k < length; k++) out[i + k] = value;
        }
        i += length;
    }
}

/* Reads both integers again: either may not fit a float32. */
static void divide_whole(const Run *run, uint64_t first, uint64_t count, float *out) {
    const int32_t *x = (const int32_t *)run->x + first, *scales = run->scale;
    for (uint64_t i = 0; i < count; i++) {
        uint64_t scale;
        bool step;
        (void)stretch(&run->state->layout, first + i, &scale, &step);
        out[i] = (float)scalar_round_f64((double)x[i] / (double)scales[scale]);
    }
}

static void quantize_run(const Run *run, uint64_t first, uint64_t count) {
    const State *state = run->state;
    const bool is_integer = dtype_is_integer(state->to);
    float values[CPU_SMALL_RUN], others[CPU_SMALL_RUN];
    if (state->whole) {
        divide_whole(run, first, count, values);
    } else {
        cpu_widen_run(&state->x, run->x, first, count, values);
        spread(&state->layout, &state->scale, run->scale, first, count, others);
        cpu_small_round(state->precision, values, count);
        cpu_small_round(state->precision, others, count);
        for (uint64_t i = 0; i < count; i++) values[i] /= others[i];
        cpu_small_round(state->precision, values, count);
    }
    for (uint64_t i = 0; is_integer && i < count; i++)
        values[i] = values[i] == values[i] ? scalar_round_f32(values[i]) : 0;
    if (state->has_zero_point) {
        spread(&state->layout, &state->zero_point, run->zero_point, first, count, others);
        /* a zero point of 0 is not added: -0 + 0 would lose the sign */
        for (uint64_t i = 0; i < count; i++)
            values[i] = others[i] != 0 ? values[i] + others[i] : values[i];
    }
    cpu_small_narrow(state->to, state->saturate, values, run->to, first, count);
}

static void dequantize_run(const Run *run, uint64_t first, uint64_t count) {
    const State *state = run->state;
    float values[CPU_SMALL_RUN], others[CPU_SMALL_RUN];
    cpu_widen_run(&state->x, run->x, first, count, values);
    if (state->has_zero_point) {
        spread(&state->layout, &state->zero_point, run->zero_point, first, count, others);
        for (uint64_t i = 0; i < count; i++) values[i] -= others[i];
    }
    spread(&state->layout, &state->scale, run->scale, first, count, others);
    for (uint64_t i = 0; i < count; i++) values[i] *= others[i];
    cpu_small_narrow(state->to, true, values, run->to, first, count);
}

#define RUNS(name, one)                                                                            \
    static Error *name(void *context, uint64_t begin, uint64_t end, uint32_t part) {               \
        const Run *run = context;                                                                  \
        (void)part;                                                                                \
        for (uint64_t i = begin; i < end; i++) {                                                   \
            const uint64_t first = i * CPU_SMALL_RUN, left = run->state->count - first;            \
            one(run, first, left < CPU_SMALL_RUN ? left : CPU_SMALL_RUN);                          \
        }                                                                                          \
        return NULL;                                                                               \
    }
RUNS(loop_runs, loop_run)
RUNS(quantize_runs, quantize_run)
RUNS(dequantize_runs, dequantize_run)

static Error *launch_runs(const Plan *plan, const Launch *launch, CpuTask *task) {
    const State *state = plan_state(plan);
    Run run = {.state = state,
        .x = cpu_input(launch, 0),
        .scale = cpu_input(launch, 1),
        .to = cpu_output(launch, 0)};
    if (state->has_zero_point) run.zero_point = cpu_input(launch, 2);
    if (state->loop) {
        task = loop_runs;
        run.parameters.alpha = (double)*(const float *)run.scale;
        if (state->has_zero_point)
            run.parameters.beta = (double)cpu_widen_one(&state->zero_point, run.zero_point, 0);
    }
    return cpu_for_each(cpu_device(plan->device), launch->threads,
        (state->count + CPU_SMALL_RUN - 1) / CPU_SMALL_RUN, RUNS_PER_PART, task, &run);
}

static Error *launch_quantize(const Plan *plan, const Launch *launch, const Shape *output_shapes) {
    (void)output_shapes;
    return launch_runs(plan, launch, quantize_runs);
}

static Error *launch_dequantize(
    const Plan *plan, const Launch *launch, const Shape *output_shapes) {
    (void)output_shapes;
    return launch_runs(plan, launch, dequantize_runs);
}

/* The type of the division, by the attribute or the scale; a scale that is not a float divides as
 * float32. */
static DType precision_of(const PlanRequest *request) {
    const DType scale = request->inputs[1].dtype;
    if (attributes_has(request->attributes, "precision"))
        return attributes_dtype(request->attributes, "precision");
    return dtype_in(DTYPES_FLOAT32_AND_HALF, scale) ? scale : DTYPE_FLOAT32;
}

static CpuLoop *loop_of(const PlanRequest *request, const State *state, CpuLevel level) {
    const DType from = request->inputs[0].dtype;
    if (shape_count_unchecked(&request->inputs[1].shape) != 1 ||
        request->inputs[1].dtype != DTYPE_FLOAT32)
        return NULL;
    if (request->operator_info->id == OPERATOR_DEQUANTIZE_LINEAR)
        return state->to == DTYPE_FLOAT32 ? cpu_loop_find_bytes(level, CPU_BYTES_DEQUANTIZE, from)
                                          : NULL;
    return from == DTYPE_FLOAT32 && state->precision == DTYPE_FLOAT32
               ? cpu_loop_find_bytes(level, CPU_BYTES_QUANTIZE, state->to)
               : NULL;
}

static Error *plan_linear(Device *device, const PlanRequest *request, Plan **out) {
    const bool quantizes = request->operator_info->id == OPERATOR_QUANTIZE_LINEAR;
    OWN(Plan, plan) = NULL;
    TRY(plan_create(device, request, quantizes ? "cpu.quantize_linear" : "cpu.dequantize_linear",
        sizeof(State), &plan));
    State *state = plan_state(plan);
    TRY(quantization_layout(request, &state->layout));
    state->count = (uint64_t)shape_count_unchecked(&request->inputs[0].shape);
    state->to = request->outputs[0].dtype;
    state->has_zero_point = plan_request_has(request, 2);
    cpu_widen_init(request->inputs[0].dtype, &state->x);
    cpu_widen_init(request->inputs[1].dtype, &state->scale);
    if (state->has_zero_point) cpu_widen_init(request->inputs[2].dtype, &state->zero_point);
    if (quantizes) {
        state->precision = precision_of(request);
        state->saturate = attributes_int(request->attributes, "saturate") != 0;
        state->whole = request->inputs[0].dtype == DTYPE_INT32 &&
                       request->inputs[1].dtype == DTYPE_INT32 &&
                       !attributes_has(request->attributes, "precision");
    }
    state->loop = loop_of(request, state, cpu_device(device)->level);
    plan->launch = quantizes ? launch_quantize : launch_dequantize;
    *out = TAKE(plan);
    return NULL;
}

const Kernel cpu_quantize[] = {
    {OPERATOR_QUANTIZE_LINEAR, DTYPES_FLOAT32_AND_HALF | DTYPE_BIT(DTYPE_INT32), plan_linear,
        "cpu.quantize_linear", KERNEL_PORTABLE},
    {OPERATOR_DEQUANTIZE_LINEAR, DTYPES_SIZED, plan_linear, "cpu.dequantize_linear",
        KERNEL_PORTABLE},
    KERNELS_END,
};
