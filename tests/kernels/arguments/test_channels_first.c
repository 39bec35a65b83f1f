#include "kernels/arguments/channels_first.h"

#include "tests/kernels/fixtures/infer_fixture.h"

static void check_shape(Shape last, Shape first) {
    Shape made;
    channels_first_shape(&last, &made);
    assert_true(shape_equal(&made, &first));
    channels_last_shape(&first, &made);
    assert_true(shape_equal(&made, &last));
}

static void test_the_last_dimension_goes_behind_the_first_and_back(void **state) {
    (void)state;
    check_shape((Shape){4, {2, 7, 9, 3}}, (Shape){4, {2, 3, 7, 9}});
    check_shape((Shape){3, {2, 7, 3}}, (Shape){3, {2, 3, 7}});
    check_shape((Shape){5, {2, 4, 5, 6, 3}}, (Shape){5, {2, 3, 4, 5, 6}});
    check_shape((Shape){2, {2, 7}}, (Shape){2, {2, 7}});
    check_shape((Shape){0, {0}}, (Shape){0, {0}});
}

static void test_weights_and_bias_stay_as_they_are(void **state) {
    (void)state;
    InferFixture fixture;
    infer_fixture_init(&fixture, "FusedConv", "{channels_last=1}",
        "float32[1,5,6,3] float32[4,3,2,2] float32[4] float32[1,4,5,4]", 1);
    ChannelsFirst first;
    assert_true(channels_last_is(&fixture.request));
    channels_first_of(&fixture.request, &first);
    const Shape image = {4, {1, 3, 5, 6}}, residual = {4, {1, 4, 4, 5}};
    assert_true(shape_equal(&first.request.inputs[0].shape, &image));
    assert_true(shape_equal(&first.request.inputs[3].shape, &residual));
    for (uint32_t i = 1; i < 3; i++)
        assert_true(shape_equal(&first.request.inputs[i].shape, &fixture.specs[i].shape));
    infer_fixture_deinit(&fixture);
}

static void test_a_convolution_says_whether_its_channels_are_last(void **state) {
    (void)state;
    InferFixture fixture;
    infer_fixture_init(&fixture, "FusedConv", NULL, "float32[1,3,5,6] float32[4,3,2,2]", 1);
    assert_false(channels_last_is(&fixture.request));
    infer_fixture_deinit(&fixture);
    infer_fixture_init(&fixture, "Conv", NULL, "float32[1,3,5,6] float32[4,3,2,2]", 1);
    assert_false(channels_last_is(&fixture.request));
    infer_fixture_deinit(&fixture);
}

int test_channels_first(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_last_dimension_goes_behind_the_first_and_back),
        cmocka_unit_test(test_weights_and_bias_stay_as_they_are),
        cmocka_unit_test(test_a_convolution_says_whether_its_channels_are_last),
    };
    return cmocka_run_group_tests_name("channels_first", tests, NULL, NULL);
}
