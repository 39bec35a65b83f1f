#include "base/digest.h"
#include "tests/kernels/fixtures/loop_fixture.h"

static void test_every_loop_is_found_for_some_element_type_at_every_level(void **state) {
    (void)state;
    for (CpuLoopId id = 0; id < CPU_LOOP_COUNT; id++) {
        uint32_t found = 0;
        for (DType dtype = 1; dtype < DTYPE_COUNT; dtype++) {
            bool portable = cpu_loop_find(CPU_LEVEL_PORTABLE, id, dtype) != NULL;
            assert_int_equal(portable, cpu_loop_find(CPU_LEVEL_AVX2, id, dtype) != NULL);
            assert_int_equal(portable, cpu_loop_find(CPU_LEVEL_AVX512, id, dtype) != NULL);
            found += portable;
        }
        assert_true(found > 0);
        assert_in_range(cpu_loop_operands(id), 1, CPU_LOOP_OPERANDS_MAX);
    }
}

static void test_strings_and_half_bytes_have_no_loops(void **state) {
    (void)state;
    for (CpuLoopId id = 0; id < CPU_LOOP_COUNT; id++) {
        assert_null(cpu_loop_find(CPU_LEVEL_PORTABLE, id, DTYPE_STRING));
        assert_null(cpu_loop_find(CPU_LEVEL_PORTABLE, id, DTYPE_INT4));
    }
    assert_null(cpu_loop_find_cast(CPU_LEVEL_PORTABLE, DTYPE_STRING, DTYPE_FLOAT32, false));
    assert_null(cpu_reducer_find(CPU_LEVEL_PORTABLE, CPU_REDUCE_SUM, DTYPE_STRING));
}

enum { SAMPLES = 5000 };

static uint64_t hash_loop(CpuLoopId id, DType dtype, uint64_t before) {
    static char operands[CPU_LOOP_OPERANDS_MAX][SAMPLES * 8], out[(SAMPLES + 1) * 8];
    CpuOperand views[CPU_LOOP_OPERANDS_MAX];
    CpuParameters parameters = {0.75, 0.25};
    for (uint32_t k = 0; k < CPU_LOOP_OPERANDS_MAX; k++) {
        loop_fixture_fill(
            loop_fixture_operand(id, dtype, k), (uint64_t)id * 7 + k, operands[k], SAMPLES);
        bool one_by_one = id == CPU_LOOP_CLIP || id == CPU_LOOP_SHRINK;
        views[k] = (CpuOperand){operands[k], !one_by_one || k == 0};
    }
    cpu_loop_find(CPU_LEVEL_PORTABLE, id, dtype)(out, views, SAMPLES, &parameters);
    size_t bytes = SAMPLES * (dtype_bits(loop_fixture_result(id, dtype)) / 8);
    memcpy(out + bytes, &before, sizeof before);
    return digest_xxh3(out, bytes + sizeof before);
}

/* Constants are folded with these loops, so an executable's identity rests on their bits: whoever
 * changes them raises CPU_KERNELS_VERSION and this number. */
static void test_the_bits_of_all_loops_are_those_of_this_version(void **state) {
    uint64_t hash = 0;
    (void)state;
    for (CpuLoopId id = 0; id < CPU_LOOP_COUNT; id++)
        for (DType dtype = 1; dtype < DTYPE_COUNT; dtype++)
            if (cpu_loop_find(CPU_LEVEL_PORTABLE, id, dtype)) hash = hash_loop(id, dtype, hash);
    assert_int_equal(CPU_KERNELS_VERSION, 9);
    assert_true(hash == 0x4bbe9e1595267340u);
}

int test_cpu_loops(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_loop_is_found_for_some_element_type_at_every_level),
        cmocka_unit_test(test_strings_and_half_bytes_have_no_loops),
        cmocka_unit_test(test_the_bits_of_all_loops_are_those_of_this_version),
    };
    return cmocka_run_group_tests_name("cpu_loops", tests, NULL, NULL);
}
