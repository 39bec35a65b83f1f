#include "tests/kernels/loop_fixture.h"

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

int test_cpu_loops(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_loop_is_found_for_some_element_type_at_every_level),
        cmocka_unit_test(test_strings_and_half_bytes_have_no_loops),
    };
    return cmocka_run_group_tests_name("cpu_loops", tests, NULL, NULL);
}
