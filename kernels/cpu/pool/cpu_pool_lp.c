#include "kernels/cpu/pool/cpu_pool_lp.h"

#include <math.h>

#include "kernels/cpu/loops/cpu_float_plan.h"
#include "kernels/scalar/scalar_power.h"

enum { ELEMENTS_PER_PART = 16384 };

static double power(double x, int64_t p) {
    if (p == 1) return fabs(x);
    return p == 2 ? x * x : scalar_pow_f64(fabs(x), (double)p);
}

static double root(double x, int64_t p) {
    if (p == 1) return x;
    return p == 2 ? sqrt(x) : scalar_pow_f64(x, 1 / (double)p);
}

typedef struct Powers {
    int64_t p;
    const void *from;
    void *to;
    bool wide;
} Powers;

static Error *run_powers(void *context, uint64_t begin, uint64_t end, uint32_t part) {
    (void)part;
    const Powers *powers = context;
    for (uint64_t i = begin; i < end; i++) {
        if (powers->wide)
            ((double *)powers->to)[i] = power(((const double *)powers->from)[i], powers->p);
        else
            ((float *)powers->to)[i] =
                (float)power((double)((const float *)powers->from)[i], powers->p);
    }
    return NULL;
}

Error *cpu_pool_lp_powers(CpuDevice *device, uint32_t threads, int64_t p, uint32_t size,
    uint64_t count, const void *from, void *to) {
    Powers powers = {p, from, to, size == sizeof(double)};
    return cpu_for_each(device, threads, count, ELEMENTS_PER_PART, run_powers, &powers);
}

void cpu_pool_lp_roots(int64_t p, uint32_t size, int64_t count, void *values) {
    KERNEL_STOP_EACH (i, 0, count) {
        if (size == sizeof(double))
            ((double *)values)[i] = root(((double *)values)[i], p);
        else
            ((float *)values)[i] = (float)root((double)((float *)values)[i], p);
    }
}

/* GlobalLpPool: each plane becomes one number, added up in float64. */
typedef struct State {
    int64_t p, planes, size;
    bool wide;
} State;

typedef struct Run {
    const State *state;
    const void *x;
    void *y;
} Run;

static Error *run_planes(void *context, uint64_t begin, uint64_t end, uint32_t part) {
    (void)part;
    const Run *run = context;
    const State *state = run->state;
    for (int64_t plane = (int64_t)begin; plane < (int64_t)end; plane++) {
        double sum = 0;
        KERNEL_STOP_EACH (i, plane * state->size, (plane + 1) * state->size)
            sum += power(
                state->wide ? ((const double *)run->x)[i] : (double)((const float *)run->x)[i],
                state->p);
        if (state->wide)
            ((double *)run->y)[plane] = root(sum, state->p);
        else
            ((float *)run->y)[plane] = (float)root(sum, state->p);
    }
    return NULL;
}

static Error *run(const void *opaque, const CpuFloatCall *call) {
    const State *state = opaque;
    Run run = {state, call->inputs[0], call->outputs[0]};
    if (state->planes == 0) return NULL;
    return cpu_for_each(call->device, call->launch->threads, (uint64_t)state->planes,
        (uint64_t)(ELEMENTS_PER_PART / state->size) + 1, run_planes, &run);
}

static Error *plan_global(Device *device, const PlanRequest *request, Plan **out) {
    const Shape *x = &request->inputs[0].shape;
    void *opaque;
    TRY(cpu_float_plan_create(
        device, request, "cpu.global_lp_pool", sizeof(State), run, out, &opaque));
    State *state = opaque;
    state->p = attributes_int(request->attributes, "p");
    state->planes = shape_product(x, 0, 2);
    state->size = shape_product(x, 2, x->rank); /* the shape rule refuses empty inputs */
    state->wide = request->inputs[0].dtype == DTYPE_FLOAT64;
    return NULL;
}

const Kernel cpu_pool_lp[] = {
    {OPERATOR_GLOBAL_LP_POOL, DTYPES_FLOAT, plan_global, "cpu.global_lp_pool", KERNEL_PORTABLE},
    KERNELS_END,
};
