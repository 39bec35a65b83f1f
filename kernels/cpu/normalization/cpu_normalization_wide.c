/* Softmax, LogSoftmax, LRN and the normalisations of float64: plain loops in the order of the
 * elements.
 */
#include <math.h>

#include "kernels/cpu/loops/cpu_float_plan.h"
#include "kernels/cpu/loops/cpu_loop_find.h"
#include "kernels/scalar/scalar_exponential.h"
#include "kernels/scalar/scalar_power.h"

typedef struct WideState {
    Shape shape;                /* of x */
    int64_t outer, size, inner; /* a row: `size` elements, `inner` apart */
    OperatorId operator_id;
    double epsilon;
    int64_t scale[SHAPE_RANK_MAX], bias[SHAPE_RANK_MAX]; /* strides along x */
    bool has_bias, mean_wanted, deviation_wanted, float32_statistics;
    CpuLoop *exp; /* of a softmax */
} WideState;

enum { SOFTMAX_GROUP = 512 }; /* elements of short rows that are taken together */

typedef struct Run {
    const WideState *state;
    const double *x, *scale, *bias, *channel_mean, *channel_variance;
    double *y;
    void *mean, *deviation; /* results */
} Run;

static int64_t along(const Shape *shape, const int64_t *strides, int64_t index) {
    int64_t offset = 0;
    for (uint32_t d = shape->rank; d-- > 0; index /= shape->dims[d])
        offset += index % shape->dims[d] * strides[d];
    return offset;
}

static double row_most(const double *x, int64_t size, int64_t step) {
    double most = -__builtin_inf();
    KERNEL_STOP_EACH (i, 0, size) most = x[i * step] > most ? x[i * step] : most;
    return most;
}

static void log_softmax_row(const WideState *state, const double *x, double *y) {
    const int64_t step = state->inner;
    const double most = row_most(x, state->size, step);
    double sum = 0;
    KERNEL_STOP_EACH (i, 0, state->size) sum += scalar_exp_f64(x[i * step] - most);
    const double log_sum = scalar_log_f64(sum);
    KERNEL_STOP_EACH (i, 0, state->size) y[i * step] = x[i * step] - most - log_sum;
}

static void softmax_row(const WideState *state, const double *x, double *y) {
    const int64_t step = state->inner;
    const double most = row_most(x, state->size, step);
    double sum = 0;
    KERNEL_STOP_EACH (i, 0, state->size) {
        y[i * step] = scalar_exp_f64(x[i * step] - most);
        sum += y[i * step];
    }
    KERNEL_STOP_EACH (i, 0, state->size) y[i * step] /= sum;
}

/* As softmax_row, for rows beside each other: one loop takes the exponentials of all, which has the
 * bits of scalar_exp_f64. */
static void softmax_rows(const WideState *state, const double *x, int64_t rows, double *y) {
    const int64_t size = state->size, count = rows * size;
    const CpuParameters none = {0};
    for (int64_t row = 0; row < rows; row++) {
        const double most = row_most(x + row * size, size, 1);
        KERNEL_STOP_EACH (i, row * size, (row + 1) * size) y[i] = x[i] - most;
    }
    for (int64_t begin = 0, end; begin < count && !kernel_stop_ends(); begin = end) {
        const CpuOperand operand = {y + begin, 1};
        end = kernel_stop_piece(begin, count);
        state->exp(y + begin, &operand, end - begin, &none);
    }
    for (int64_t row = 0; row < rows; row++) {
        double sum = 0;
        KERNEL_STOP_EACH (i, row * size, (row + 1) * size) sum += y[i];
        KERNEL_STOP_EACH (i, row * size, (row + 1) * size) y[i] /= sum;
    }
}

static void put_statistic(const WideState *state, void *to, int64_t row, double value) {
    if (state->float32_statistics)
        ((float *)to)[row] = (float)value;
    else
        ((double *)to)[row] = value;
}

static void normalize_row(const Run *run, int64_t row) {
    const WideState *state = run->state;
    const double *x = run->x + row * state->size;
    double sum = 0, squares = 0, mean = 0;
    if (state->operator_id != OPERATOR_RMS_NORMALIZATION) {
        KERNEL_STOP_EACH (i, 0, state->size) sum += x[i];
        mean = sum / (double)state->size;
    }
    KERNEL_STOP_EACH (i, 0, state->size) squares += (x[i] - mean) * (x[i] - mean);
    const double inverse = 1 / sqrt(squares / (double)state->size + state->epsilon);
    KERNEL_STOP_EACH (i, 0, state->size) {
        const int64_t at = row * state->size + i;
        double value = (x[i] - mean) * inverse * run->scale[along(&state->shape, state->scale, at)];
        if (state->has_bias) value += run->bias[along(&state->shape, state->bias, at)];
        run->y[at] = value;
    }
    if (state->mean_wanted) put_statistic(state, run->mean, row, mean);
    if (state->deviation_wanted) put_statistic(state, run->deviation, row, inverse);
}

static void scale_row(const Run *run, int64_t row) {
    const WideState *state = run->state;
    const int64_t channel = row % state->outer;
    const double factor =
        run->scale[channel] / sqrt(run->channel_variance[channel] + state->epsilon);
    KERNEL_STOP_EACH (i, row * state->size, (row + 1) * state->size)
        run->y[i] = (run->x[i] - run->channel_mean[channel]) * factor + run->bias[channel];
}

static Error *run_units(void *context, uint64_t begin, uint64_t end, uint32_t part) {
    (void)part;
    const Run *run = context;
    const WideState *state = run->state;
    for (int64_t i = (int64_t)begin; i < (int64_t)end; i++) {
        const int64_t at = i / state->inner * state->size * state->inner + i % state->inner;
        if (state->operator_id == OPERATOR_BATCH_NORMALIZATION)
            scale_row(run, i);
        else if (state->operator_id == OPERATOR_SOFTMAX && state->inner == 1) {
            const int64_t most = SOFTMAX_GROUP / state->size + 1, left = (int64_t)end - i;
            const int64_t rows = left < most ? left : most;
            softmax_rows(state, run->x + at, rows, run->y + at);
            i += rows - 1;
        } else if (state->operator_id == OPERATOR_SOFTMAX)
            softmax_row(state, run->x + at, run->y + at);
        else if (state->operator_id == OPERATOR_LOG_SOFTMAX)
            log_softmax_row(state, run->x + at, run->y + at);
        else
            normalize_row(run, i);
    }
    return NULL;
}

static Error *run(const void *opaque, const CpuFloatCall *call) {
    const WideState *state = opaque;
    const bool softmax =
        state->operator_id == OPERATOR_SOFTMAX || state->operator_id == OPERATOR_LOG_SOFTMAX;
    const bool statistics = state->mean_wanted || state->deviation_wanted;
    /* rows without elements cost no memory, so there may be any number of them */
    if (state->size == 0 && (softmax || !statistics)) return NULL;
    static const double nothing = 0; /* stands for operands of size 0, which have no address */
    const void *x = call->inputs[0];
    Run run = {.state = state, .x = x ? x : &nothing, .y = (void *)call->outputs[0]};
    run.scale = (const void *)call->inputs[1];
    run.bias = (const void *)call->inputs[2];
    run.channel_mean = (const void *)call->inputs[3];
    run.channel_variance = (const void *)call->inputs[4];
    run.mean = (void *)call->outputs[1];
    run.deviation = (void *)call->outputs[2];
    int64_t rows = state->outer * state->inner;
    if (state->operator_id == OPERATOR_BATCH_NORMALIZATION)
        rows = state->outer ? state->shape.dims[0] * state->outer : 0;
    return cpu_for_each(call->device, call->launch->threads, (uint64_t)rows,
        (uint64_t)(4096 / (state->size + 1)) + 1, run_units, &run);
}

static Error *make(
    Device *device, const PlanRequest *request, uint32_t axis, Plan **out, WideState **out_state) {
    const Shape *x = &request->inputs[0].shape;
    void *opaque;
    TRY(cpu_float_plan_create(
        device, request, "cpu.normalization_wide", sizeof(WideState), run, out, &opaque));
    WideState *state = opaque;
    state->shape = *x;
    state->operator_id = request->operator_info->id;
    state->outer = shape_product(x, 0, axis);
    state->size = shape_product(x, axis, x->rank);
    state->inner = 1;
    *out_state = state;
    return NULL;
}

static Error *plan_softmax(Device *device, const PlanRequest *request, Plan **out) {
    const Shape *x = &request->inputs[0].shape;
    uint32_t axis;
    TRY(shape_axis(attributes_int(request->attributes, "axis"), x->rank, &axis));
    WideState *state;
    TRY(make(device, request, axis, out, &state));
    state->size = x->dims[axis];
    state->inner = shape_product(x, axis + 1, x->rank);
    state->exp = cpu_loop_find(cpu_device(device)->level, CPU_LOOP_EXP, DTYPE_FLOAT64);
    return NULL;
}

static Error *plan_rows(Device *device, const PlanRequest *request, Plan **out) {
    const Shape *x = &request->inputs[0].shape;
    if (!cpu_float_plan_takes(request)) return cpu_decline(out);
    uint32_t axis;
    TRY(shape_axis(attributes_int(request->attributes, "axis"), x->rank, &axis));
    WideState *state;
    TRY(make(device, request, axis, out, &state));
    state->epsilon = attributes_float(request->attributes, "epsilon");
    state->has_bias = request->input_count > 2 && request->inputs[2].present;
    state->mean_wanted = request->output_count > 1 && request->outputs[1].present;
    state->deviation_wanted = request->output_count > 2 && request->outputs[2].present;
    state->float32_statistics = state->mean_wanted && request->outputs[1].dtype == DTYPE_FLOAT32;
    if (state->deviation_wanted && request->outputs[2].dtype == DTYPE_FLOAT32)
        state->float32_statistics = true;
    shape_broadcast_strides(&request->inputs[1].shape, x, state->scale);
    if (state->has_bias) shape_broadcast_strides(&request->inputs[2].shape, x, state->bias);
    return NULL;
}

static Error *plan_instances(Device *device, const PlanRequest *request, Plan **out) {
    WideState *state;
    TRY(make(device, request, 2, out, &state));
    state->epsilon = attributes_float(request->attributes, "epsilon");
    state->has_bias = true;
    state->scale[1] = state->bias[1] = 1;
    return NULL;
}

static Error *plan_batch(Device *device, const PlanRequest *request, Plan **out) {
    const Shape *x = &request->inputs[0].shape;
    if (attributes_int(request->attributes, "training_mode") != 0) return cpu_decline(out);
    if (!cpu_float_plan_takes(request)) return cpu_decline(out);
    WideState *state;
    TRY(make(device, request, x->rank > 1 ? 2 : 1, out, &state));
    state->epsilon = attributes_float(request->attributes, "epsilon");
    state->outer = x->rank > 1 ? x->dims[1] : 1; /* channels */
    return NULL;
}

/* A row is a group of channels; scale and bias are those of each element's channel. */
static Error *plan_groups(Device *device, const PlanRequest *request, Plan **out) {
    const Shape *x = &request->inputs[0].shape;
    const int64_t groups = attributes_int(request->attributes, "num_groups");
    WideState *state;
    TRY(make(device, request, 1, out, &state));
    state->epsilon = attributes_float(request->attributes, "epsilon");
    state->has_bias = true;
    state->outer = x->dims[0] * groups;
    state->size = x->dims[1] / groups * shape_product(x, 2, x->rank);
    state->scale[1] = state->bias[1] = 1;
    return NULL;
}

/* ---- LRN ---- */

typedef struct LrnState {
    int64_t channels, pixels, planes;
    int64_t before, after; /* neighbours of a channel */
    double factor, bias, beta;
} LrnState;

typedef struct LrnRun {
    const LrnState *state;
    const double *x;
    double *y;
} LrnRun;

static Error *run_planes(void *context, uint64_t begin, uint64_t end, uint32_t part) {
    (void)part;
    const LrnRun *run = context;
    const LrnState *state = run->state;
    KernelStopMeter meter = {0};
    for (int64_t plane = (int64_t)begin; plane < (int64_t)end; plane++) {
        const int64_t channel = plane % state->channels, image = plane - channel;
        const int64_t first = channel > state->before ? channel - state->before : 0;
        int64_t last = channel + state->after;
        if (last > state->channels - 1) last = state->channels - 1;
        for (int64_t i = 0; i < state->pixels; i++) {
            double sum = 0;
            if (kernel_stop_ends_after(&meter, (uint64_t)(last - first) + 32)) return NULL;
            for (int64_t c = first; c <= last; c++) {
                const double x = run->x[(image + c) * state->pixels + i];
                sum += x * x;
            }
            const int64_t at = plane * state->pixels + i;
            run->y[at] = scalar_canonical_f64(
                run->x[at] / scalar_pow_f64(state->bias + state->factor * sum, state->beta));
        }
    }
    return NULL;
}

static Error *run_lrn(const void *opaque, const CpuFloatCall *call) {
    const LrnState *state = opaque;
    LrnRun run = {state, (const void *)call->inputs[0], (void *)call->outputs[0]};
    if (state->pixels == 0) return NULL;
    return cpu_for_each(call->device, call->launch->threads, (uint64_t)state->planes,
        (uint64_t)(1024 / (state->pixels + 1)) + 1, run_planes, &run);
}

static Error *plan_lrn(Device *device, const PlanRequest *request, Plan **out) {
    const Shape *x = &request->inputs[0].shape;
    const int64_t size = attributes_int(request->attributes, "size");
    void *opaque;
    TRY(cpu_float_plan_create(
        device, request, "cpu.normalization_wide", sizeof(LrnState), run_lrn, out, &opaque));
    LrnState *state = opaque;
    state->channels = x->dims[1];
    state->planes = shape_product(x, 0, 2);
    state->pixels = shape_product(x, 2, x->rank);
    state->before = (size - 1) / 2;
    state->after = size - 1 - state->before;
    state->factor = attributes_float(request->attributes, "alpha") / (double)size;
    state->bias = attributes_float(request->attributes, "bias");
    state->beta = attributes_float(request->attributes, "beta");
    return NULL;
}

#define FLOAT64 DTYPE_BIT(DTYPE_FLOAT64)

const Kernel cpu_normalization_wide[] = {
    {OPERATOR_SOFTMAX, FLOAT64, plan_softmax, "cpu.normalization_wide", KERNEL_PORTABLE},
    {OPERATOR_LOG_SOFTMAX, FLOAT64, plan_softmax, "cpu.normalization_wide", KERNEL_PORTABLE},
    {OPERATOR_LAYER_NORMALIZATION, FLOAT64, plan_rows, "cpu.normalization_wide", KERNEL_PORTABLE},
    {OPERATOR_RMS_NORMALIZATION, FLOAT64, plan_rows, "cpu.normalization_wide", KERNEL_PORTABLE},
    {OPERATOR_INSTANCE_NORMALIZATION, FLOAT64, plan_instances, "cpu.normalization_wide",
        KERNEL_PORTABLE},
    {OPERATOR_LRN, FLOAT64, plan_lrn, "cpu.normalization_wide", KERNEL_PORTABLE},
    {OPERATOR_GROUP_NORMALIZATION, FLOAT64, plan_groups, "cpu.normalization_wide", KERNEL_PORTABLE},
    {OPERATOR_BATCH_NORMALIZATION, FLOAT64, plan_batch, "cpu.normalization_wide", KERNEL_PORTABLE},
    KERNELS_END,
};
