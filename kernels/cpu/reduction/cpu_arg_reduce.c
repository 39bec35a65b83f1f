/* ArgMax and ArgMin: finds the extreme by the reduction loops, then its first (or last) place.
 * Short rows are gone through once. A NaN is the extreme of either kind. */
#include "kernels/cpu/core/cpu_internal.h"
#include "kernels/cpu/loops/cpu_loop_find.h"
#include "kernels/scalar/scalar_half.h"
#include "kernels/arguments/arguments.h"

enum {
    CHUNK = 256,
    LANES = 16,
    SHORT_ROW = 2 * LANES - 1,
    REDUCE_PIECE = 1 << 20,
    ELEMENTS_PER_PART = 65536
};

/* The place of an element that equals the total, which is one of them; elements are `step` apart.
 * Lanes without it are passed over, since what is the same for all lanes takes few instructions. */
#define FIND(name, T, WIDE, field, widen)                                                          \
    static bool lanes_have_##name(const T *x, WIDE wanted) {                                       \
        const int is_nan = wanted != wanted;                                                       \
        int any = 0;                                                                               \
        for (int lane = 0; lane < LANES; lane++) {                                                 \
            const WIDE y = (WIDE)widen(x[lane]);                                                   \
            any |= (y == wanted) | (is_nan & (y != y));                                            \
        }                                                                                          \
        return any;                                                                                \
    }                                                                                              \
    static int64_t find_##name(                                                                    \
        const void *from, int64_t count, int64_t step, CpuTotal total, bool last) {                \
        const T *x = from;                                                                         \
        const WIDE wanted = (WIDE)total.field;                                                     \
        KernelStopMeter meter = {0};                                                               \
        for (int64_t i = 0; i < count; i += LANES) {                                               \
            const int64_t n = count - i < LANES ? count - i : LANES;                               \
            if (kernel_stop_ends_after(&meter, LANES)) break;                                      \
            if (step == 1 && n == LANES &&                                                         \
                !lanes_have_##name(last ? x + count - LANES - i : x + i, wanted))                  \
                continue;                                                                          \
            for (int64_t j = i; j < i + n; j++) {                                                  \
                const int64_t at = last ? count - 1 - j : j;                                       \
                const WIDE y = (WIDE)widen(x[at * step]);                                          \
                if (y == wanted || (y != y && wanted != wanted)) return at;                        \
            }                                                                                      \
        }                                                                                          \
        return 0;                                                                                  \
    }
FIND(float32, float, float, f64, )
FIND(float64, double, double, f64, )
FIND(float16, uint16_t, float, f64, scalar_widen_float16)
FIND(bfloat16, uint16_t, float, f64, scalar_widen_bfloat16)
FIND(int8, int8_t, int8_t, i64, )
FIND(int16, int16_t, int16_t, i64, )
FIND(int32, int32_t, int32_t, i64, )
FIND(int64, int64_t, int64_t, i64, )
FIND(uint8, uint8_t, uint8_t, u64, )
FIND(uint16, uint16_t, uint16_t, u64, )
FIND(uint32, uint32_t, uint32_t, u64, )
FIND(uint64, uint64_t, uint64_t, u64, )

typedef int64_t Find(const void *from, int64_t count, int64_t step, CpuTotal total, bool last);

static Find *const finds[DTYPE_COUNT] = {
    [DTYPE_FLOAT32] = find_float32,
    [DTYPE_FLOAT64] = find_float64,
    [DTYPE_FLOAT16] = find_float16,
    [DTYPE_BFLOAT16] = find_bfloat16,
    [DTYPE_INT8] = find_int8,
    [DTYPE_INT16] = find_int16,
    [DTYPE_INT32] = find_int32,
    [DTYPE_INT64] = find_int64,
    [DTYPE_UINT8] = find_uint8,
    [DTYPE_UINT16] = find_uint16,
    [DTYPE_UINT32] = find_uint32,
    [DTYPE_UINT64] = find_uint64,
};

/* Rows of `size` elements, beside each other. An element is taken if it is beyond the best so far,
 * equal to it where the last place counts, or the first NaN (the last one). */
#define SHORT(name, T, WIDE, widen)                                                                \
    static int64_t place_##name(const T *x, int64_t size, bool max, bool last) {                   \
        WIDE best = (WIDE)widen(x[0]);                                                             \
        int64_t at = 0;                                                                            \
        for (int64_t k = 1; k < size; k++) {                                                       \
            const WIDE y = (WIDE)widen(x[k]);                                                      \
            const bool beyond = max ? y > best : y < best, nan = y != y, had = best != best;       \
            const bool taken = nan ? !had || last : !had && (beyond || (last && y == best));       \
            best = taken ? y : best;                                                               \
            at = taken ? k : at;                                                                   \
        }                                                                                          \
        return at;                                                                                 \
    }                                                                                              \
    static void short_##name(                                                                      \
        const void *from, int64_t rows, int64_t size, bool max, bool last, int64_t *to) {          \
        const T *x = from;                                                                         \
        KernelStopMeter meter = {0};                                                               \
        for (int64_t row = 0; row < rows; row++) {                                                 \
            if (kernel_stop_ends_after(&meter, (uint64_t)size)) return;                            \
            to[row] = place_##name(x + row * size, size, max, last);                               \
        }                                                                                          \
    }
SHORT(float32, float, float, )
SHORT(float64, double, double, )
SHORT(float16, uint16_t, float, scalar_widen_float16)
SHORT(bfloat16, uint16_t, float, scalar_widen_bfloat16)
SHORT(int8, int8_t, int8_t, )
SHORT(int16, int16_t, int16_t, )
SHORT(int32, int32_t, int32_t, )
SHORT(int64, int64_t, int64_t, )
SHORT(uint8, uint8_t, uint8_t, )
SHORT(uint16, uint16_t, uint16_t, )
SHORT(uint32, uint32_t, uint32_t, )
SHORT(uint64, uint64_t, uint64_t, )

typedef void Short(const void *from, int64_t rows, int64_t size, bool max, bool last, int64_t *to);

static Short *const shorts[DTYPE_COUNT] = {
    [DTYPE_FLOAT32] = short_float32,
    [DTYPE_FLOAT64] = short_float64,
    [DTYPE_FLOAT16] = short_float16,
    [DTYPE_BFLOAT16] = short_bfloat16,
    [DTYPE_INT8] = short_int8,
    [DTYPE_INT16] = short_int16,
    [DTYPE_INT32] = short_int32,
    [DTYPE_INT64] = short_int64,
    [DTYPE_UINT8] = short_uint8,
    [DTYPE_UINT16] = short_uint16,
    [DTYPE_UINT32] = short_uint32,
    [DTYPE_UINT64] = short_uint64,
};

/* [outer, dim, inner] to [outer, inner]. */
typedef struct State {
    const CpuReducer *reducer;
    Find *find;
    Short *short_rows; /* NULL: rows are long, or not beside each other */
    int64_t outer, dim, inner;
    uint32_t size;
    bool max, last;
} State;

typedef struct Run {
    const State *state;
    const char *from;
    int64_t *to;
} Run;

static Error *run_chunks(void *context, uint64_t begin, uint64_t end, uint32_t part) {
    const Run *run = context;
    const State *state = run->state;
    int64_t per_outer = (state->inner + CHUNK - 1) / CHUNK;
    KernelStopMeter meter = {0};
    (void)part;
    for (uint64_t unit = begin; unit < end; unit++) {
        CpuTotal totals[CHUNK];
        int64_t outer = (int64_t)unit / per_outer, column = (int64_t)unit % per_outer * CHUNK;
        int64_t count = state->inner - column < CHUNK ? state->inner - column : CHUNK;
        const char *x = run->from + (outer * state->dim * state->inner + column) * state->size;
        TRY(kernel_stop_count(&meter, (uint64_t)(state->dim * count)));
        for (int64_t i = 0; i < count; i++) totals[i] = state->reducer->identity;
        /* pieces are multiples of blocks, so that the order of comparisons stays the same */
        const int64_t piece =
            state->inner == 1 ? REDUCE_PIECE : REDUCE_PIECE / count / CHUNK * CHUNK + CHUNK;
        for (int64_t k = 0; k < state->dim; k += piece) {
            const int64_t length = state->dim - k < piece ? state->dim - k : piece;
            const char *at = x + k * state->inner * state->size;
            if (k > 0) TRY(kernel_stop_check());
            if (state->inner == 1)
                state->reducer->rows(totals, at, 1, length, length);
            else
                state->reducer->columns(totals, at, count, length, state->inner);
        }
        for (int64_t i = 0; i < count; i++)
            run->to[outer * state->inner + column + i] =
                state->find(x + i * state->size, state->dim, state->inner, totals[i], state->last);
    }
    return NULL;
}

static Error *run_short_rows(void *context, uint64_t begin, uint64_t end, uint32_t part) {
    const Run *run = context;
    const State *state = run->state;
    (void)part;
    state->short_rows(run->from + (int64_t)begin * state->dim * state->size, (int64_t)(end - begin),
        state->dim, state->max, state->last, run->to + begin);
    return kernel_stop_check();
}

static Error *launch_arg_reduce(
    const Plan *plan, const Launch *launch, const Shape *output_shapes) {
    const State *state = plan_state(plan);
    Run run = {state, cpu_input(launch, 0), cpu_output(launch, 0)};
    (void)output_shapes;
    uint64_t units = (uint64_t)(state->outer * ((state->inner + CHUNK - 1) / CHUNK));
    int64_t width = state->inner < CHUNK ? state->inner : CHUNK;
    uint64_t least = ELEMENTS_PER_PART / (uint64_t)(state->dim * (width ? width : 1)) + 1;
    if (units == 0) return NULL;
    return cpu_for_each(cpu_device(plan->device), launch->threads, units, least,
        state->short_rows ? run_short_rows : run_chunks, &run);
}

static Error *plan_arg_reduce(Device *device, const PlanRequest *request, Plan **out) {
    uint32_t axis;
    TRY(arguments_axis(request, &axis));
    const TensorSpec *input = &request->inputs[0];
    bool max = request->operator_info->id == OPERATOR_ARG_MAX;
    const CpuReducer *reducer = cpu_reducer_find(
        cpu_device(device)->level, max ? CPU_REDUCE_MAX : CPU_REDUCE_MIN, input->dtype);
    if (!reducer || !finds[input->dtype]) return cpu_decline(out);
    TRY(plan_create(device, request, "cpu.arg_reduce", sizeof(State), out));
    State *state = plan_state(*out);
    state->reducer = reducer;
    state->find = finds[input->dtype];
    state->outer = shape_product(&input->shape, 0, axis);
    state->dim = input->shape.dims[axis];
    state->inner = shape_product(&input->shape, axis + 1, input->shape.rank);
    state->size = dtype_bits(input->dtype) / 8;
    state->last = attributes_int(request->attributes, "select_last_index") != 0;
    state->max = max;
    if (state->inner == 1 && state->dim <= SHORT_ROW) state->short_rows = shorts[input->dtype];
    (*out)->launch = launch_arg_reduce;
    return NULL;
}

const Kernel cpu_arg_reduce[] = {
    {OPERATOR_ARG_MAX, DTYPES_NUMBER, plan_arg_reduce, "cpu.arg_reduce", KERNEL_PORTABLE},
    {OPERATOR_ARG_MIN, DTYPES_NUMBER, plan_arg_reduce, "cpu.arg_reduce", KERNEL_PORTABLE},
    KERNELS_END,
};
