#include "kernels/cpu/core/cpu_isa.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/library/shared_library.h"
#include "kernels/cpu/dnnl/cpu_dnnl_library.h"
#include "tests/kernels/fixtures/kernel_call.h"

/* Whatever the processor has: a lower limit gives less, and what is no limit changes nothing. */
static void test_isa_is_the_processors_up_to_the_limit(void **state) {
    (void)state;
    const char *given = getenv("ONEDNN_MAX_CPU_ISA");
    char kept[64] = "";
    if (given) (void)snprintf(kept, sizeof kept, "%s", given);
    const CpuIsa now = cpu_isa_get();
    assert_int_equal(setenv("ONEDNN_MAX_CPU_ISA", "Avx2", 1), 0);
    const CpuIsa lower = cpu_isa_get();
    assert_true(lower.level <= CPU_LEVEL_AVX2 && !lower.has_vnni && !lower.has_bfloat16);
    assert_int_equal(setenv("ONEDNN_MAX_CPU_ISA", "AVX512_CORE", 1), 0);
    assert_false(cpu_isa_get().has_vnni);
    assert_int_equal(setenv("ONEDNN_MAX_CPU_ISA", "SSE41", 1), 0);
    assert_int_equal(cpu_isa_get().level, CPU_LEVEL_PORTABLE);
    assert_int_equal(setenv("ONEDNN_MAX_CPU_ISA", "ALL", 1), 0);
    assert_true(cpu_isa_get().level >= now.level);
    assert_true(!now.has_bfloat16 || now.has_vnni);
    assert_true(!now.has_vnni || now.level == CPU_LEVEL_AVX512);
    assert_int_equal(
        kept[0] ? setenv("ONEDNN_MAX_CPU_ISA", kept, 1) : unsetenv("ONEDNN_MAX_CPU_ISA"), 0);
}

typedef struct Asked {
    __typeof__(&dnnl_get_effective_cpu_isa) isa;
} Asked;

/* oneDNN, which reads the limit itself, has the same answer. */
static void test_isa_is_what_dnnl_says(void **state) {
    (void)state;
    static const SharedLibraryFunction functions[] = {
        {"dnnl_get_effective_cpu_isa", offsetof(Asked, isa)}};
    Asked asked;
    assert_ok(shared_library_open(DNNL_FILE, functions, 1, &asked));
    const unsigned has = (unsigned)asked.isa();
    const CpuIsa isa = cpu_isa_get();
#define HAS(wanted) ((has & (unsigned)(wanted)) == (unsigned)(wanted))
    assert_true((isa.level >= CPU_LEVEL_AVX2) == HAS(dnnl_cpu_isa_avx2));
    assert_true((isa.level == CPU_LEVEL_AVX512) == HAS(dnnl_cpu_isa_avx512_core));
    assert_true(isa.has_vnni == HAS(dnnl_cpu_isa_avx512_core_vnni));
    assert_true(isa.has_bfloat16 == HAS(dnnl_cpu_isa_avx512_core_bf16));
#undef HAS
}

int test_cpu_isa(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_isa_is_what_dnnl_says), /* it reads the environment once */
        cmocka_unit_test(test_isa_is_the_processors_up_to_the_limit),
    };
    return cmocka_run_group_tests_name("cpu_isa", tests, NULL, NULL);
}
