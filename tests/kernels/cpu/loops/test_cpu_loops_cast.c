#include <math.h>

#include "kernels/scalar/scalar_convert.h"
#include "tests/kernels/fixtures/loop_fixture.h"

static void check_pair(DType from, DType to, bool saturate) {
    static char source[LOOP_FIXTURE_COUNT * 8 + 64];
    static char expected[LOOP_FIXTURE_COUNT * 8], got[LOOP_FIXTURE_COUNT * 8 + 64];
    CpuLevel levels[3];
    uint32_t level_count = loop_fixture_levels(levels);
    size_t from_size = dtype_bits(from) / 8, to_size = dtype_bits(to) / 8;
    loop_fixture_fill(from, (uint64_t)from * 64 + to, source, LOOP_FIXTURE_COUNT + 1);
    CpuOperand operand = {source + from_size, 1};
    cpu_loop_find_cast(CPU_LEVEL_PORTABLE, from, to, saturate)(
        expected, &operand, LOOP_FIXTURE_COUNT, NULL);
    for (uint32_t i = 0; i < level_count; i++) {
        cpu_loop_find_cast(levels[i], from, to, saturate)(
            got + to_size, &operand, LOOP_FIXTURE_COUNT, NULL);
        if (memcmp(got + to_size, expected, LOOP_FIXTURE_COUNT * to_size) != 0)
            fail_msg(
                "%s to %s differs at level %d", dtype_name(from), dtype_name(to), (int)levels[i]);
    }
}

static void test_casts_have_the_same_bits_at_every_level(void **state) {
    uint32_t count = 0;
    (void)state;
    for (DType from = 1; from < DTYPE_COUNT; from++)
        for (DType to = 1; to < DTYPE_COUNT; to++)
            for (int saturate = 0; saturate < 2; saturate++) {
                if (!cpu_loop_find_cast(CPU_LEVEL_PORTABLE, from, to, saturate != 0)) continue;
                check_pair(from, to, saturate != 0);
                count++;
            }
    /* 8 integers and bool to 11 types; two floats to 12 and 16 more; 6 small floats to float32 */
    assert_int_equal(count, 2 * (9 * 11 + 12 + 12 + 4 + 6));
}

static void test_int64_becomes_a_float_that_rounds_once_more_without_harm(void **state) {
    (void)state;
    const int64_t numbers[3] = {((int64_t)1 << 62) + 1, -((int64_t)1 << 53) - 1, 77};
    double to[3];
    CpuLoop *loop = cpu_loop_find(CPU_LEVEL_PORTABLE, CPU_LOOP_STICKY, DTYPE_INT64);
    loop(to, (CpuOperand[]){{numbers, 1}}, 3, NULL);
    assert_true(to[0] > 0x1p62 && to[1] < -0x1p53 && to[2] == 77);
    assert_int_equal(loop_fixture_check(CPU_LOOP_STICKY, CPU_LOOP_STICKY), 2);
}

/* Runs within int32, and runs with one number that is not, in place too where sizes allow it. */
static void check_long(CpuLevel level, bool is_signed, bool is_double) {
    enum { RUN = 64, COUNT = 5 * RUN + 3 };
    static const double edges[] = {
        -0x1p31, 0x1p31, 2147483520, -0.5, -1, -0.0, 0x1p40, (double)NAN};
    const DType from = is_double ? DTYPE_FLOAT64 : DTYPE_FLOAT32;
    CpuLoop *loop = cpu_loop_find_cast(level, from, is_signed ? DTYPE_INT64 : DTYPE_UINT64, false);
    for (size_t edge = 0; edge < sizeof edges / sizeof edges[0]; edge++) {
        int64_t to[COUNT], expected[COUNT];
        double wide[COUNT];
        float narrow[COUNT];
        for (int i = 0; i < COUNT; i++) {
            wide[i] = i == 2 * RUN + 7 ? edges[edge] : i * 1.75 - (is_signed ? 100 : 0);
            narrow[i] = (float)wide[i];
            expected[i] =
                is_signed ? scalar_f64_to_int64(wide[i]) : (int64_t)scalar_f64_to_uint64(wide[i]);
        }
        memcpy(to, wide, sizeof to);
        loop(to, &(CpuOperand){is_double ? (void *)to : (void *)narrow, 1}, COUNT, NULL);
        assert_memory_equal(to, expected, sizeof to);
    }
}

static void test_floats_become_long_integers_run_by_run(void **state) {
    CpuLevel levels[3];
    const uint32_t level_count = loop_fixture_levels(levels);
    (void)state;
    for (uint32_t i = 0; i < level_count; i++)
        for (int form = 0; form < 4; form++) check_long(levels[i], form & 1, form & 2);
}

int test_cpu_loops_cast(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_casts_have_the_same_bits_at_every_level),
        cmocka_unit_test(test_floats_become_long_integers_run_by_run),
        cmocka_unit_test(test_int64_becomes_a_float_that_rounds_once_more_without_harm),
    };
    return cmocka_run_group_tests_name("cpu_loops_cast", tests, NULL, NULL);
}
