#include "tests/kernels/fixtures/infer_fixture.h"

#include "kernels/arguments/window.h"

static Window window(const char *name, const char *attributes, const char *inputs) {
    InferFixture fixture;
    Window out;
    infer_fixture_init(&fixture, name, attributes, inputs, 1);
    const OperatorId id = fixture.request.operator_info->id;
    if (id == OPERATOR_CONV_TRANSPOSE)
        assert_ok(window_of_transpose(&fixture.request, &out));
    else if (id == OPERATOR_COL_2_IM)
        assert_ok(window_of_columns(&fixture.request, &out));
    else if (id == OPERATOR_MAX_UNPOOL)
        assert_ok(window_of_unpool(&fixture.request, &out));
    else
        assert_ok(window_of(&fixture.request, &out));
    infer_fixture_deinit(&fixture);
    return out;
}

static void test_window_resolves_auto_pad(void **state) {
    (void)state;
    Window upper = window("Conv", "{auto_pad=\"SAME_UPPER\"}", "float32[1,1,6] float32[1,1,4]");
    assert_int_equal(upper.pad_begin[0], 1);
    assert_int_equal(upper.pad_end[0], 2);
    assert_int_equal(upper.output[0], 6);
    Window lower = window("Conv", "{auto_pad=\"SAME_LOWER\"}", "float32[1,1,6] float32[1,1,4]");
    assert_int_equal(lower.pad_begin[0], 2);
    assert_int_equal(lower.pad_end[0], 1);
    Window valid =
        window("Conv", "{auto_pad=\"VALID\", pads=[9, 9]}", "float32[1,1,6] float32[1,1,4]");
    assert_int_equal(valid.pad_begin[0], 0);
    assert_int_equal(valid.output[0], 3);
}

/* The last window of ceil_mode must begin inside the input or the padding in front of it. */
static void test_window_ceil_mode_drops_windows_in_the_padding(void **state) {
    (void)state;
    static const char one[] = "{kernel_shape=[1], strides=[2], ceil_mode=1}";
    static const char padded[] = "{kernel_shape=[2], strides=[3], pads=[0, 1], ceil_mode=1}";
    assert_int_equal(window("MaxPool", one, "float32[1,1,4]").output[0], 2);
    assert_int_equal(window("MaxPool", padded, "float32[1,1,6]").output[0], 2);
    assert_int_equal(window("MaxPool", padded, "float32[1,1,7]").output[0], 3);
}

/* floor(room / stride) + 1 outputs, as far as there is no less than none of them. */
static void test_window_of_a_pool_that_does_not_fit_has_no_outputs(void **state) {
    (void)state;
    static const char plain[] = "{kernel_shape=[3]}";
    static const char strided[] = "{kernel_shape=[4], strides=[3], pads=[1, 0]}";
    static const char partial[] = "{kernel_shape=[4], strides=[3], ceil_mode=1}";
    static const char far[] = "{kernel_shape=[6], strides=[3], ceil_mode=1}";
    static const char valid[] = "{kernel_shape=[2], dilations=[2], auto_pad=\"VALID\"}";
    static const InferRow rows[] = {
        {"MaxPool", plain, "float32[1,1,1]", "! a window of 3 over 1 in dimension 0"},
        {"AveragePool", "{kernel_shape=[7], strides=[3]}", "float32[1,1,3]", "! a window of 7"},
        {"LpPool", "{kernel_shape=[9], strides=[3], ceil_mode=1}", "float32[1,1,2]",
            "! a window of 9"},
        {"MaxPool", plain, "float32[1,1,2]", "float32[1, 1, 0] int64[1, 1, 0]"},
        {"Conv", "{}", "float32[1,1,2] float32[1,1,3]", "! a window of 3 over 2"},
    };
    assert_int_equal(window("MaxPool", plain, "float32[1,1,2]").output[0], 0);
    assert_int_equal(window("AveragePool", strided, "float32[1,1,0]").output[0], 0);
    assert_int_equal(window("LpPool", partial, "float32[1,1,2]").output[0], 1);
    assert_int_equal(window("LpPool", far, "float32[1,1,2]").output[0], 0);
    assert_int_equal(window("MaxPool", valid, "float32[1,1,2]").output[0], 0);
    infer_fixture_check(rows, sizeof rows / sizeof rows[0]);
}

static void test_window_index_steps_of_either_order(void **state) {
    (void)state;
    static const int64_t rows[] = {20, 5, 1}, columns[] = {1, 3, 12};
    Window pool = window("MaxPool", "{kernel_shape=[1, 1, 1]}", "float32[2,7,3,4,5]");
    int64_t steps[WINDOW_RANK_MAX] = {0};
    window_index_steps(&pool, false, steps);
    assert_memory_equal(steps, rows, sizeof rows);
    window_index_steps(&pool, true, steps);
    assert_memory_equal(steps, columns, sizeof columns);
}

static void test_window_of_transpose_gives_padding_for_a_wanted_output(void **state) {
    (void)state;
    Window plain = window("ConvTranspose", "{strides=[2]}", "float32[1,1,3] float32[1,1,3]");
    assert_int_equal(plain.output[0], 7);
    Window wanted =
        window("ConvTranspose", "{strides=[2], output_shape=[6]}", "float32[1,1,3] float32[1,1,3]");
    assert_int_equal(wanted.output[0], 6);
    assert_int_equal(wanted.pad_begin[0] + wanted.pad_end[0], 1);
    Window same = window(
        "ConvTranspose", "{strides=[2], auto_pad=\"SAME_UPPER\"}", "float32[1,1,3] float32[1,1,3]");
    assert_int_equal(same.output[0], 6);
    assert_int_equal(same.pad_begin[0], 0);
}

static void test_window_of_columns_counts_the_blocks_of_an_image(void **state) {
    (void)state;
    Window blocks = window("Col2Im", "{pads=[1, 0, 1, 2], strides=[2, 1], dilations=[1, 2]}",
        "float32[1,6,12] int64[2]=5,6 int64[2]=2,3");
    assert_int_equal(blocks.rank, 2);
    assert_int_equal(blocks.input[1], 6);
    assert_int_equal(blocks.kernel[1], 3);
    assert_int_equal(blocks.output[0], 3);
    assert_int_equal(blocks.output[1], 4);
}

static void test_window_of_unpool_is_what_was_pooled(void **state) {
    (void)state;
    Window pooled = window(
        "MaxUnpool", "{kernel_shape=[3], strides=[2], pads=[1, 0]}", "float32[1,1,4] int64[1,1,4]");
    assert_int_equal(pooled.input[0], 4);
    assert_int_equal(pooled.output[0], 8);
    Window wider = window("MaxUnpool", "{kernel_shape=[3], strides=[2], pads=[1, 0]}",
        "float32[1,1,4] int64[1,1,4] int64[3]=1,1,9");
    assert_int_equal(wider.output[0], 9);
}

static void test_window_refuses_what_overflows(void **state) {
    (void)state;
    static const InferRow rows[] = {
        {"Conv", "{dilations=[2147483647]}", "float32[1,1,6] float32[1,1,4]", "! a window of"},
        {"Conv", "{pads=[2147483648, 0]}", "float32[1,1,6] float32[1,1,4]", "! pads contains"},
        {"Conv", "{strides=[0]}", "float32[1,1,6] float32[1,1,4]", "! strides contains 0"},
        {"ConvTranspose", "{strides=[2147483647]}",
            "float32[1,1,4611686018427387904] float32[1,1,1]", "! becomes too large"},
        {"ConvTranspose", "{output_padding=[1]}", "float32[1,1,3] float32[1,1,3]",
            "! output_padding 1"},
        {"ConvTranspose", "{pads=[3, 3]}", "float32[1,1,3] float32[1,1,3]", "! nothing is left"},
    };
    infer_fixture_check(rows, sizeof rows / sizeof rows[0]);
}

int test_window(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_window_resolves_auto_pad),
        cmocka_unit_test(test_window_ceil_mode_drops_windows_in_the_padding),
        cmocka_unit_test(test_window_of_a_pool_that_does_not_fit_has_no_outputs),
        cmocka_unit_test(test_window_index_steps_of_either_order),
        cmocka_unit_test(test_window_of_transpose_gives_padding_for_a_wanted_output),
        cmocka_unit_test(test_window_of_columns_counts_the_blocks_of_an_image),
        cmocka_unit_test(test_window_of_unpool_is_what_was_pooled),
        cmocka_unit_test(test_window_refuses_what_overflows),
    };
    return cmocka_run_group_tests_name("window", tests, NULL, NULL);
}
