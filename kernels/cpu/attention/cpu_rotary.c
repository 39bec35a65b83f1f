/* RotaryEmbedding: rotates pairs of columns of a head by the angles of the row's position. Sums of
 * two products without fused multiply-adds: the same bits everywhere. */
#include <inttypes.h>
#include <string.h>

#include "kernels/cpu/loops/cpu_float_plan.h"
#include "kernels/cpu/core/cpu_index.h"
#include "kernels/cpu/core/cpu_vector.h"

typedef struct RotaryState {
    int64_t batch, heads, rows, size;
    int64_t half;      /* pairs to rotate; the columns behind them are copied */
    int64_t positions; /* rows of the caches that positions choose from; 0: each row has its own */
    /* true for [batch, rows, heads, size], false for [batch, heads, rows, size] */
    bool rows_first;
    bool interleaved, wide; /* wide: float64 */
} RotaryState;

typedef struct Run {
    const RotaryState *state;
    const void *x, *cosines, *sines;
    const int64_t *positions;
    void *y;
} Run;

#define DEFINE_TURN(name, T)                                                                       \
    CPU_INLINE void name(                                                                          \
        const RotaryState *state, const T *x, const T *cosines, const T *sines, T *y) {            \
        const int64_t half = state->half, step = state->interleaved ? 2 : 1;                       \
        const int64_t other = state->interleaved ? 1 : half;                                       \
        KERNEL_STOP_EACH (i, 0, half) {                                                            \
            const T a = x[i * step], b = x[i * step + other];                                      \
            y[i * step] = cosines[i] * a - sines[i] * b;                                           \
            y[i * step + other] = sines[i] * a + cosines[i] * b;                                   \
        }                                                                                          \
        memcpy(y + 2 * half, x + 2 * half, (size_t)(state->size - 2 * half) * sizeof(T));          \
    }
DEFINE_TURN(turn_f32, float)
DEFINE_TURN(turn_f64, double)

/* A unit is a row of a batch: all its heads have the same angles. */
static Error *run_rows(void *context, uint64_t begin, uint64_t end, uint32_t part) {
    (void)part;
    const Run *run = context;
    const RotaryState *state = run->state;
    const CpuIndices positions = {run->positions, true};
    KernelStopMeter meter = {0};
    for (int64_t unit = (int64_t)begin; unit < (int64_t)end; unit++) {
        int64_t angle = unit;
        if (run->positions) {
            const int64_t position = cpu_index_load(&positions, unit);
            /* counted from the start: position -1 is no angle */
            if (position < 0 || position >= state->positions)
                FAIL(FAILED,
                    "RotaryEmbedding: position %" PRId64 " at %" PRId64 " is outside [0, %" PRId64
                    "]",
                    position, unit, state->positions - 1);
            angle = position;
        }
        angle *= state->half;
        const int64_t n = unit / state->rows, row = unit % state->rows;
        for (int64_t head = 0; head < state->heads; head++) {
            if (kernel_stop_ends_after(&meter, (uint64_t)state->size + 16)) return NULL;
            const int64_t before = state->rows_first
                                       ? (n * state->rows + row) * state->heads + head
                                       : (n * state->heads + head) * state->rows + row;
            const int64_t at = before * state->size;
            if (state->wide)
                turn_f64(state, (const double *)run->x + at, (const double *)run->cosines + angle,
                    (const double *)run->sines + angle, (double *)run->y + at);
            else
                turn_f32(state, (const float *)run->x + at, (const float *)run->cosines + angle,
                    (const float *)run->sines + angle, (float *)run->y + at);
        }
    }
    return NULL;
}

static Error *run(const void *opaque, const CpuFloatCall *call) {
    const RotaryState *state = opaque;
    static const double nothing = 0; /* stands for caches of no columns, which have no address */
    Run run = {
        .state = state,
        .x = call->inputs[0],
        .cosines = call->inputs[1] ? call->inputs[1] : (const void *)&nothing,
        .sines = call->inputs[2] ? call->inputs[2] : (const void *)&nothing,
        .positions = (const int64_t *)(const void *)call->inputs[3],
        .y = call->outputs[0],
    };
    if (state->heads * state->size == 0) return NULL;
    return cpu_for_each(call->device, call->launch->threads, (uint64_t)(state->batch * state->rows),
        (uint64_t)(16384 / (state->heads * state->size)) + 1, run_rows, &run);
}

static Error *plan(Device *device, const PlanRequest *request, Plan **out) {
    const Attributes *attributes = request->attributes;
    const Shape *x = &request->inputs[0].shape;
    const bool rows_first = x->rank == 3;
    const int64_t rotated = attributes_int(attributes, "rotary_embedding_dim");
    RotaryState rotary = {
        .batch = x->dims[0],
        .heads = rows_first ? attributes_int(attributes, "num_heads") : x->dims[1],
        .rows = x->dims[rows_first ? 1 : 2],
        .positions = plan_request_has(request, 3) ? request->inputs[1].shape.dims[0] : 0,
        .rows_first = rows_first,
        .interleaved = attributes_int(attributes, "interleaved") != 0,
        .wide = request->inputs[0].dtype == DTYPE_FLOAT64,
    };
    rotary.size = rows_first ? x->dims[2] / rotary.heads : x->dims[3];
    rotary.half = (rotated ? rotated : rotary.size) / 2;
    void *state;
    TRY(cpu_float_plan_create(
        device, request, "cpu.rotary", sizeof(RotaryState), run, out, &state));
    *(RotaryState *)state = rotary;
    return NULL;
}

const Kernel cpu_rotary[] = {
    {OPERATOR_ROTARY_EMBEDDING, DTYPES_FLOAT, plan, "cpu.rotary", KERNEL_PORTABLE},
    KERNELS_END,
};
