/* CumSum and CumProd: blocks of neighbouring lanes are combined together along the axis. */
#include <string.h>

#include "kernels/cpu/core/cpu_index.h"
#include "kernels/cpu/loops/cpu_loop_find.h"
#include "kernels/tensor/dtype_scalar.h"
#include "kernels/scalar/scalar_float.h"
#include "kernels/scalar/scalar_integer.h"
#include "kernels/arguments/arguments.h"

enum { BLOCK = 512, ELEMENTS_PER_PART = 16384 };

/* [outer, dim, inner] */
typedef struct State {
    CpuLoop *combine;
    int64_t outer, dim, inner;
    DType dtype;
    uint32_t size;
    bool product, exclusive, reverse;
    uint8_t identity[8]; /* 0 or 1, of the element type */
} State;

typedef struct Run {
    const State *state;
    const char *from;
    char *to;
} Run;

/* out may be the input: an element is combined before its place is written. */
static void run_block(const Run *run, int64_t at, int64_t count) {
    const State *state = run->state;
    _Alignas(64) uint64_t total[BLOCK], next[BLOCK];
    size_t bytes = (size_t)count * state->size;
    cpu_fill(total, state->identity, state->size, count);
    int64_t step = state->inner * state->size * (state->reverse ? -1 : 1);
    int64_t offset = at * state->size;
    if (state->reverse) offset += (state->dim - 1) * state->inner * state->size;
    KernelStopMeter meter = {0};
    for (int64_t i = 0; i < state->dim; i++, offset += step) {
        if (kernel_stop_ends_after(&meter, (uint64_t)count + 64)) return;
        CpuOperand operands[2] = {{total, 1}, {run->from + offset, 1}};
        if (i == 0)
            memcpy(next, run->from + offset, bytes);
        else
            state->combine(next, operands, count, NULL);
        memcpy(run->to + offset, state->exclusive ? total : next, bytes);
        memcpy(total, next, bytes);
    }
}

/* Lanes that are adjacent in memory need no blocks: each has a running total. The order is the
 * same, and so are the bits. */
#define SCAN(name, T, combine, identity)                                                           \
    static void name(const State *state, T *to, const T *from) {                                   \
        int64_t step = state->reverse ? -1 : 1, at = state->reverse ? state->dim - 1 : 0;          \
        T total = identity;                                                                        \
        for (int64_t i = 0; i < state->dim; i++, at += step) {                                     \
            if (kernel_stop_ends_at(i)) return;                                                    \
            T next = i == 0 ? from[at] : combine(total, from[at]);                                 \
            to[at] = state->exclusive ? total : next;                                              \
            total = next;                                                                          \
        }                                                                                          \
    }
#define SCANS(name, T, s)                                                                          \
    SCAN(sum_##name, T, scalar_add_##s, 0)                                                         \
    SCAN(product_##name, T, scalar_mul_##s, 1)                                                     \
    static void scan_##name(const State *state, void *to, const void *from) {                      \
        (state->product ? product_##name : sum_##name)(state, to, from);                           \
    }
SCANS(float32, float, f32)
SCANS(float64, double, f64)
SCANS(int32, int32_t, int32)
SCANS(int64, int64_t, int64)

static bool run_scan(const Run *run, int64_t at) {
    const State *state = run->state;
    const void *from = run->from + at * state->size;
    void *to = run->to + at * state->size;
    if (state->inner != 1) return false;
    if (state->dtype == DTYPE_FLOAT32)
        scan_float32(state, to, from);
    else if (state->dtype == DTYPE_FLOAT64)
        scan_float64(state, to, from);
    else if (state->dtype == DTYPE_INT32)
        scan_int32(state, to, from);
    else if (state->dtype == DTYPE_INT64)
        scan_int64(state, to, from);
    else
        return false;
    return true;
}

static Error *run_blocks(void *context, uint64_t begin, uint64_t end, uint32_t part) {
    const Run *run = context;
    const State *state = run->state;
    int64_t per_outer = (state->inner + BLOCK - 1) / BLOCK;
    (void)part;
    for (uint64_t unit = begin; unit < end; unit++) {
        int64_t outer = (int64_t)unit / per_outer, column = (int64_t)unit % per_outer * BLOCK;
        int64_t count = state->inner - column < BLOCK ? state->inner - column : BLOCK;
        int64_t at = outer * state->dim * state->inner + column;
        if (!run_scan(run, at)) run_block(run, at, count);
    }
    return NULL;
}

static Error *launch_cum_sum(const Plan *plan, const Launch *launch, const Shape *output_shapes) {
    const State *state = plan_state(plan);
    Run run = {state, cpu_input(launch, 0), cpu_output(launch, 0)};
    (void)output_shapes;
    uint64_t units = (uint64_t)(state->outer * ((state->inner + BLOCK - 1) / BLOCK));
    if (units == 0 || state->dim == 0) return NULL;
    int64_t width = state->inner < BLOCK ? state->inner : BLOCK;
    uint64_t least = ELEMENTS_PER_PART / (uint64_t)(state->dim * width) + 1;
    return cpu_for_each(cpu_device(plan->device), launch->threads, units, least, run_blocks, &run);
}

static Error *plan_cum_sum(Device *device, const PlanRequest *request, Plan **out) {
    int64_t given;
    uint32_t axis;
    const TensorSpec *input = &request->inputs[0];
    TRY(arguments_int(request, 1, &given));
    TRY(shape_axis(given, input->shape.rank, &axis));
    const bool product = request->operator_info->id == OPERATOR_CUM_PROD;
    CpuLoop *combine = cpu_loop_find(
        cpu_device(device)->level, product ? CPU_LOOP_MUL : CPU_LOOP_ADD, input->dtype);
    if (!combine) return cpu_decline(out);
    TRY(plan_create(device, request, product ? "cpu.cum_prod" : "cpu.cum_sum", sizeof(State), out));
    State *state = plan_state(*out);
    state->combine = combine;
    state->product = product;
    /* every number type can hold it */
    (void)dtype_scalar_write(input->dtype, product, state->identity);
    state->outer = shape_product(&input->shape, 0, axis);
    state->dim = input->shape.dims[axis];
    state->inner = shape_product(&input->shape, axis + 1, input->shape.rank);
    state->dtype = input->dtype;
    state->size = dtype_bits(input->dtype) / 8;
    state->exclusive = attributes_int(request->attributes, "exclusive") != 0;
    state->reverse = attributes_int(request->attributes, "reverse") != 0;
    (*out)->launch = launch_cum_sum;
    return NULL;
}

const Kernel cpu_cum_sum[] = {
    {OPERATOR_CUM_SUM, DTYPES_NUMBER, plan_cum_sum, "cpu.cum_sum", KERNEL_PORTABLE},
    {OPERATOR_CUM_PROD, DTYPES_NUMBER, plan_cum_sum, "cpu.cum_prod", KERNEL_PORTABLE},
    KERNELS_END,
};
