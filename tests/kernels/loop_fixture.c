#include "tests/kernels/loop_fixture.h"

#include <math.h>
#include <stdlib.h>

#include "base/processor.h"
#include "kernels/tensor/dtype_scalar.h"

enum { EDGE_COUNT = 14, SPACE = LOOP_FIXTURE_COUNT * 8 + 64 };

static void edge(DType dtype, uint64_t which, void *out) {
    static const double edges[EDGE_COUNT] = {
        0.0, -0.0, 1, -1, 2, 0.5, -3, 1e300, -1e300, 1e-310, 1e-40, 3.4e38, -1e-45, 127};
    double value = edges[which % EDGE_COUNT];
    if (which % 17 == 3) value = (double)NAN;
    if (which % 17 == 5) value = (double)INFINITY;
    if (which % 17 == 7) value = (double)-INFINITY;
    if (dtype_in(DTYPES_NUMBER, dtype)) (void)dtype_scalar_write(dtype, value, out);
}

void loop_fixture_fill(DType dtype, uint64_t seed, void *out, int64_t count) {
    size_t size = dtype_bits(dtype) / 8;
    for (int64_t i = 0; i < count; i++) {
        uint64_t random = test_random(&seed), kind = random % 4;
        char *to = (char *)out + (size_t)i * size;
        memcpy(to, &seed, size); /* random bits: huge, tiny, NaN with payloads */
        if (kind == 0) edge(dtype, random >> 8, to);
        double small = (double)(int64_t)(random >> 32 & 0xFFFFF) / 65536 - 8;
        if (kind == 1 && dtype_in(DTYPES_NUMBER, dtype)) (void)dtype_scalar_write(dtype, small, to);
        if (dtype == DTYPE_BOOL) *to = (char)(random >> 16 & 1);
    }
}

uint32_t loop_fixture_levels(CpuLevel out_levels[3]) {
    uint32_t count = 0;
    out_levels[count++] = CPU_LEVEL_PORTABLE;
    if (PROCESSOR_HAS(AVX2) && PROCESSOR_HAS(FMA)) out_levels[count++] = CPU_LEVEL_AVX2;
    if (PROCESSOR_HAS(AVX512F) && PROCESSOR_HAS(AVX512BW) && PROCESSOR_HAS(AVX512DQ) &&
        PROCESSOR_HAS(AVX512VL))
        out_levels[count++] = CPU_LEVEL_AVX512;
    return count;
}

DType loop_fixture_operand(CpuLoopId id, DType dtype, uint32_t index) {
    if (id == CPU_LOOP_WHERE && index == 0) return DTYPE_BOOL;
    if (id == CPU_LOOP_POW_BY_INT64 && index == 1) return DTYPE_INT64;
    if (id == CPU_LOOP_POW_BY_FLOAT64 && index == 1) return DTYPE_FLOAT64;
    if (id == CPU_LOOP_SHRINK && index > 0 && dtype_is_integer(dtype)) return DTYPE_FLOAT64;
    return dtype;
}

DType loop_fixture_result(CpuLoopId id, DType dtype) {
    bool compares = id == CPU_LOOP_EQUAL || id == CPU_LOOP_LESS || id == CPU_LOOP_LESS_OR_EQUAL ||
                    id == CPU_LOOP_IS_NAN || id == CPU_LOOP_IS_INF || id == CPU_LOOP_NOT;
    if (id == CPU_LOOP_STICKY) return DTYPE_FLOAT64;
    return compares ? DTYPE_BOOL : dtype;
}

typedef struct Case {
    CpuLoopId id;
    DType dtype;
    uint32_t steps; /* bit i: operand i has step 1 */
    uint32_t shift; /* elements by which all miss alignment */
    int in_place;   /* operand, or -1 */
} Case;

static char *buffers[5];

/* Runs the loop into out, in two parts when `cut` is inside. */
static void run_case(CpuLevel level, const Case *test, int64_t cut, char *out) {
    CpuLoop *loop = cpu_loop_find(level, test->id, test->dtype);
    CpuParameters parameters = {0.75, 0.25};
    size_t size = dtype_bits(loop_fixture_result(test->id, test->dtype)) / 8;
    char *to = out + test->shift * size;
    for (int64_t begin = 0; begin < LOOP_FIXTURE_COUNT; begin = cut, cut = LOOP_FIXTURE_COUNT) {
        CpuOperand operands[CPU_LOOP_OPERANDS_MAX];
        for (uint32_t k = 0; k < cpu_loop_operands(test->id); k++) {
            size_t width = dtype_bits(loop_fixture_operand(test->id, test->dtype, k)) / 8;
            int64_t step = test->steps >> k & 1;
            char *from = (int)k == test->in_place ? to : buffers[k] + test->shift * width;
            operands[k] = (CpuOperand){from + (size_t)(begin * step) * width, step};
        }
        loop(to + (size_t)begin * size, operands, cut - begin, &parameters);
    }
}

static bool is_sensible(const Case *test) {
    uint32_t operands = cpu_loop_operands(test->id);
    if (test->steps >> operands != 0 || test->steps == 0) return false;
    bool one_by_one = test->id == CPU_LOOP_CLIP || test->id == CPU_LOOP_SHRINK;
    if (one_by_one && test->steps != 1) return false;
    if (test->in_place < 0) return true;
    if ((uint32_t)test->in_place >= operands || !(test->steps >> test->in_place & 1)) return false;
    return dtype_bits(loop_fixture_operand(test->id, test->dtype, (uint32_t)test->in_place)) ==
           dtype_bits(loop_fixture_result(test->id, test->dtype));
}

static void check_case(const Case *test, CpuLevel level) {
    size_t size = dtype_bits(loop_fixture_result(test->id, test->dtype)) / 8;
    size_t bytes = LOOP_FIXTURE_COUNT * size, lead = test->shift * size;
    Case plain = *test;
    plain.in_place = -1;
    run_case(CPU_LEVEL_PORTABLE, &plain, LOOP_FIXTURE_COUNT, buffers[3]);
    if (test->in_place >= 0) memcpy(buffers[4], buffers[test->in_place], SPACE);
    run_case(level, test, 601, buffers[4]);
    if (memcmp(buffers[3] + lead, buffers[4] + lead, bytes) != 0)
        fail_msg("loop %d of %s differs at level %d: steps %u, shift %u, in place %d",
            (int)test->id, dtype_name(test->dtype), (int)level, test->steps, test->shift,
            test->in_place);
}

static void check_loop(CpuLoopId id, DType dtype) {
    CpuLevel levels[3];
    uint32_t level_count = loop_fixture_levels(levels);
    for (uint32_t k = 0; k < 3; k++)
        loop_fixture_fill(loop_fixture_operand(id, dtype, k), (uint64_t)id * 31 + k, buffers[k],
            LOOP_FIXTURE_COUNT + 4);
    for (uint32_t i = 0; i < level_count; i++)
        for (uint32_t steps = 1; steps < 8; steps++)
            for (int in_place = -1; in_place < 3; in_place++) {
                Case test = {id, dtype, steps, (steps + (uint32_t)i) % 4, in_place};
                if (is_sensible(&test)) check_case(&test, levels[i]);
            }
}

uint32_t loop_fixture_check(CpuLoopId first, CpuLoopId last) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < 5; i++) {
        buffers[i] = calloc(1, SPACE);
        assert_non_null(buffers[i]);
    }
    for (CpuLoopId id = first; id <= last; id++)
        for (DType dtype = 1; dtype < DTYPE_COUNT; dtype++)
            if (cpu_loop_find(CPU_LEVEL_PORTABLE, id, dtype)) {
                check_loop(id, dtype);
                count++;
            }
    for (uint32_t i = 0; i < 5; i++) free(buffers[i]);
    return count;
}
