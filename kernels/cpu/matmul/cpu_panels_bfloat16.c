#include "kernels/cpu/matmul/cpu_panels_bfloat16.h"

#include <assert.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "kernels/cpu/core/cpu_vector.h"

enum {
    GROUP = 2 * CPU_VECTOR_LANES, /* columns of a vector of words */
    GROUPS = CPU_MATMUL_PANEL / GROUP,
    BLOCK = 64, /* steps of k that are widened at a time: 16 KiB, which fit a first level cache */
    HALF_BITS = 16,
};
typedef uint32_t Words __attribute__((vector_size(64)));
typedef uint32_t WordsUnaligned __attribute__((vector_size(64), aligned(2), may_alias));

void cpu_panels_bfloat16_pack(const uint16_t *from, int64_t depth, int64_t columns, uint16_t *to) {
    assert(columns % CPU_MATMUL_PANEL == 0);
    KernelStopMeter meter = {0};
    for (int64_t column = 0; column < columns; column++) {
        const int64_t panel = column / CPU_MATMUL_PANEL, in_panel = column % CPU_MATMUL_PANEL;
        const int64_t in_group = in_panel % GROUP;
        uint16_t *place = to + panel * depth * CPU_MATMUL_PANEL + in_panel / GROUP * GROUP +
                          in_group % CPU_VECTOR_LANES * 2 + in_group / CPU_VECTOR_LANES;
        if (kernel_stop_ends_after(&meter, (uint64_t)depth * 2)) return;
        for (int64_t k = 0; k < depth; k++) place[k * CPU_MATMUL_PANEL] = *from++;
    }
}

/* `depth` of k of a panel. */
CPU_INLINE void widen_body(
    const uint16_t *from, int64_t depth, const CpuPanelSteps *steps, float *to) {
    for (int64_t k = 0; k < depth; k++)
        for (int64_t g = 0; g < GROUPS; g++) {
            const Words words = *(const WordsUnaligned *)from;
            float *strip = to + k * steps->row + 2 * g * steps->strip;
            cpu_f32x16_store(strip, (CpuF32x16)(words << HALF_BITS));
            cpu_f32x16_store(strip + steps->strip, (CpuF32x16)(words >> HALF_BITS << HALF_BITS));
            from += GROUP;
        }
}
CPU_VARIANTS(widen, (const uint16_t *from, int64_t depth, const CpuPanelSteps *steps, float *to),
    (from, depth, steps, to));

void cpu_panels_bfloat16_widen(const CpuMatmulCode *code, CpuLevel level, const uint16_t *from,
    int64_t depth, int64_t columns, float *to) {
    const CpuPanelSteps steps = cpu_matmul_panel_steps(code, depth, CPU_MATMUL_PANEL);
    for (int64_t column = 0; column < columns; column += CPU_MATMUL_PANEL)
        widen_for(level)(from + column * depth, depth, &steps, to + column * depth);
}

#if defined(__x86_64__)

/* One row of A and `PANELS` panels. */
#define DEFINE_ROW(PANELS)                                                                         \
    CPU_TARGET_AVX512 static void row_x##PANELS(                                                   \
        const float *a, int64_t a_column, const uint16_t *panels, int64_t depth, float *out) {     \
        const __m512i high = _mm512_set1_epi32((int)0xffff0000u);                                  \
        __m512 sums[PANELS][2 * GROUPS];                                                           \
        CPU_UNROLL for (int p = 0; p < (PANELS); p++)                                              \
            CPU_UNROLL for (int v = 0; v < 2 * GROUPS; v++) sums[p][v] = _mm512_setzero_ps();      \
        for (int64_t k = 0; k < depth; k++) {                                                      \
            const __m512 factor = _mm512_set1_ps(a[k * a_column]);                                 \
            CPU_UNROLL for (int p = 0; p < (PANELS); p++)                                          \
                CPU_UNROLL for (int g = 0; g < GROUPS; g++) {                                      \
                const __m512i words =                                                              \
                    _mm512_loadu_si512(panels + (p * depth + k) * CPU_MATMUL_PANEL + g * GROUP);   \
                const __m512 first = _mm512_castsi512_ps(_mm512_slli_epi32(words, HALF_BITS));     \
                const __m512 second = _mm512_castsi512_ps(_mm512_and_si512(words, high));          \
                sums[p][2 * g] = _mm512_fmadd_ps(factor, first, sums[p][2 * g]);                   \
                sums[p][2 * g + 1] = _mm512_fmadd_ps(factor, second, sums[p][2 * g + 1]);          \
            }                                                                                      \
        }                                                                                          \
        CPU_UNROLL for (int p = 0; p < (PANELS); p++)                                              \
            CPU_UNROLL for (int v = 0; v < 2 * GROUPS; v++)                                        \
                _mm512_storeu_ps(out + p * CPU_MATMUL_PANEL + v * CPU_VECTOR_LANES, sums[p][v]);   \
    }                                                                                              \
    struct row_needs_semicolon
DEFINE_ROW(1);
DEFINE_ROW(2);

static bool run_row(const CpuMatmul *matmul, CpuLevel level, const float *a, const uint16_t *panels,
    uint32_t count, float *c) {
    if (matmul->rows != 1 || level != CPU_LEVEL_AVX512) return false;
    (count == 2 ? row_x2 : row_x1)(a, matmul->a_column, panels, matmul->depth, c);
    return true;
}

#else

static bool run_row(const CpuMatmul *matmul, CpuLevel level, const float *a, const uint16_t *panels,
    uint32_t count, float *c) {
    (void)matmul, (void)level, (void)a, (void)panels, (void)count, (void)c;
    return false;
}

#endif

static void run_panel(
    const CpuMatmul *matmul, CpuLevel level, const float *a, const uint16_t *panel, float *c) {
    float block[BLOCK * CPU_MATMUL_PANEL];
    int64_t k = 0;
    do { /* once for depth 0: writes zeros */
        const int64_t depth = matmul->depth - k < BLOCK ? matmul->depth - k : BLOCK;
        const CpuPanelSteps steps = cpu_matmul_panel_steps(&matmul->code, depth, CPU_MATMUL_PANEL);
        widen_for(level)(panel + k * CPU_MATMUL_PANEL, depth, &steps, block);
        for (int64_t row = 0; row < matmul->rows; row += matmul->code.rows) {
            const int64_t left = matmul->rows - row;
            const CpuMatmulTile tile = {
                .rows = left < matmul->code.rows ? left : matmul->code.rows,
                .columns = CPU_MATMUL_PANEL,
                .depth = depth,
                .a = a + row * matmul->a_row + k * matmul->a_column,
                .a_row = matmul->a_row,
                .a_column = matmul->a_column,
                .b = block,
                .b_row = steps.row,
                .b_strip = steps.strip,
                .out = c + row * matmul->columns,
                .out_row = matmul->columns,
                .accumulate = k > 0,
            };
            matmul->code.micro(&tile);
        }
        k += BLOCK;
    } while (k < matmul->depth);
}

/* Runs one or two panels. */
static void run_panels(const CpuMatmul *matmul, CpuLevel level, const float *a,
    const uint16_t *panels, uint32_t count, float *c) {
    if (run_row(matmul, level, a, panels, count, c)) return;
    for (uint32_t i = 0; i < count; i++)
        run_panel(matmul, level, a, panels + i * CPU_MATMUL_PANEL * matmul->depth,
            c + i * CPU_MATMUL_PANEL);
}

void cpu_panels_bfloat16_run(const CpuMatmul *matmul, CpuLevel level, const float *a,
    const CpuBfloat16Panels *panels, float *c) {
    for (int64_t done = 0; done < panels->count; done += 2) {
        const int64_t left = panels->count - done, taken = left < 2 ? left : 2;
        const int64_t panel = panels->first + (panels->backwards ? left - taken : done);
        const int64_t column = panel * CPU_MATMUL_PANEL;
        run_panels(
            matmul, level, a, panels->b + column * matmul->depth, (uint32_t)taken, c + column);
    }
}
