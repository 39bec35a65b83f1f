#include "kernels/cpu/quantized/cpu_dynamic_quantize.h"

#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "kernels/cpu/core/cpu_vector.h"
#include "kernels/cpu/elementwise/cpu_small.h"

enum { RUNS_PER_PART = 16 };

typedef struct Run {
    const CpuDynamicQuantize *code;
    const float *x;
    uint64_t count;
    CpuDynamicRange ranges[CPU_THREADS_MAX]; /* one for each part */
    CpuDynamicScale scale;
    uint8_t *to;
} Run;

/* Several extremes at a time, since each comparison waits for the one before. */
CPU_INLINE void measure_body(const float *x, int64_t count, CpuDynamicRange *inout_range) {
    enum { CHAINS = 4, STEP = CHAINS * CPU_VECTOR_LANES };
    CpuF32x16 low[CHAINS] = {0}, high[CHAINS] = {0};
    int64_t i = 0;
    for (; i + STEP <= count; i += STEP) CPU_UNROLL for (int v = 0; v < CHAINS; v++) {
            const CpuF32x16 values = cpu_f32x16_load(x + i + v * CPU_VECTOR_LANES);
            low[v] = cpu_f32x16_select(values < low[v], values, low[v]);
            high[v] = cpu_f32x16_select(values > high[v], values, high[v]);
        }
    CpuDynamicRange range = *inout_range;
    for (int v = 0; v < CHAINS; v++)
        for (int lane = 0; lane < CPU_VECTOR_LANES; lane++) {
            range.low = low[v][lane] < range.low ? low[v][lane] : range.low;
            range.high = high[v][lane] > range.high ? high[v][lane] : range.high;
        }
    for (; i < count; i++) {
        range.low = x[i] < range.low ? x[i] : range.low;
        range.high = x[i] > range.high ? x[i] : range.high;
    }
    *inout_range = range;
}
CPU_VARIANTS(measure, (const float *x, int64_t count, CpuDynamicRange *inout_range),
    (x, count, inout_range));

typedef uint8_t U8x16 __attribute__((vector_size(16)));

/* A quotient beyond a byte's range is limited before it is rounded, by adding and subtracting 1.5 *
 * 2^23, ties to even; NaN is 0. */
CPU_INLINE U8x16 quantize_lanes(CpuF32x16 x, float scale, float zero_point) {
    const CpuF32x16 limit = cpu_f32x16_all(512), rounder = cpu_f32x16_all(12582912.0F);
    CpuF32x16 steps = x / cpu_f32x16_all(scale);
    steps = cpu_f32x16_select(steps == steps, steps, cpu_f32x16_all(0));
    steps = cpu_f32x16_select(steps > limit, limit, steps);
    steps = cpu_f32x16_select(steps < -limit, -limit, steps);
    steps = steps + rounder - rounder + cpu_f32x16_all(zero_point);
    steps = cpu_f32x16_select(steps < cpu_f32x16_all(0), cpu_f32x16_all(0), steps);
    steps = cpu_f32x16_select(steps > cpu_f32x16_all(255), cpu_f32x16_all(255), steps);
    return __builtin_convertvector(__builtin_convertvector(steps, CpuI32x16), U8x16);
}

CPU_INLINE void quantize_body(
    const float *x, int64_t count, float scale, float zero_point, uint8_t *to) {
    int64_t i = 0;
    for (; i + CPU_VECTOR_LANES <= count; i += CPU_VECTOR_LANES) {
        const U8x16 bytes = quantize_lanes(cpu_f32x16_load(x + i), scale, zero_point);
        memcpy(to + i, &bytes, sizeof bytes);
    }
    if (i == count) return;
    const U8x16 bytes =
        quantize_lanes(cpu_f32x16_load_part(x + i, count - i, 0), scale, zero_point);
    memcpy(to + i, &bytes, (size_t)(count - i));
}
CPU_VARIANTS(quantize, (const float *x, int64_t count, float scale, float zero_point, uint8_t *to),
    (x, count, scale, zero_point, to));

#if defined(__x86_64__)
/* The same by instructions that the compiler does not find: selections become masks in its hands.
 */
CPU_TARGET_AVX2 static void measure_eights(
    const float *x, int64_t count, CpuDynamicRange *inout_range) {
    enum { CHAINS = 4, LANES = 8 };
    __m256 low[CHAINS], high[CHAINS];
    float lows[LANES], highs[LANES];
    int64_t i = 0;
    for (int v = 0; v < CHAINS; v++) low[v] = high[v] = _mm256_setzero_ps();
    for (; i + CHAINS * LANES <= count; i += CHAINS * LANES)
        CPU_UNROLL for (int v = 0; v < CHAINS; v++) {
            const __m256 values = _mm256_loadu_ps(x + i + v * LANES);
            low[v] = _mm256_min_ps(values, low[v]); /* NaN: the second operand */
            high[v] = _mm256_max_ps(values, high[v]);
        }
    for (int v = 1; v < CHAINS; v++) {
        low[0] = _mm256_min_ps(low[0], low[v]);
        high[0] = _mm256_max_ps(high[0], high[v]);
    }
    _mm256_storeu_ps(lows, low[0]);
    _mm256_storeu_ps(highs, high[0]);
    CpuDynamicRange range = *inout_range;
    for (int lane = 0; lane < LANES; lane++) {
        range.low = lows[lane] < range.low ? lows[lane] : range.low;
        range.high = highs[lane] > range.high ? highs[lane] : range.high;
    }
    for (; i < count; i++) {
        range.low = x[i] < range.low ? x[i] : range.low;
        range.high = x[i] > range.high ? x[i] : range.high;
    }
    *inout_range = range;
}

/* Eight quotients, rounded, as int32; beyond +-512 they are limited, NaN is 0. */
CPU_TARGET_AVX2 static __m256i steps_of_eight(const float *x, __m256 scale) {
    const __m256 limit = _mm256_set1_ps(512);
    __m256 steps = _mm256_div_ps(_mm256_loadu_ps(x), scale);
    steps = _mm256_and_ps(steps, _mm256_cmp_ps(steps, steps, _CMP_ORD_Q));
    steps = _mm256_min_ps(steps, limit);
    steps = _mm256_max_ps(steps, _mm256_sub_ps(_mm256_setzero_ps(), limit));
    return _mm256_cvtps_epi32(steps);
}

CPU_TARGET_AVX2 static void quantize_eights(
    const float *x, int64_t count, float scale, float zero_point, uint8_t *to) {
    enum { STEP = 32 };
    const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
    const __m256i zero = _mm256_set1_epi16((int16_t)zero_point);
    const __m256 by = _mm256_set1_ps(scale);
    for (int64_t i = 0; i < count; i += STEP) {
        float end[STEP] = {0};
        const bool whole = i + STEP <= count;
        if (!whole) memcpy(end, x + i, (size_t)(count - i) * sizeof(float));
        const float *from = whole ? x + i : end;
        const __m256i first =
            _mm256_packs_epi32(steps_of_eight(from, by), steps_of_eight(from + 8, by));
        const __m256i second =
            _mm256_packs_epi32(steps_of_eight(from + 16, by), steps_of_eight(from + 24, by));
        const __m256i bytes = _mm256_permutevar8x32_epi32(
            _mm256_packus_epi16(_mm256_add_epi16(first, zero), _mm256_add_epi16(second, zero)),
            order);
        uint8_t made[STEP];
        _mm256_storeu_si256((__m256i *)(void *)(whole ? to + i : made), bytes);
        if (!whole) memcpy(to + i, made, (size_t)(count - i));
    }
}

static __mmask16 first_lanes(int64_t count) {
    return count < CPU_VECTOR_LANES ? (__mmask16)((1 << count) - 1) : 0xFFFF;
}

CPU_TARGET_AVX512 static void measure_lanes(
    const float *x, int64_t count, CpuDynamicRange *inout_range) {
    enum { CHAINS = 4, STEP = CHAINS * CPU_VECTOR_LANES };
    __m512 low[CHAINS], high[CHAINS];
    for (int v = 0; v < CHAINS; v++) low[v] = high[v] = _mm512_setzero_ps();
    for (int64_t i = 0; i < count; i += STEP) CPU_UNROLL for (int v = 0; v < CHAINS; v++) {
            const int64_t at = i + v * CPU_VECTOR_LANES;
            const __mmask16 mask = at < count ? first_lanes(count - at) : 0;
            const __m512 values = _mm512_maskz_loadu_ps(mask, mask ? x + at : x);
            low[v] = _mm512_min_ps(values, low[v]); /* NaN: the second operand */
            high[v] = _mm512_max_ps(values, high[v]);
        }
    for (int v = 1; v < CHAINS; v++) {
        low[0] = _mm512_min_ps(low[0], low[v]);
        high[0] = _mm512_max_ps(high[0], high[v]);
    }
    const float least = _mm512_reduce_min_ps(low[0]), most = _mm512_reduce_max_ps(high[0]);
    inout_range->low = least < inout_range->low ? least : inout_range->low;
    inout_range->high = most > inout_range->high ? most : inout_range->high;
}

CPU_TARGET_AVX512 static void quantize_by_lanes(
    const float *x, int64_t count, float scale, float zero_point, uint8_t *to) {
    const __m512 limit = _mm512_set1_ps(512), by = _mm512_set1_ps(scale);
    const __m512i zero = _mm512_set1_epi32((int32_t)zero_point);
    for (int64_t i = 0; i < count; i += CPU_VECTOR_LANES) {
        const __mmask16 mask = first_lanes(count - i);
        __m512 steps = _mm512_div_ps(_mm512_maskz_loadu_ps(mask, x + i), by);
        steps = _mm512_maskz_mov_ps(_mm512_cmp_ps_mask(steps, steps, _CMP_ORD_Q), steps);
        steps =
            _mm512_max_ps(_mm512_min_ps(steps, limit), _mm512_sub_ps(_mm512_setzero_ps(), limit));
        __m512i bytes = _mm512_add_epi32(_mm512_cvtps_epi32(steps), zero);
        bytes = _mm512_max_epi32(bytes, _mm512_setzero_si512());
        _mm512_mask_cvtusepi32_storeu_epi8(to + i, mask, bytes);
    }
}
#endif

CpuDynamicQuantize cpu_dynamic_quantize_for(CpuLevel level) {
#if defined(__x86_64__)
    if (level == CPU_LEVEL_AVX512) return (CpuDynamicQuantize){measure_lanes, quantize_by_lanes};
    if (level == CPU_LEVEL_AVX2) return (CpuDynamicQuantize){measure_eights, quantize_eights};
#endif
    return (CpuDynamicQuantize){measure_for(level), quantize_for(level)};
}

/* Elements of a unit. */
static int64_t elements_of(const Run *run, uint64_t unit) {
    const uint64_t first = unit * CPU_SMALL_RUN, last = first + CPU_SMALL_RUN;
    return (int64_t)((last < run->count ? last : run->count) - first);
}

static Error *find_ranges(void *context, uint64_t begin, uint64_t end, uint32_t part) {
    Run *run = context;
    for (uint64_t i = begin; i < end; i++) {
        if (i % RUNS_PER_PART == 0) TRY(kernel_stop_check());
        run->code->measure(run->x + i * CPU_SMALL_RUN, elements_of(run, i), &run->ranges[part]);
    }
    return NULL;
}

static Error *quantize_units(void *context, uint64_t begin, uint64_t end, uint32_t part) {
    const Run *run = context;
    (void)part;
    for (uint64_t i = begin; i < end; i++)
        run->code->quantize(run->x + i * CPU_SMALL_RUN, elements_of(run, i), run->scale.scale,
            run->scale.zero_point, run->to + i * CPU_SMALL_RUN);
    return NULL;
}

static CpuDynamicScale scale_of(const CpuDynamicRange *range) {
    /* if all elements are 0, any scale is right */
    CpuDynamicScale scale = {
        .scale = range->high > range->low ? (range->high - range->low) / 255.0f : 1.0f};
    const float zero_point = 0 - range->low / scale.scale;
    cpu_small_narrow(DTYPE_UINT8, true, &zero_point, &scale.zero_point, 0, 1);
    return scale;
}

Error *cpu_dynamic_quantize_run(const CpuDynamicQuantize *code, CpuDevice *device, uint32_t threads,
    const float *from, int64_t count, uint8_t *to, CpuDynamicScale *out_scale) {
    Run run = {.code = code, .x = from, .count = (uint64_t)count, .to = to};
    const uint64_t units = (run.count + CPU_SMALL_RUN - 1) / CPU_SMALL_RUN;
    const uint32_t parts = cpu_part_count(device, threads, units, RUNS_PER_PART);
    CpuDynamicRange range = {0, 0};
    TRY(cpu_for_each_share(device, threads, units, RUNS_PER_PART, find_ranges, &run));
    for (uint32_t i = 0; i < parts; i++) {
        range.low = run.ranges[i].low < range.low ? run.ranges[i].low : range.low;
        range.high = run.ranges[i].high > range.high ? run.ranges[i].high : range.high;
    }
    *out_scale = run.scale = scale_of(&range);
    return cpu_for_each(device, threads, units, RUNS_PER_PART, quantize_units, &run);
}

typedef struct State {
    int64_t count;
    CpuDynamicQuantize code;
} State;

static Error *launch_dynamic(const Plan *plan, const Launch *launch, const Shape *output_shapes) {
    const State *state = plan_state(plan);
    CpuDynamicScale scale;
    (void)output_shapes;
    TRY(cpu_dynamic_quantize_run(&state->code, cpu_device(plan->device), launch->threads,
        cpu_input(launch, 0), state->count, cpu_output(launch, 0), &scale));
    *(float *)cpu_output(launch, 1) = scale.scale;
    *(uint8_t *)cpu_output(launch, 2) = scale.zero_point;
    return NULL;
}

static Error *plan_dynamic(Device *device, const PlanRequest *request, Plan **out) {
    TRY(plan_create(device, request, "cpu.dynamic_quantize_linear", sizeof(State), out));
    *(State *)plan_state(*out) = (State){
        .count = shape_count_unchecked(&request->inputs[0].shape),
        .code = cpu_dynamic_quantize_for(cpu_device(device)->level),
    };
    (*out)->launch = launch_dynamic;
    return NULL;
}

const Kernel cpu_dynamic_quantize[] = {
    {OPERATOR_DYNAMIC_QUANTIZE_LINEAR, DTYPE_BIT(DTYPE_FLOAT32), plan_dynamic,
        "cpu.dynamic_quantize_linear", KERNEL_PORTABLE},
    KERNELS_END,
};
