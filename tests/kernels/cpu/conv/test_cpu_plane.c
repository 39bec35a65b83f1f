#include "kernels/cpu/conv/cpu_plane.h"

#include "tests/kernels/fixtures/kernel_call.h"

static Window window_3x3(int64_t size, int64_t stride, int64_t pad) {
    const int64_t output = (size + 2 * pad - 3) / stride + 1;
    return (Window){.rank = 2,
        .kernel = {3, 3},
        .stride = {stride, stride},
        .dilation = {1, 1},
        .pad_begin = {pad, pad},
        .pad_end = {pad, pad},
        .input = {size, size},
        .output = {output, output}};
}

static void test_plane_writes_the_padding_out(void **state) {
    (void)state;
    const Window window = window_3x3(4, 1, 1);
    float x[16];
    static float band[CPU_PLANE_BAND_MAX];
    CpuPlane plane;
    for (int i = 0; i < 16; i++) x[i] = (float)(i + 1);
    assert_true(cpu_plane_of(&window, &plane));
    assert_int_equal(plane.bands, 1);
    assert_int_equal(plane.pitch, 18);
    assert_int_equal(plane.tap_count, 9);
    assert_int_equal(plane.taps[4], plane.pitch + 1);
    assert_int_equal(cpu_plane_rows_read(&plane, 4), 6);
    cpu_plane_fill(&plane, x, 0, 4, -7, band);
    for (int64_t row = 0; row < 6; row++)
        for (int64_t i = 0; i < plane.pitch; i++) {
            const bool inside = row >= 1 && row <= 4 && i >= 1 && i <= 4;
            assert_true(band[row * plane.pitch + i] == (inside ? x[(row - 1) * 4 + i - 1] : -7.0f));
        }
    cpu_plane_fill(&plane, x, 3, 1, 0, band); /* the last row of outputs alone */
    assert_true(band[1] == x[8] && band[plane.pitch + 1] == x[12]);
    assert_true(band[2 * plane.pitch + 1] == 0);
}

/* Bands hold what fits on the stack; a row that does not, and more than two dimensions, are left to
 * others. */
static void test_plane_cuts_what_is_large(void **state) {
    (void)state;
    CpuPlane plane;
    Window window = window_3x3(1000, 2, 1);
    assert_true(cpu_plane_of(&window, &plane));
    assert_true(plane.bands >= 50);
    assert_true(cpu_plane_rows_read(&plane, plane.band_rows) * plane.pitch <= CPU_PLANE_BAND_MAX);
    window = window_3x3(100000, 1, 1);
    assert_false(cpu_plane_of(&window, &plane));
    window = window_3x3(8, 1, 1);
    window.rank = 3;
    assert_false(cpu_plane_of(&window, &plane));
    window = window_3x3(8, 1, 1);
    window.kernel[0] = INT64_MAX / 2;
    assert_false(cpu_plane_of(&window, &plane));
}

int test_cpu_plane(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plane_writes_the_padding_out),
        cmocka_unit_test(test_plane_cuts_what_is_large),
    };
    return cmocka_run_group_tests_name("cpu_plane", tests, NULL, NULL);
}
