#include "base/digest.h"
#include "kernels/cpu/core/cpu_internal.h"
#include "kernels/operator/operator.h"
#include "tests/kernels/fixtures/loop_fixture.h"
#include "tests/support/tensor_text.h"

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

/* An operator's loops exist for the element types of its row, and for no others. */
static void test_the_loops_of_scalar_functions_serve_the_element_types_of_their_operator(
    void **state) {
    static const struct {
        CpuLoopId id;
        OperatorId operator_id;
    } derived[] = {
#define ELEMENTWISE_DERIVED(id, operands, parameters) {CPU_LOOP_##id, OPERATOR_##id},
#include "kernels/operator/elementwise.def"
    };
    static const DTypeSet dtypes[OPERATOR_COUNT] = {
#define ELEMENTWISE_EACH(id, dtypes) [OPERATOR_##id] = dtypes,
#include "kernels/operator/elementwise.def"
    };
    (void)state;
    for (size_t i = 0; i < sizeof derived / sizeof derived[0]; i++)
        for (DType dtype = 1; dtype < DTYPE_COUNT; dtype++)
            if (!cpu_loop_find(CPU_LEVEL_PORTABLE, derived[i].id, dtype) ==
                dtype_in(dtypes[derived[i].operator_id], dtype))
                fail_msg("%s of %s", operator_get(derived[i].operator_id)->name, dtype_name(dtype));
}

static void test_the_loops_of_scalar_functions_have_the_same_bits_at_every_level(void **state) {
    (void)state;
    /* cpu_loops.def lists them behind SHRINK, the last loop written by hand */
    const CpuLoopId first = CPU_LOOP_SHRINK + 1;
    assert_true(loop_fixture_check(first, CPU_LOOP_COUNT - 1) >= 4 * (CPU_LOOP_COUNT - first));
}

enum { SAMPLES = 5000 };

/* The loops that version 9 had when it was released. A loop that is added later folded no constant
 * of an executable of that version; its name is added here when the version is raised. */
static const char loops_of_version[] =
    "ADD SUB MUL DIV MOD FMOD MAX MIN POW POW_BY_INT64 POW_BY_FLOAT64 PRELU EQUAL LESS "
    "LESS_OR_EQUAL BIT_AND BIT_OR BIT_XOR WHERE CLIP COPY NOT NEG ABS SIGN SQRT "
    "RECIPROCAL EXP LOG SIN COS ERF TANH SIGMOID RELU LEAKY_RELU ELU SELU GELU_ERF "
    "GELU_TANH SOFTPLUS HARD_SIGMOID HARD_SWISH FLOOR CEIL ROUND IS_NAN STICKY SHIFT_LEFT "
    "SHIFT_RIGHT BIT_NOT IS_INF SHRINK SWIGLU CELU SOFTSIGN MISH SWISH THRESHOLDED_RELU "
    "TAN ASIN ACOS ATAN SINH COSH ASINH ACOSH ATANH";

static CpuLoopId find_loop(const char *name) {
    static const char *const names[] = {
#define CPU_LOOP(name, operands) #name,
#include "kernels/cpu/loops/cpu_loops.def"
#undef CPU_LOOP
    };
    for (CpuLoopId id = 0; id < CPU_LOOP_COUNT; id++)
        if (strcmp(names[id], name) == 0) return id;
    fail_msg("there is no loop %s any more", name);
    return CPU_LOOP_COUNT;
}

/* place: index of the loop in loops_of_version. */
static uint64_t hash_loop(CpuLoopId id, uint32_t place, DType dtype, uint64_t before) {
    static char operands[CPU_LOOP_OPERANDS_MAX][SAMPLES * 8], out[(SAMPLES + 1) * 8];
    CpuOperand views[CPU_LOOP_OPERANDS_MAX];
    CpuParameters parameters = {0.75, 0.25};
    for (uint32_t k = 0; k < CPU_LOOP_OPERANDS_MAX; k++) {
        loop_fixture_fill(
            loop_fixture_operand(id, dtype, k), (uint64_t)place * 7 + k, operands[k], SAMPLES);
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
    char word[TENSOR_TEXT_WORD_MAX];
    uint32_t place = 0;
    for (const char *at = loops_of_version; tensor_text_word(&at, " ", word); place++) {
        const CpuLoopId id = find_loop(word);
        for (DType dtype = 1; dtype < DTYPE_COUNT; dtype++)
            if (cpu_loop_find(CPU_LEVEL_PORTABLE, id, dtype))
                hash = hash_loop(id, place, dtype, hash);
    }
    assert_int_equal(CPU_KERNELS_VERSION, 16);
    assert_int_equal(hash, 0xc3f222d9811e37e1u);
}

int test_cpu_loop_find(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_loop_is_found_for_some_element_type_at_every_level),
        cmocka_unit_test(
            test_the_loops_of_scalar_functions_serve_the_element_types_of_their_operator),
        cmocka_unit_test(test_the_loops_of_scalar_functions_have_the_same_bits_at_every_level),
        cmocka_unit_test(test_strings_and_half_bytes_have_no_loops),
        cmocka_unit_test(test_the_bits_of_all_loops_are_those_of_this_version),
    };
    return cmocka_run_group_tests_name("cpu_loops", tests, NULL, NULL);
}
