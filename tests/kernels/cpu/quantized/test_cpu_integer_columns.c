#include "kernels/cpu/quantized/cpu_integer_columns.h"

#include "tests/kernels/fixtures/everywhere.h"
#include "tests/kernels/fixtures/infer_fixture.h"

/* Weights without a sign: panels and zero points are by 128 less. */
static void test_columns_have_their_zero_points_and_scales(void **state) {
    static const uint8_t data[] = {130, 1, 255, 128, 0, 127}, zeros[] = {128, 130, 128};
    static const float scales[] = {0.5F};
    CpuDevice *device = cpu_device(everywhere_cpu());
    const CpuLowerForm form = cpu_lower_form(device, true);
    CpuIntegerColumns columns;
    CpuIntegerColumnsRun run;
    CpuWiden widen;
    InferFixture infer;
    uint64_t bytes;
    static char workspace[4096];
    (void)state;
    infer_fixture_init(&infer, "QLinearMatMul", NULL,
        "uint8[1,2] float32[] uint8[] uint8[2,3] float32[] uint8[3] float32[] uint8[]", 1);
    assert_ok(cpu_integer_columns_of(&infer.request, form, 3, 5, 4, &columns));
    assert_ok(cpu_integer_columns_bytes(&columns, &bytes));
    assert_true(bytes <= sizeof workspace);
    const uint64_t inputs[8] = {[3] = (uint64_t)(uintptr_t)data,
        [4] = (uint64_t)(uintptr_t)scales,
        [5] = (uint64_t)(uintptr_t)zeros};
    const Launch launch = {.inputs = inputs, .threads = 1};
    cpu_widen_init(DTYPE_FLOAT32, &widen);
    assert_ok(cpu_integer_columns_read(&columns, device, &launch, &widen, workspace, &run));
    assert_true(run.corrects);
    assert_memory_equal(run.zeros, ((int32_t[]){0, 2, 0}), 12);
    for (int c = 0; c < 3; c++) {
        assert_true(run.scales[c] == 0.5F);
        for (int k = 0; k < 2; k++)
            assert_int_equal(cpu_lower_byte(form, run.panels, 2, k, c), data[k * 3 + c] - 128);
    }
    infer_fixture_deinit(&infer);
}

int test_cpu_integer_columns(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_columns_have_their_zero_points_and_scales),
    };
    return cmocka_run_group_tests_name("cpu_integer_columns", tests, NULL, NULL);
}
