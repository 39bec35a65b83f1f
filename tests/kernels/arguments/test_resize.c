#include "kernels/arguments/resize.h"

#include <stdio.h>

#include "tests/kernels/fixtures/infer_fixture.h"

static ResizeArguments resize_of(const char *attributes, const char *inputs) {
    InferFixture fixture;
    ResizeArguments out;
    infer_fixture_init(&fixture, "Resize", attributes, inputs, 1);
    assert_ok(resize_arguments(&fixture.request, &out));
    infer_fixture_deinit(&fixture);
    return out;
}

static double at(const char *mode, int64_t index) {
    char attributes[80];
    (void)snprintf(attributes, sizeof attributes, "{coordinate_transformation_mode=\"%s\"}", mode);
    const ResizeArguments resize =
        resize_of(attributes, "float32[4] float32[2]=0.25,1 float32[1]=2.5");
    return resize_coordinate(&resize, &resize.axes[0], index);
}

static bool near(double a, double b) { return a - b < 1e-12 && b - a < 1e-12; }

/* 4 elements become 10; of three quarters 7.5, that is 7. */
static void test_each_mode_puts_elements_elsewhere(void **state) {
    (void)state;
    assert_true(near(at("half_pixel", 3), 3.5 / 2.5 - 0.5));
    assert_true(near(at("half_pixel_symmetric", 3), 3.5 / 2.5 - 0.5));
    assert_true(near(at("pytorch_half_pixel", 3), 3.5 / 2.5 - 0.5));
    assert_true(near(at("align_corners", 3), 1));
    assert_true(near(at("asymmetric", 3), 1.2));
    assert_true(near(at("tf_crop_and_resize", 3), 0.75 + 3 * 2.25 / 6.5));
    assert_true(near(at("tf_half_pixel_for_nn", 3), 1.4));
}

static void test_a_length_of_one_lies_in_the_middle_or_at_the_start(void **state) {
    (void)state;
    static const struct {
        const char *mode;
        double at;
    } rows[] = {{"pytorch_half_pixel", 0}, {"align_corners", 0}, {"tf_crop_and_resize", 1.5}};
    for (size_t i = 0; i < 3; i++) {
        char attributes[80];
        (void)snprintf(
            attributes, sizeof attributes, "{coordinate_transformation_mode=\"%s\"}", rows[i].mode);
        const ResizeArguments resize =
            resize_of(attributes, "float32[4] float32[2]=0,1 - int64[1]=1");
        assert_true(near(resize_coordinate(&resize, &resize.axes[0], 0), rows[i].at));
    }
}

/* 8.5 * 14 / 17 - 0.5 is 6.5, which 8.5 / (17 / 14) - 0.5 is not in float64. */
static void test_the_middle_between_two_elements_is_exact(void **state) {
    (void)state;
    static const struct {
        const char *mode, *inputs;
        int64_t index;
        double at;
    } rows[] = {
        {"half_pixel", "float32[14] - - int64[1]=17", 8, 6.5},
        {"half_pixel", "float32[20] - - int64[1]=46", 34, 14.5},
        {"half_pixel_symmetric", "float32[14] - - int64[1]=17", 8, 6.5},
        {"half_pixel_symmetric", "float32[19] - float32[1]=14.5", 21, 1},
        {"asymmetric", "float32[38] - - int64[1]=24", 18, 28.5},
        {"tf_half_pixel_for_nn", "float32[14] - - int64[1]=17", 8, 7},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char attributes[80];
        (void)snprintf(
            attributes, sizeof attributes, "{coordinate_transformation_mode=\"%s\"}", rows[i].mode);
        const ResizeArguments resize = resize_of(attributes, rows[i].inputs);
        assert_true(resize_coordinate(&resize, &resize.axes[0], rows[i].index) == rows[i].at);
    }
}

static void test_the_aspect_ratio_may_be_kept(void **state) {
    (void)state;
    const char *inputs = "float32[3,4,8] - - int64[2]=6,6";
    ResizeArguments resize =
        resize_of("{axes=[2, 1], keep_aspect_ratio_policy=\"not_larger\"}", inputs);
    assert_int_equal(resize.axes[0].output, 3);
    assert_int_equal(resize.axes[1].output, 3);
    assert_int_equal(resize.axes[2].output, 6);
    assert_true(resize_scale(&resize.axes[1]) == 0.75);
    resize = resize_of("{axes=[2, 1], keep_aspect_ratio_policy=\"not_smaller\"}", inputs);
    assert_int_equal(resize.axes[1].output, 6);
    assert_int_equal(resize.axes[2].output, 12);
    /* 27 * 13 / 6 is 58.5, but ONNX's shape inference says 58: it multiplies by 13 / 6 in float64
     */
    resize =
        resize_of("{keep_aspect_ratio_policy=\"not_larger\"}", "float32[6,27] - - int64[2]=13,99");
    assert_int_equal(resize.axes[1].output, 58);
}

int test_resize(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_mode_puts_elements_elsewhere),
        cmocka_unit_test(test_a_length_of_one_lies_in_the_middle_or_at_the_start),
        cmocka_unit_test(test_the_middle_between_two_elements_is_exact),
        cmocka_unit_test(test_the_aspect_ratio_may_be_kept),
    };
    return cmocka_run_group_tests_name("resize", tests, NULL, NULL);
}
