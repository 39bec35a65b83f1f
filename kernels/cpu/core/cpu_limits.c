#include "kernels/cpu/core/cpu_limits.h"

#include <unistd.h>

#include "base/allocator.h"
#include "base/clock.h"
#include "kernels/cpu/core/cpu_vector.h"
#if defined(__x86_64__)
#include <immintrin.h>
#endif

enum {
    CHAINS = 12,      /* independent chains of multiply-adds: enough for two in each cycle */
    ROUNDS = 1 << 20, /* multiply-adds of each chain */
    REPEATS = 5,
    LANES_SUMMED = 4 * CPU_VECTOR_LANES,
};
static const uint64_t READ_BYTES_MIN = UINT64_C(64) << 20, READ_BYTES_MAX = UINT64_C(256) << 20;

/* Returns the number of operations in a round, so that the compiler removes no work. */
typedef double Multiply(float factor, float *to);

/* A product and a sum, for levels without the fused instruction. */
static double multiply_portable(float factor, float *to) {
    typedef float Lanes __attribute__((vector_size(16)));
    Lanes sums[CHAINS] = {0};
    const Lanes factors = factor - (Lanes){0};
    for (int i = 0; i < ROUNDS; i++)
        CPU_UNROLL for (int c = 0; c < CHAINS; c++) sums[c] = sums[c] * factors + factors;
    for (int c = 0; c < CHAINS; c++) to[c] = sums[c][0];
    return 2.0 * 4 * CHAINS;
}

#if defined(__x86_64__)
CPU_TARGET_AVX2 static double multiply_avx2(float factor, float *to) {
    __m256 sums[CHAINS];
    const __m256 factors = _mm256_set1_ps(factor);
    for (int c = 0; c < CHAINS; c++) sums[c] = _mm256_setzero_ps();
    for (int i = 0; i < ROUNDS; i++)
        CPU_UNROLL for (int c = 0; c < CHAINS; c++) sums[c] =
            _mm256_fmadd_ps(sums[c], factors, factors);
    for (int c = 0; c < CHAINS; c++) to[c] = _mm256_cvtss_f32(sums[c]);
    return 2.0 * 8 * CHAINS;
}

CPU_TARGET_AVX512 static double multiply_avx512(float factor, float *to) {
    __m512 sums[CHAINS];
    const __m512 factors = _mm512_set1_ps(factor);
    for (int c = 0; c < CHAINS; c++) sums[c] = _mm512_setzero_ps();
    for (int i = 0; i < ROUNDS; i++)
        CPU_UNROLL for (int c = 0; c < CHAINS; c++) sums[c] =
            _mm512_fmadd_ps(sums[c], factors, factors);
    for (int c = 0; c < CHAINS; c++) to[c] = _mm512_cvtss_f32(sums[c]);
    return 2.0 * 16 * CHAINS;
}
#endif

static Multiply *multiply_for(CpuLevel level) {
#if defined(__x86_64__)
    if (level == CPU_LEVEL_AVX512) return multiply_avx512;
    if (level == CPU_LEVEL_AVX2) return multiply_avx2;
#endif
    (void)level;
    return multiply_portable;
}

CPU_INLINE void sum_up_body(const float *from, uint64_t count, float *to) {
    CpuF32x16 sums[LANES_SUMMED / CPU_VECTOR_LANES] = {{0}};
    for (uint64_t i = 0; i < count; i += LANES_SUMMED)
        CPU_UNROLL for (int k = 0; k < LANES_SUMMED / CPU_VECTOR_LANES; k++) sums[k] +=
            cpu_f32x16_load(from + i + k * CPU_VECTOR_LANES);
    cpu_f32x16_store(to, (sums[0] + sums[1]) + (sums[2] + sums[3]));
}
CPU_VARIANTS(sum_up, (const float *from, uint64_t count, float *to), (from, count, to));

typedef struct Probe {
    Multiply *multiply;
    void (*sum_up)(const float *from, uint64_t count, float *to);
    float *memory;
    double operations[CPU_THREADS_MAX]; /* operations in a round, by part */
    float results[CPU_THREADS_MAX][CPU_VECTOR_LANES];
} Probe;

static Error *multiply_units(void *context, uint64_t begin, uint64_t end, uint32_t part) {
    Probe *probe = context;
    probe->operations[part] = 0;
    for (uint64_t i = begin; i < end; i++)
        probe->operations[part] += probe->multiply(0.5f, probe->results[part]);
    return NULL;
}

/* Units are of 1 MiB. */
enum { UNIT_FLOATS = 1 << 18 };

static Error *write_units(void *context, uint64_t begin, uint64_t end, uint32_t part) {
    const Probe *probe = context;
    (void)part;
    for (uint64_t i = begin * UNIT_FLOATS; i < end * UNIT_FLOATS; i++) probe->memory[i] = 1;
    return NULL;
}

static Error *read_units(void *context, uint64_t begin, uint64_t end, uint32_t part) {
    Probe *probe = context;
    probe->sum_up(
        probe->memory + begin * UNIT_FLOATS, (end - begin) * UNIT_FLOATS, probe->results[part]);
    return NULL;
}

/* The shortest of some, at least 1. */
static Error *time_task(
    CpuDevice *device, uint32_t threads, uint64_t units, CpuTask *task, Probe *probe, double *out) {
    uint64_t least = UINT64_MAX;
    for (int i = 0; i < REPEATS; i++) {
        const uint64_t start = clock_now_ns(clock_real());
        TRY(cpu_for_each_share(device, threads, units, 1, task, probe));
        const uint64_t ns = clock_now_ns(clock_real()) - start;
        if (ns < least) least = ns ? ns : 1;
    }
    *out = (double)least;
    return NULL;
}

static uint64_t read_bytes(void) {
    const long cache = sysconf(_SC_LEVEL3_CACHE_SIZE); /* 0 or less when the system does not know */
    const uint64_t bytes = cache > 0 ? 4 * (uint64_t)cache : 0;
    if (bytes > READ_BYTES_MAX) return READ_BYTES_MAX;
    return bytes > READ_BYTES_MIN ? bytes >> 20 << 20 : READ_BYTES_MIN;
}

static Error *measure_reads(CpuDevice *device, Probe *probe, CpuLimits *out) {
    const uint64_t bytes = read_bytes(), units = bytes / (UNIT_FLOATS * sizeof(float));
    void *memory;
    double ns = 1;
    TRY(memory_map(bytes, &memory));
    probe->memory = memory;
    /* written first, since all pages that were never written are one page of zeros */
    Error *error = cpu_for_each(device, out->threads, units, 1, write_units, probe);
    if (!error) error = time_task(device, out->threads, units, read_units, probe, &ns);
    memory_unmap(memory, bytes);
    out->bytes_per_ns = (double)bytes / ns;
    return error;
}

Error *cpu_limits_measure(Device *base, uint32_t threads, CpuLimits *out) {
    CpuDevice *device = cpu_device(base);
    Probe probe = {.multiply = multiply_for(device->level), .sum_up = sum_up_for(device->level)};
    CpuLimits limits = {.threads = cpu_part_count(device, threads, CPU_THREADS_MAX, 1)};
    double ns, operations = 0;
    TRY(time_task(device, limits.threads, limits.threads, multiply_units, &probe, &ns));
    for (uint32_t i = 0; i < limits.threads; i++) operations += probe.operations[i];
    limits.operations_per_ns = operations * ROUNDS / ns;
    TRY(measure_reads(device, &probe, &limits));
    *out = limits;
    return NULL;
}
