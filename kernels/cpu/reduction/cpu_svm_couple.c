/* SvmCouple: for each row, the probabilities of classes that agree best with those of pairs of
 * classes. The method is that of Wu, Lin and Weng (2004): rounds of improvements of one class after
 * the other, until the conditions hold to 0.005 / classes. Sums, products and quotients of float32
 * in one order: the same bits everywhere. */
#include <math.h>
#include <string.h>

#include "kernels/cpu/core/cpu_internal.h"

enum { ROUNDS_MAX = 100 };

typedef struct State {
    int64_t rows, classes, pairs;
    uint64_t scratch; /* floats of one thread */
} State;

typedef struct Run {
    const State *state;
    const float *pairs;
    float *to, *scratch;
} Run;

/* form [classes, classes]: of classes t and j the probability of j against t, squared and summed
 * over j where j is t, and times its complement, negated, elsewhere. */
static Error *fill_form(const float *pairs, int64_t classes, float *form, KernelStopMeter *meter) {
    for (int64_t t = 0; t < classes; t++) form[t * classes + t] = 0;
    for (int64_t t = 0; t < classes; t++) {
        TRY(kernel_stop_count(meter, 8 * (uint64_t)classes));
        for (int64_t j = t + 1; j < classes; j++, pairs++) {
            const float own = *pairs, other = 1 - own;
            form[t * classes + j] = form[j * classes + t] = -(other * own);
            form[t * classes + t] += other * other;
            form[j * classes + j] += own * own;
        }
    }
    return NULL;
}

/* The products of the form and p; returns p Q p. */
static float multiply(const float *form, const float *p, int64_t classes, float *q_p) {
    float total = 0;
    for (int64_t t = 0; t < classes; t++) {
        float sum = 0;
        for (int64_t j = 0; j < classes; j++) sum += form[t * classes + j] * p[j];
        q_p[t] = sum;
        total += p[t] * sum;
    }
    return total;
}

static bool is_near(const float *q_p, float p_q_p, int64_t classes) {
    const float limit = 0.005f / (float)classes;
    for (int64_t t = 0; t < classes; t++)
        if (!(fabsf(q_p[t] - p_q_p) < limit)) return false;
    return true;
}

/* Improves the probability of each class, and keeps the sum of all at 1. */
static Error *improve(
    const float *form, float *p, float *q_p, float p_q_p, int64_t classes, KernelStopMeter *meter) {
    for (int64_t t = 0; t < classes; t++) {
        const float *row = form + t * classes;
        const float step = (p_q_p - q_p[t]) / row[t], grown = step + 1;
        TRY(kernel_stop_count(meter, 8 * (uint64_t)classes));
        p_q_p = (p_q_p + (step * row[t] + q_p[t] * 2) * step) / grown / grown;
        p[t] += step;
        for (int64_t j = 0; j < classes; j++) {
            q_p[j] = (q_p[j] + step * row[j]) / grown;
            p[j] /= grown;
        }
    }
    return NULL;
}

static Error *couple(
    const float *pairs, int64_t classes, float *scratch, float *p, KernelStopMeter *meter) {
    float *form = scratch, *q_p = scratch + classes * classes;
    TRY(fill_form(pairs, classes, form, meter));
    for (int64_t t = 0; t < classes; t++) p[t] = 1.0f / (float)classes;
    for (uint32_t round = 0; round < ROUNDS_MAX; round++) {
        TRY(kernel_stop_count(meter, 2 * (uint64_t)(classes * classes)));
        const float p_q_p = multiply(form, p, classes, q_p);
        if (is_near(q_p, p_q_p, classes)) return NULL;
        TRY(improve(form, p, q_p, p_q_p, classes, meter));
    }
    return NULL;
}

static Error *couple_rows(void *context, uint64_t begin, uint64_t end, uint32_t part) {
    const Run *run = context;
    const State *state = run->state;
    KernelStopMeter meter = {0};
    for (uint64_t i = begin; i < end; i++)
        TRY(couple(run->pairs + i * (uint64_t)state->pairs, state->classes,
            run->scratch + part * state->scratch, run->to + i * (uint64_t)state->classes, &meter));
    return NULL;
}

static Error *launch_couple(const Plan *plan, const Launch *launch, const Shape *output_shapes) {
    const State *state = plan_state(plan);
    const Run run = {state, cpu_input(launch, 0), cpu_output(launch, 0), cpu_workspace(launch)};
    (void)output_shapes;
    return cpu_for_each(cpu_device(plan->device), launch->threads, (uint64_t)state->rows,
        (uint64_t)(256 / (state->classes * state->classes) + 1), couple_rows, (void *)&run);
}

static Error *plan_couple(Device *device, const PlanRequest *request, Plan **out) {
    TRY(plan_create(device, request, "cpu.svm_couple", sizeof(State), out));
    State *state = plan_state(*out);
    state->rows = request->outputs[0].shape.dims[0];
    state->classes = request->outputs[0].shape.dims[1];
    state->pairs = request->inputs[0].shape.dims[1];
    state->scratch = (uint64_t)(state->classes * state->classes + state->classes);
    const uint64_t rows = (uint64_t)state->rows, most = cpu_device(device)->threads_max;
    (*out)->workspace_bytes = (rows < most ? rows : most) * state->scratch * sizeof(float);
    (*out)->launch = launch_couple;
    return NULL;
}

const Kernel cpu_svm_couple[] = {
    {OPERATOR_SVM_COUPLE, DTYPE_BIT(DTYPE_FLOAT32), plan_couple, "cpu.svm_couple", KERNEL_PORTABLE},
    KERNELS_END,
};
