#include "tests/kernels/fixtures/infer_fixture.h"

#include "kernels/arguments/arguments.h"

static void test_arguments_slice_resolves_negative_bounds(void **state) {
    (void)state;
    InferFixture fixture;
    SliceArguments slice;
    infer_fixture_init(
        &fixture, "Slice", NULL, "int8[5,6] int64[1]=-2 int64[1]=-100 int64[1]=-1 int64[1]=-2", 1);
    assert_ok(arguments_slice(&fixture.request, &slice));
    assert_int_equal(slice.start[1], 4);
    assert_int_equal(slice.step[1], -2);
    assert_int_equal(slice.count[1], 3);
    assert_int_equal(slice.count[0], 5);
    infer_fixture_deinit(&fixture);
}

static void test_arguments_axes_are_all_but_the_channels_by_default(void **state) {
    (void)state;
    InferFixture fixture;
    bool reduced[SHAPE_RANK_MAX];
    infer_fixture_init(&fixture, "MeanVarianceNormalization", NULL, "float32[5,6,7,8]", 1);
    assert_ok(arguments_axes(&fixture.request, reduced));
    assert_true(reduced[0] && !reduced[1] && reduced[2] && reduced[3]);
    infer_fixture_deinit(&fixture);
    infer_fixture_init(&fixture, "MeanVarianceNormalization", "{axes=[-1]}", "float32[5,6]", 1);
    assert_ok(arguments_axes(&fixture.request, reduced));
    assert_true(!reduced[0] && reduced[1]);
    infer_fixture_deinit(&fixture);
}

static void test_arguments_reduce_names_the_reduced_dimensions(void **state) {
    (void)state;
    InferFixture fixture;
    ReduceArguments reduce;
    infer_fixture_init(&fixture, "ReduceSum", "{keepdims=0}", "int8[5,6,7] int64[2]=-1,0", 1);
    assert_ok(arguments_reduce(&fixture.request, &reduce));
    assert_true(reduce.reduced[0] && !reduce.reduced[1] && reduce.reduced[2]);
    assert_false(reduce.keep_dims);
    infer_fixture_deinit(&fixture);
}

static void test_arguments_pad_places_values_by_axis(void **state) {
    (void)state;
    InferFixture fixture;
    PadArguments pad;
    infer_fixture_init(
        &fixture, "Pad", "{mode=\"reflect\"}", "int8[5,6] int64[2]=3,-1 - int64[1]=-1", 1);
    assert_ok(arguments_pad(&fixture.request, &pad));
    assert_int_equal(pad.mode, PAD_REFLECT);
    assert_int_equal(pad.begin[1], 3);
    assert_int_equal(pad.end[1], -1);
    assert_int_equal(pad.begin[0], 0);
    infer_fixture_deinit(&fixture);
}

static void test_arguments_range_is_exact_in_integers(void **state) {
    (void)state;
    InferFixture fixture;
    RangeArguments range;
    infer_fixture_init(&fixture, "Range", NULL,
        "int64[]=0x7ffffffffffffff0 int64[]=0x7fffffffffffffff int64[]=4", 1);
    assert_ok(arguments_range(&fixture.request, &range));
    assert_int_equal(range.count, 4);
    assert_true(range.start_int == 0x7ffffffffffffff0);
    infer_fixture_deinit(&fixture);
    infer_fixture_init(&fixture, "Range", NULL,
        "int64[]=5 int64[]=-0x7fffffffffffffff int64[]=-0x7fffffffffffffff", 1);
    assert_ok(arguments_range(&fixture.request, &range));
    assert_int_equal(range.count, 2);
    infer_fixture_deinit(&fixture);
}

static void test_arguments_pad_of_a_center_crop_takes_and_gives_halves(void **state) {
    (void)state;
    InferFixture fixture;
    PadArguments pad;
    infer_fixture_init(&fixture, "CenterCropPad", NULL, "int8[5,6,7] int64[3]=8,3,7", 1);
    assert_ok(arguments_pad(&fixture.request, &pad));
    assert_int_equal(pad.mode, PAD_CONSTANT);
    assert_int_equal(pad.begin[0], 1);
    assert_int_equal(pad.end[0], 2);
    assert_int_equal(pad.begin[1], -1);
    assert_int_equal(pad.end[1], -2);
    assert_int_equal(pad.begin[2], 0);
    assert_int_equal(pad.end[2], 0);
    infer_fixture_deinit(&fixture);
}

static void test_arguments_floats_are_of_any_float_type(void **state) {
    (void)state;
    InferFixture fixture;
    double values[2];
    uint32_t count;
    infer_fixture_init(&fixture, "Resize", NULL, "int8[5] float64[2]=0.1,1 float16[1]=0.5", 1);
    assert_ok(arguments_floats(&fixture.request, 1, 2, values, &count));
    assert_int_equal(count, 2);
    assert_true(values[0] == 0.1);
    assert_ok(arguments_floats(&fixture.request, 2, 2, values, &count));
    assert_int_equal(count, 1);
    assert_true(values[0] == 0.5);
    assert_ok(arguments_floats(&fixture.request, 3, 2, values, &count));
    assert_int_equal(count, 0);
    assert_fails_saying(INVALID, "input 1 has 2 elements, at most 1 fit",
        arguments_floats(&fixture.request, 1, 1, values, &count));
    infer_fixture_deinit(&fixture);
}

static void test_arguments_axes_are_all_or_those_named(void **state) {
    (void)state;
    InferFixture fixture;
    uint32_t axes[SHAPE_RANK_MAX], count;
    infer_fixture_init(&fixture, "Resize", NULL, "int8[5,6,7]", 1);
    assert_ok(arguments_named_axes(&fixture.request, axes, &count));
    assert_int_equal(count, 3);
    assert_int_equal(axes[2], 2);
    infer_fixture_deinit(&fixture);
    infer_fixture_init(&fixture, "Resize", "{axes=[-1, 0]}", "int8[5,6,7]", 1);
    assert_ok(arguments_named_axes(&fixture.request, axes, &count));
    assert_int_equal(count, 2);
    assert_int_equal(axes[0], 2);
    assert_int_equal(axes[1], 0);
    infer_fixture_deinit(&fixture);
}

static void test_arguments_trilu_counts_the_rows_of_all_matrices(void **state) {
    (void)state;
    InferFixture fixture;
    TriluArguments trilu;
    infer_fixture_init(&fixture, "Trilu", "{upper=0}", "int8[5,6,7] int64[]=-2", 1);
    assert_ok(arguments_trilu(&fixture.request, &trilu));
    assert_int_equal(trilu.rows, 30);
    assert_int_equal(trilu.height, 6);
    assert_int_equal(trilu.width, 7);
    assert_int_equal(trilu.k, -2);
    assert_false(trilu.upper);
    infer_fixture_deinit(&fixture);
    infer_fixture_init(&fixture, "Trilu", NULL, "int8[0,7]", 1);
    assert_ok(arguments_trilu(&fixture.request, &trilu));
    assert_true(trilu.rows == 0 && trilu.k == 0 && trilu.upper);
    infer_fixture_deinit(&fixture);
    infer_fixture_init(&fixture, "Trilu", NULL, "int8[7]", 1);
    assert_fails_saying(INVALID, "a matrix of rank 1", arguments_trilu(&fixture.request, &trilu));
    infer_fixture_deinit(&fixture);
}

static void test_arguments_word_finds_a_text_in_a_list(void **state) {
    static const char *const words[] = {"reflect", "edge", NULL}, *const others[] = {NULL};
    (void)state;
    InferFixture fixture;
    uint32_t index;
    infer_fixture_init(&fixture, "Pad", "{mode=\"edge\"}", "int8[5,6] int64[4]=0,0,0,0", 1);
    const Attributes *attributes = fixture.request.attributes;
    assert_ok(arguments_word(attributes, "mode", words, &index));
    assert_int_equal(index, 1);
    assert_ok(arguments_word(attributes, "mode", words, NULL));
    assert_fails_saying(
        INVALID, "mode \"edge\"", arguments_word(attributes, "mode", others, &index));
    infer_fixture_deinit(&fixture);
}

static void check_numbers(
    const char *name, const char *attributes, const char *input, const char *expected) {
    InferFixture fixture;
    ShapeNumbers made;
    TextBuilder OWN_TEXT(text) = {0};
    infer_fixture_init(&fixture, name, attributes, input, 1);
    arguments_shape_numbers(&fixture.request, &made);
    for (uint32_t i = 0; i < made.count; i++)
        text_appendf(&text, "%lld ", (long long)made.numbers[i]);
    assert_string_equal(text_builder_get(&text), expected);
    infer_fixture_deinit(&fixture);
}

static void test_arguments_shape_numbers_are_those_within_the_rank(void **state) {
    (void)state;
    check_numbers("Size", NULL, "int8[2,3,4]", "24 ");
    check_numbers("Size", NULL, "int8[]", "1 ");
    check_numbers("Shape", NULL, "int8[2,3,4]", "2 3 4 ");
    check_numbers("Shape", "{start=1, end=2}", "int8[2,3,4]", "3 ");
    check_numbers("Shape", "{start=-2}", "int8[2,3,4]", "3 4 ");
    check_numbers("Shape", "{start=-9, end=-1}", "int8[2,3,4]", "2 3 ");
    check_numbers("Shape", "{start=2, end=9}", "int8[2,3,4]", "4 ");
    check_numbers("Shape", "{start=2, end=1}", "int8[2,3,4]", "");
    check_numbers("Shape", "{start=5}", "int8[2,3,4]", "");
    check_numbers("Shape", NULL, "int8[]", "");
}

int test_arguments(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_arguments_slice_resolves_negative_bounds),
        cmocka_unit_test(test_arguments_axes_are_all_but_the_channels_by_default),
        cmocka_unit_test(test_arguments_reduce_names_the_reduced_dimensions),
        cmocka_unit_test(test_arguments_pad_places_values_by_axis),
        cmocka_unit_test(test_arguments_range_is_exact_in_integers),
        cmocka_unit_test(test_arguments_pad_of_a_center_crop_takes_and_gives_halves),
        cmocka_unit_test(test_arguments_floats_are_of_any_float_type),
        cmocka_unit_test(test_arguments_axes_are_all_or_those_named),
        cmocka_unit_test(test_arguments_word_finds_a_text_in_a_list),
        cmocka_unit_test(test_arguments_trilu_counts_the_rows_of_all_matrices),
        cmocka_unit_test(test_arguments_shape_numbers_are_those_within_the_rank),
    };
    return cmocka_run_group_tests_name("arguments", tests, NULL, NULL);
}
