/* GlobalAveragePool and GlobalMaxPool: each plane of an image becomes one number, summed in 16
 * lanes. */
#include "kernels/cpu/loops/cpu_float_plan.h"
#include "kernels/cpu/pool/cpu_pool_lanes.h"

CPU_INLINE void plane_mean_body(const float *x, int64_t size, float *y) {
    CpuF32x16 sum = {0};
    for (int64_t i = 0, end; i < size; i = end) {
        if (i > 0 && kernel_stop_ends()) return;
        end = kernel_stop_piece(i, size);
        for (; i < end; i += CPU_VECTOR_LANES) sum += cpu_f32x16_load_part(x + i, size - i, 0);
    }
    *y = cpu_f32x16_sum(sum) / (float)size;
}
CPU_VARIANTS(plane_mean, (const float *x, int64_t size, float *y), (x, size, y));

/* Combines the elements behind the last whole vector, then the lanes one after the other. */
static void finish_max(const float *x, int64_t rest, float *most, float *y) {
    for (int64_t i = 0; i < rest; i++) most[i] = max_1(most[i], x[i]);
    float result = most[0];
    for (int lane = 1; lane < CPU_VECTOR_LANES; lane++) result = max_1(result, most[lane]);
    *y = result;
}

static void plane_max_portable(const float *x, int64_t size, float *y) {
    float most[CPU_VECTOR_LANES];
    for (int lane = 0; lane < CPU_VECTOR_LANES; lane++) most[lane] = -__builtin_inff();
    const int64_t whole = size / CPU_VECTOR_LANES * CPU_VECTOR_LANES;
    KERNEL_STOP_EVERY (i, 0, whole, CPU_VECTOR_LANES)
        for (int lane = 0; lane < CPU_VECTOR_LANES; lane++)
            most[lane] = max_1(most[lane], x[i + lane]);
    finish_max(x + whole, size - whole, most, y);
}

#if defined(__x86_64__)
CPU_TARGET_AVX2 static void plane_max_avx2(const float *x, int64_t size, float *y) {
    __m256 low = _mm256_set1_ps(-__builtin_inff()), high = low;
    float most[CPU_VECTOR_LANES];
    const int64_t whole = size / CPU_VECTOR_LANES * CPU_VECTOR_LANES;
    KERNEL_STOP_EVERY (i, 0, whole, CPU_VECTOR_LANES) {
        low = max_8(low, _mm256_loadu_ps(x + i));
        high = max_8(high, _mm256_loadu_ps(x + i + 8));
    }
    _mm256_storeu_ps(most, low);
    _mm256_storeu_ps(most + 8, high);
    finish_max(x + whole, size - whole, most, y);
}

CPU_TARGET_AVX512 static void plane_max_avx512(const float *x, int64_t size, float *y) {
    __m512 lanes = _mm512_set1_ps(-__builtin_inff());
    float most[CPU_VECTOR_LANES];
    const int64_t whole = size / CPU_VECTOR_LANES * CPU_VECTOR_LANES;
    KERNEL_STOP_EVERY (i, 0, whole, CPU_VECTOR_LANES) lanes = max_16(lanes, _mm512_loadu_ps(x + i));
    _mm512_storeu_ps(most, lanes);
    finish_max(x + whole, size - whole, most, y);
}
#endif

static void (*plane_max_for(CpuLevel level))(const float *x, int64_t size, float *y) {
#if defined(__x86_64__)
    if (level == CPU_LEVEL_AVX512) return plane_max_avx512;
    if (level == CPU_LEVEL_AVX2) return plane_max_avx2;
#endif
    (void)level;
    return plane_max_portable;
}

static void plane_mean_f64(const float *x_, int64_t size, float *y) {
    const double *x = (const double *)(const void *)x_;
    double sum = 0;
    KERNEL_STOP_EACH (i, 0, size) sum += x[i];
    *(double *)(void *)y = sum / (double)size;
}

static void plane_max_f64(const float *x_, int64_t size, float *y) {
    const double *x = (const double *)(const void *)x_;
    double most = -__builtin_inf();
    KERNEL_STOP_EACH (i, 0, size) most = x[i] > most || x[i] != x[i] ? x[i] : most;
    *(double *)(void *)y = most;
}

typedef struct GlobalState {
    int64_t planes, size, step; /* step: floats an element takes */
    void (*plane)(const float *x, int64_t size, float *y);
} GlobalState;

typedef struct Run {
    const GlobalState *state;
    const float *x;
    float *y;
} Run;

static Error *run_units(void *context, uint64_t begin, uint64_t end, uint32_t part) {
    (void)part;
    const Run *run = context;
    const GlobalState *state = run->state;
    for (int64_t i = (int64_t)begin; i < (int64_t)end; i++)
        state->plane(run->x + i * state->size * state->step, state->size, run->y + i * state->step);
    return NULL;
}

static Error *run(const void *opaque, const CpuFloatCall *call) {
    const GlobalState *state = opaque;
    static const double nothing = 0; /* planes of size 0 have no address */
    Run run = {state, call->inputs[0] ? call->inputs[0] : (const float *)(const void *)&nothing,
        call->outputs[0]};
    return cpu_for_each(call->device, call->launch->threads, (uint64_t)state->planes,
        (uint64_t)(131072 / (state->size + 1)) + 1, run_units, &run);
}

static Error *plan(Device *device, const PlanRequest *request, Plan **out) {
    const Shape *x = &request->inputs[0].shape;
    void *opaque;
    TRY(cpu_float_plan_create(
        device, request, "cpu.global_pool", sizeof(GlobalState), run, out, &opaque));
    GlobalState *state = opaque;
    const CpuLevel level = cpu_device(device)->level;
    const bool is_average = request->operator_info->id == OPERATOR_GLOBAL_AVERAGE_POOL;
    state->planes = shape_product(x, 0, 2);
    state->size = shape_product(x, 2, x->rank);
    state->step = 1;
    state->plane = is_average ? plane_mean_for(level) : plane_max_for(level);
    if (request->inputs[0].dtype == DTYPE_FLOAT64) {
        state->step = 2;
        state->plane = is_average ? plane_mean_f64 : plane_max_f64;
    }
    return NULL;
}

#define DTYPES_POOL (DTYPES_FLOAT32_AND_HALF | DTYPE_BIT(DTYPE_FLOAT64))

const Kernel cpu_pool_global[] = {
    {OPERATOR_GLOBAL_AVERAGE_POOL, DTYPES_POOL, plan, "cpu.global_pool", KERNEL_PORTABLE},
    {OPERATOR_GLOBAL_MAX_POOL, DTYPES_POOL, plan, "cpu.global_pool", KERNEL_PORTABLE},
    KERNELS_END,
};
