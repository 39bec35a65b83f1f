/* NVIDIA's own compiler, which needs no GPU: it takes what is written for it, without a word. Not
 * beside the fake driver, which it would look into. */
#include <stdlib.h>

#include "kernels/cpu/elementwise/cpu_elementwise.h"
#include "kernels/cuda/driver/cuda_nvrtc.h"
#include "kernels/cuda/planners/cuda_pointwise_source.h"
#include "kernels/shape_rules/operator_infer.h"
#include "tests/kernels/fixtures/group_fixture.h"
#include "tests/kernels/fixtures/infer_fixture.h"

static const int architectures[] = {75, 80, 86, 89, 90};
enum { ARCHITECTURES = sizeof architectures / sizeof architectures[0], DRIVER = 99000 };

/* False, with the reason, where there is no NVRTC. */
static bool is_here(CudaNvrtc *out) {
    Error *error = cuda_nvrtc_open(90, DRIVER, out);
    const bool here = !error;
    if (error) print_message("skipped: %s\n", error_message(error));
    error_free(error);
    return here;
}

static void check_source(const char *source, int sm, bool assembled) {
    CudaNvrtc nvrtc;
    TextBuilder OWN_TEXT(log) = {0};
    OWN_IMAGE(image) = {0};
    assert_ok(cuda_nvrtc_open(sm, DRIVER, &nvrtc));
    assert_int_equal(nvrtc.sm, sm);
    assert_true(nvrtc.assembled);
    nvrtc.assembled = assembled;
    assert_ok(cuda_nvrtc_compile(&nvrtc, "group", source, &image, &log));
    assert_string_equal(text_builder_get(&log), "");
    if (assembled)
        assert_memory_equal(image.bytes, "\177ELF", 4);
    else
        assert_non_null(strstr(image.bytes, ".entry group_"));
}

/* Every operator, and every element type, but each with a third of the others (all of them where
 * LAYOVER_LONG_TESTS is set); up to PTX, which says all that there is to say of a source. */
static void test_nvrtc_library_takes_every_operator(void **state) {
    (void)state;
    TEST_OF_RESULTS();
    static GroupCase cases[GROUP_CASES_MAX];
    CudaNvrtc nvrtc;
    if (!is_here(&nvrtc)) skip();
    const uint32_t count = group_fixture_cases(cases), every = getenv("LAYOVER_LONG_TESTS") ? 1 : 3;
    for (uint32_t i = 0; i < ARCHITECTURES; i++) {
        TextBuilder OWN_TEXT(source) = {0};
        group_fixture_source(cases, count, i * every, ARCHITECTURES * every, &source);
        check_source(text_builder_get(&source), architectures[i], false);
    }
}

static void write_random(DType dtype, uint64_t seed, TextBuilder *out) {
    OWN(CpuPointwise, program) = NULL;
    TextBuilder OWN_TEXT(attributes) = {0}, OWN_TEXT(inputs) = {0};
    CudaPointwiseParams params;
    InferFixture infer;
    const char *name = dtype_name(dtype);
    group_fixture_random(dtype, seed, &attributes);
    text_appendf(&inputs, "%s[64,820] %s[820] %s[64,1] %s[]", name, name, name, name);
    infer_fixture_init(
        &infer, "FusedElementwise", text_builder_get(&attributes), text_builder_get(&inputs), 1);
    assert_ok(operator_infer(&infer.request));
    assert_ok(cpu_elementwise_lower(&infer.request, CPU_LEVEL_PORTABLE, &program));
    assert_true(cuda_pointwise_fill(&infer.request, program, &params));
    text_append(out, "#include \"kernels/cuda/device/device_group.h\"\n");
    cuda_pointwise_source_write("layover_group", &params, out);
    infer_fixture_deinit(&infer);
}

/* Programs of many steps, for every architecture. */
static void test_nvrtc_library_takes_programs_of_many_steps(void **state) {
    (void)state;
    TEST_OF_RESULTS();
    static const DType dtypes[ARCHITECTURES] = {
        DTYPE_FLOAT32, DTYPE_FLOAT16, DTYPE_INT8, DTYPE_UINT64, DTYPE_BFLOAT16};
    CudaNvrtc nvrtc;
    if (!is_here(&nvrtc)) skip();
    for (uint32_t i = 0; i < ARCHITECTURES; i++) {
        TextBuilder OWN_TEXT(source) = {0};
        write_random(dtypes[i], i, &source);
        check_source(text_builder_get(&source), architectures[i], true);
    }
}

static void test_nvrtc_library_says_what_is_wrong(void **state) {
    (void)state;
    CudaNvrtc nvrtc;
    CudaImage image = {0};
    if (!is_here(&nvrtc)) skip();
    assert_fails_saying(FAILED, "identifier \"no_such_thing\" is undefined",
        cuda_nvrtc_compile(
            &nvrtc, "broken", "int broken() { return no_such_thing; }", &image, NULL));
    assert_null(image.bytes);
}

/* A GPU that it does not know gets what the driver assembles. */
static void test_nvrtc_library_makes_ptx(void **state) {
    (void)state;
    CudaNvrtc nvrtc;
    OWN_IMAGE(image) = {0};
    if (!is_here(&nvrtc)) skip();
    assert_ok(cuda_nvrtc_open(1999, DRIVER, &nvrtc));
    assert_false(nvrtc.assembled);
    assert_ok(cuda_nvrtc_compile(&nvrtc, "empty", "", &image, NULL));
    assert_non_null(strstr(image.bytes, ".version"));
}

int test_nvrtc_library(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nvrtc_library_takes_every_operator),
        cmocka_unit_test(test_nvrtc_library_takes_programs_of_many_steps),
        cmocka_unit_test(test_nvrtc_library_says_what_is_wrong),
        cmocka_unit_test(test_nvrtc_library_makes_ptx),
    };
    return cmocka_run_group_tests_name("nvrtc_library", tests, NULL, NULL);
}
