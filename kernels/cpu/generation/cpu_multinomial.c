/* Multinomial: each sample is the class at which the running sum of e^logit passes a number drawn
 * below the whole sum. Element i's number depends on the key, the counter and i alone. */
#include <inttypes.h>
#include <math.h>

#include "kernels/cpu/core/cpu_internal.h"
#include "kernels/tensor/dtype_scalar.h"
#include "kernels/tensor/philox.h"
#include "kernels/scalar/scalar_exponential.h"

typedef struct MultinomialState {
    int64_t rows, classes, samples;
    DType dtype, out_dtype;
    bool seeded;
    uint64_t key; /* if seeded */
} MultinomialState;

typedef struct Run {
    const MultinomialState *state;
    const char *logits;
    char *samples;
    /* [rows, classes]: sums of e^(logit - the row's largest) up to and including each class */
    double *sums;
    uint64_t key, counter;
} Run;

static double logit_at(const Run *run, int64_t index) {
    double value = 0;
    const DType dtype = run->state->dtype;
    (void)dtype_scalar_read(dtype, run->logits + index * (dtype_bits(dtype) / 8), &value);
    return value;
}

/* False when the row has no distribution: a logit is NaN, or all of them are -inf. */
static bool sum_row(const Run *run, int64_t row) {
    const int64_t classes = run->state->classes;
    double *sums = run->sums + row * classes, most = -INFINITY, sum = 0;
    for (int64_t i = 0; i < classes; i++) {
        if (kernel_stop_ends_at(i)) return true; /* the caller checks the stop, too */
        sums[i] = logit_at(run, row * classes + i);
        if (isnan(sums[i])) return false;
        if (sums[i] > most) most = sums[i];
    }
    if (isinf(most)) return false;
    KERNEL_STOP_EACH (i, 0, classes) {
        sum += scalar_exp_f64(sums[i] - most);
        sums[i] = sum;
    }
    return true;
}

/* The first class whose sum exceeds the number. The last class has the whole sum. */
static int64_t class_of(const double *sums, int64_t classes, double number) {
    int64_t low = 0, high = classes - 1;
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (sums[middle] > number)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

static Error *run_rows(void *context, uint64_t begin, uint64_t end, uint32_t part) {
    (void)part;
    const Run *run = context;
    const MultinomialState *state = run->state;
    for (int64_t row = (int64_t)begin; row < (int64_t)end; row++) {
        const double *sums = run->sums + row * state->classes;
        if (!sum_row(run, row)) {
            TRY(kernel_stop_check());
            FAIL(FAILED, "Multinomial: row %" PRId64 " of the logits is no distribution", row);
        }
        KernelStopMeter meter = {0};
        TRY(kernel_stop_check());
        for (int64_t i = 0; i < state->samples; i++) {
            TRY(kernel_stop_count(&meter, 64));
            const int64_t at = row * state->samples + i;
            const double number = philox_number(run->key, run->counter, (uint64_t)at, 0);
            const int64_t drawn = class_of(sums, state->classes, number * sums[state->classes - 1]);
            if (state->out_dtype == DTYPE_INT32)
                ((int32_t *)(void *)run->samples)[at] = (int32_t)drawn;
            else
                ((int64_t *)(void *)run->samples)[at] = drawn;
        }
    }
    return NULL;
}

static Error *launch_multinomial(
    const Plan *plan, const Launch *launch, const Shape *output_shapes) {
    (void)output_shapes;
    const MultinomialState *state = plan_state(plan);
    Run run = {
        .state = state,
        .logits = cpu_input(launch, 0),
        .samples = cpu_output(launch, 0),
        .sums = cpu_workspace(launch),
        .key = state->seeded ? state->key : launch->philox_key,
        .counter = state->seeded ? 0 : launch->philox_counter,
    };
    if (state->samples == 0) return NULL;
    return cpu_for_each(cpu_device(plan->device), launch->threads, (uint64_t)state->rows,
        (uint64_t)(1024 / (state->classes + state->samples)) + 1, run_rows, &run);
}

static Error *plan(Device *device, const PlanRequest *request, Plan **out) {
    const Attributes *attributes = request->attributes;
    const Shape *x = &request->inputs[0].shape;
    TRY(plan_create(device, request, "cpu.multinomial", sizeof(MultinomialState), out));
    MultinomialState *state = plan_state(*out);
    *state = (MultinomialState){
        .rows = x->dims[0],
        .classes = x->dims[1],
        .samples = request->outputs[0].shape.dims[1],
        .dtype = request->inputs[0].dtype,
        .out_dtype = request->outputs[0].dtype,
        .seeded = attributes_has(attributes, "seed"),
    };
    if (state->seeded)
        state->key = scalar_bits_f64(attributes_float(attributes, "seed"));
    else
        (*out)->philox_draws = (uint64_t)(state->rows * state->samples) * PHILOX_NUMBER_DRAWS;
    (*out)->workspace_bytes = (uint64_t)(state->rows * state->classes) * sizeof(double);
    (*out)->launch = launch_multinomial;
    return NULL;
}

const Kernel cpu_multinomial[] = {
    {OPERATOR_MULTINOMIAL, DTYPES_FLOAT, plan, "cpu.multinomial", KERNEL_PORTABLE},
    KERNELS_END,
};
