#include "tests/kernels/fixtures/string_fixture.h"

static Tensor *ints(uint32_t rank, const int64_t *dims, const int64_t *values) {
    Shape shape = shape_make(rank, dims);
    Tensor *tensor;
    assert_ok(tensor_create_on_host(device_host(), DTYPE_INT64, &shape, &tensor));
    if (tensor_bytes(tensor)) assert_ok(tensor_copy_from_host(tensor, values));
    return tensor;
}

static Tensor *bools(int64_t count, const uint8_t *values) {
    Shape shape = shape_make(1, &count);
    Tensor *tensor;
    assert_ok(tensor_create_on_host(device_host(), DTYPE_BOOL, &shape, &tensor));
    assert_ok(tensor_copy_from_host(tensor, values));
    return tensor;
}

static Error *move(const char *name, const char *attributes, Tensor *owned_a, Tensor *owned_b,
    Tensor *owned_c, const char *expected) {
    StringCall call = {.operator_name = name,
        .attributes = attributes,
        .input_count = owned_c   ? 3
                       : owned_b ? 2
                                 : 1,
        .output_count = 1,
        .inputs = {owned_a, owned_b, owned_c}};
    Error *error = string_call_run(&call);
    if (!error) string_fixture_expect(call.outputs[0], expected);
    string_call_deinit(&call);
    return error;
}

static Tensor *square(void) { return string_fixture_tensor("a|bb||dd", 2, (int64_t[]){2, 2}); }

static void test_moves_take_texts_along(void **state) {
    (void)state;
    const int64_t one = 1, two = 2;
    assert_ok(move("Concat", "{axis=1}", square(), square(), NULL, "[2, 4] a|bb|a|bb||dd||dd"));
    assert_ok(
        move("Gather", NULL, square(), ints(1, &two, (int64_t[]){-1, 0}), NULL, "[2, 2] |dd|a|bb"));
    assert_ok(move("Transpose", NULL, square(), NULL, NULL, "[2, 2] a||bb|dd"));
    assert_ok(move("Slice", NULL, square(), ints(1, &one, (int64_t[]){1}),
        ints(1, &one, (int64_t[]){2}), "[1, 2] |dd"));
    assert_ok(move("Expand", NULL, string_fixture_tensor("x", 1, &one),
        ints(1, &one, (int64_t[]){3}), NULL, "[3] x|x|x"));
    assert_ok(move("Tile", NULL, string_fixture_tensor("x|y", 1, &two),
        ints(1, &one, (int64_t[]){2}), NULL, "[4] x|y|x|y"));
    assert_ok(
        move("Compress", NULL, square(), bools(4, (uint8_t[]){0, 1, 0, 1}), NULL, "[2] bb|dd"));
    assert_ok(move("Where", NULL, bools(2, (uint8_t[]){1, 0}), string_fixture_tensor("x", 1, &one),
        string_fixture_tensor("p|q", 1, &two), "[2] x|q"));
    assert_ok(move("ScatterElements", NULL, string_fixture_tensor("p|q", 1, &two),
        ints(1, &one, (int64_t[]){1}), string_fixture_tensor("new", 1, &one), "[2] p|new"));
}

static void test_what_is_filled_up_is_empty_or_given(void **state) {
    (void)state;
    const int64_t one = 1, two = 2;
    Shape scalar = {0};
    Tensor *depth;
    assert_ok(move("Pad", NULL, string_fixture_tensor("a|b", 1, &two),
        ints(1, &two, (int64_t[]){1, 2}), NULL, "[5] |a|b||"));
    assert_ok(move("Pad", NULL, string_fixture_tensor("a|b", 1, &two),
        ints(1, &two, (int64_t[]){-1, 1}), string_fixture_tensor("x", 1, &one), "[2] b|x"));
    assert_ok(move("Pad", "{mode=\"reflect\"}", string_fixture_tensor("a|b", 1, &two),
        ints(1, &two, (int64_t[]){1, 1}), NULL, "[4] b|a|b|a"));
    assert_ok(tensor_create_on_host(device_host(), DTYPE_INT64, &scalar, &depth));
    assert_ok(tensor_copy_from_host(depth, &(int64_t){3}));
    assert_ok(move("OneHot", NULL, ints(1, &two, (int64_t[]){2, -3}), depth,
        string_fixture_tensor("off|on", 1, &two), "[2, 3] off|off|on|on|off|off"));
}

static void check_unique(const char *attributes, const char *texts, uint32_t rank,
    const int64_t *dims, const char *expected, const int64_t *first, const int64_t *inverse,
    const int64_t *counts) {
    StringCall call = {.operator_name = "Unique",
        .attributes = attributes,
        .input_count = 1,
        .output_count = 4,
        .inputs = {string_fixture_tensor(texts, rank, dims)}};
    const int64_t *const wanted[] = {first, inverse, counts};
    assert_ok(string_call_run(&call));
    string_fixture_expect(call.outputs[0], expected);
    for (int o = 0; o < 3; o++)
        for (int64_t i = 0; i < shape_count_unchecked(&call.outputs[o + 1]->shape); i++)
            assert_int_equal(((const int64_t *)tensor_data(call.outputs[o + 1]))[i], wanted[o][i]);
    string_call_deinit(&call);
}

/* By bytes: "B" before "a", a prefix before what is longer. */
static void test_texts_are_ordered_and_found_once(void **state) {
    (void)state;
    const int64_t six = 6, none = 0, pairs[] = {3, 2};
    check_unique(NULL, "b|aa|B|a|b|", 1, &six, "[5] |B|a|aa|b", (int64_t[]){5, 2, 3, 1, 0},
        (int64_t[]){4, 3, 1, 2, 4, 0}, (int64_t[]){1, 1, 1, 1, 2});
    check_unique("{sorted=0}", "b|aa|B|a|b|", 1, &six, "[5] b|aa|B|a|", (int64_t[]){0, 1, 2, 3, 5},
        (int64_t[]){0, 1, 2, 3, 0, 4}, (int64_t[]){2, 1, 1, 1, 1});
    check_unique("{axis=0}", "x|y|a|z|x|y", 2, pairs, "[2, 2] a|z|x|y", (int64_t[]){1, 0},
        (int64_t[]){1, 0, 1}, (int64_t[]){1, 2});
    check_unique(NULL, "", 1, &none, "[0]", NULL, NULL, NULL);
}

static void test_moves_make_several_outputs(void **state) {
    (void)state;
    StringCall call = {.operator_name = "Split",
        .attributes = "{num_outputs=2}",
        .input_count = 1,
        .output_count = 2,
        .inputs = {square()}};
    assert_ok(string_call_run(&call));
    string_fixture_expect(call.outputs[0], "[1, 2] a|bb");
    string_fixture_expect(call.outputs[1], "[1, 2] |dd");
    string_call_deinit(&call);
}

static void test_moves_check_indices_and_refuse_sums(void **state) {
    (void)state;
    const int64_t one = 1, two = 2;
    assert_fails_saying(FAILED, "index 2 at position 0",
        move("Gather", NULL, square(), ints(1, &one, (int64_t[]){2}), NULL, ""));
    assert_fails(UNSUPPORTED,
        move("ScatterElements", "{reduction=\"add\"}", string_fixture_tensor("p|q", 1, &two),
            ints(1, &one, (int64_t[]){1}), string_fixture_tensor("new", 1, &one), ""));
}

int test_cpu_string_move(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_moves_take_texts_along),
        cmocka_unit_test(test_what_is_filled_up_is_empty_or_given),
        cmocka_unit_test(test_texts_are_ordered_and_found_once),
        cmocka_unit_test(test_moves_make_several_outputs),
        cmocka_unit_test(test_moves_check_indices_and_refuse_sums),
    };
    return cmocka_run_group_tests_name("cpu_string_move", tests, NULL, NULL);
}
