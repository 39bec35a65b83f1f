/* The forms that operators had in older opsets give what the forms of today give. */
#include <stdio.h>

#include "tests/compiler/onnx_run.h"

/* One node from x (and initializers) to y, with a float32 input of any shape. */
static OnnxModel *one_node(
    int64_t opset, const char *op_type, const char *inputs, OnnxNodeProto **out_node) {
    OnnxModel *model = onnx_model_make(opset);
    onnx_add_input(model->graph, "x", "float32");
    onnx_add_output(model->graph, "y", "float32");
    *out_node = onnx_add_node(model->graph, op_type, inputs, "y");
    return model;
}

static void expect_both(OnnxModel *old, OnnxModel *new, const char *signature) {
    onnx_model_expect(old, signature);
    onnx_model_expect(new, signature);
}

static void axes_forms(const char *op_type, const char *axes, const char *axes_tensor,
    int64_t old_opset, int64_t new_opset, const char *signature) {
    OnnxNodeProto *node;
    OnnxModel *old = one_node(old_opset, op_type, "x", &node);
    onnx_set_ints(node, "axes", axes);
    OnnxModel *new = one_node(new_opset, op_type, "x,axes", &node);
    onnx_add_initializer(new->graph, "axes", axes_tensor);
    expect_both(old, new, signature);
}

static void test_onnx_legacy_squeeze_and_unsqueeze_take_axes_from_an_attribute(void **state) {
    (void)state;
    axes_forms("Squeeze", "0 2", "int64[2] 0 2", 11, 13, "float32[1,2,1] 3 4 -> float32[2] 3 4");
    axes_forms("Unsqueeze", "0 2", "int64[2] 0 2", 7, 13, "float32[2] 3 4 -> float32[1,2,1] 3 4");
    axes_forms("Unsqueeze", "-1", "int64[1] -1", 11, 13, "float32[2] 3 4 -> float32[2,1] 3 4");
}

static void test_onnx_legacy_reductions_take_axes_from_an_attribute(void **state) {
    (void)state;
    static const char input[] = "float32[2,3] 1 2 3 4 5 6 -> ";
    static const struct {
        const char *op_type, *result;
    } rows[] = {
        {"ReduceSum", "float32[2,1] 6 15"},
        {"ReduceMean", "float32[2,1] 2 5"},
        {"ReduceMax", "float32[2,1] 3 6"},
        {"ReduceMin", "float32[2,1] 1 4"},
        {"ReduceProd", "float32[2,1] 6 120"},
        {"ReduceSumSquare", "float32[2,1] 14 77"},
        {"ReduceL1", "float32[2,1] 6 15"},
        {"ReduceL2", "float32[2,1] 3.74166 8.77496"},
        {"ReduceLogSum", "float32[2,1] 1.79176 2.70805"},
        {"ReduceLogSumExp", "float32[2,1] 3.40761 6.40761"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char signature[256];
        (void)snprintf(signature, sizeof signature, "%s%s", input, rows[i].result);
        axes_forms(rows[i].op_type, "1", "int64[1] 1", 7, 18, signature);
        axes_forms(rows[i].op_type, "-1", "int64[1] -1", 11, 18, signature);
    }
}

static void test_onnx_legacy_reductions_without_axes_take_all(void **state) {
    (void)state;
    static const int64_t opsets[] = {7, 11, 13, 18};
    for (size_t i = 0; i < sizeof opsets / sizeof *opsets; i++) {
        OnnxNodeProto *node;
        OnnxModel *model = one_node(opsets[i], "ReduceSum", "x", &node);
        onnx_set_int(node, "keepdims", 0);
        onnx_model_expect(model, "float32[2,3] 1 2 3 4 5 6 -> float32[] 21");
    }
}

static OnnxModel *split_model(int64_t opset, const char *inputs, OnnxNodeProto **out_node) {
    OnnxModel *model = onnx_model_make(opset);
    onnx_add_input(model->graph, "x", "float32");
    onnx_add_output(model->graph, "a", "float32");
    onnx_add_output(model->graph, "b", "float32");
    *out_node = onnx_add_node(model->graph, "Split", inputs, "a,b");
    onnx_set_int(*out_node, "axis", 0);
    return model;
}

static void test_onnx_legacy_split_takes_lengths_from_an_attribute(void **state) {
    (void)state;
    OnnxNodeProto *node;
    OnnxModel *old = split_model(7, "x", &node);
    onnx_set_ints(node, "split", "1 3");
    OnnxModel *new = split_model(13, "x,lengths", &node);
    onnx_add_initializer(new->graph, "lengths", "int64[2] 1 3");
    expect_both(old, new, "float32[4] 1 2 3 4 -> float32[1] 1; float32[3] 2 3 4");
}

static void test_onnx_legacy_split_without_lengths_gives_equal_parts(void **state) {
    (void)state;
    OnnxNodeProto *node;
    OnnxModel *new = split_model(18, "x", &node);
    onnx_set_int(node, "num_outputs", 2);
    expect_both(
        split_model(7, "x", &node), new, "float32[4] 1 2 3 4 -> float32[2] 1 2; float32[2] 3 4");
}

static void test_onnx_legacy_slice_takes_bounds_from_attributes(void **state) {
    (void)state;
    OnnxNodeProto *node;
    OnnxModel *old = one_node(7, "Slice", "x", &node);
    onnx_set_ints(node, "starts", "1 0");
    onnx_set_ints(node, "ends", "9 -1");
    onnx_set_ints(node, "axes", "1 0");
    OnnxModel *new = one_node(13, "Slice", "x,starts,ends,axes", &node);
    onnx_add_initializer(new->graph, "starts", "int64[2] 1 0");
    onnx_add_initializer(new->graph, "ends", "int64[2] 9 -1");
    onnx_add_initializer(new->graph, "axes", "int64[2] 1 0");
    expect_both(old, new, "float32[2,3] 1 2 3 4 5 6 -> float32[1,2] 2 3");
    old = one_node(9, "Slice", "x", &node);
    onnx_set_ints(node, "starts", "1");
    onnx_set_ints(node, "ends", "2");
    onnx_model_expect(old, "float32[2,3] 1 2 3 4 5 6 -> float32[1,3] 4 5 6");
}

static void test_onnx_legacy_pad_takes_pads_and_value_from_attributes(void **state) {
    (void)state;
    OnnxNodeProto *node;
    OnnxModel *old = one_node(7, "Pad", "x", &node);
    onnx_set_ints(node, "pads", "1 2");
    onnx_set_float(node, "value", 9);
    OnnxModel *new = one_node(13, "Pad", "x,pads,value", &node);
    onnx_add_initializer(new->graph, "pads", "int64[2] 1 2");
    onnx_add_initializer(new->graph, "value", "float32[] 9");
    expect_both(old, new, "float32[2] 1 2 -> float32[5] 9 1 2 9 9");
    old = one_node(10, "Pad", "x", &node);
    onnx_set_ints(node, "pads", "1 0");
    onnx_model_expect(old, "float32[2] 1 2 -> float32[3] 0 1 2");
    old = one_node(10, "Pad", "x", &node);
    onnx_set_text(node, "mode", "reflect");
    onnx_set_ints(node, "pads", "2 0");
    onnx_model_expect(old, "float32[3] 1 2 3 -> float32[5] 3 2 1 2 3");
}

static void test_onnx_legacy_clip_takes_bounds_from_attributes(void **state) {
    (void)state;
    OnnxNodeProto *node;
    OnnxModel *old = one_node(7, "Clip", "x", &node);
    onnx_set_float(node, "min", 0);
    onnx_set_float(node, "max", 6);
    OnnxModel *new = one_node(13, "Clip", "x,min,max", &node);
    onnx_add_initializer(new->graph, "min", "float32[] 0");
    onnx_add_initializer(new->graph, "max", "float32[] 6");
    expect_both(old, new, "float32[3] -1 3 9 -> float32[3] 0 3 6");
    old = one_node(10, "Clip", "x", &node);
    onnx_set_float(node, "max", 6);
    onnx_model_expect(old, "float32[3] -1 3 9 -> float32[3] -1 3 6");
    old = one_node(10, "Clip", "x", &node);
    onnx_set_float(node, "min", 0);
    onnx_model_expect(old, "float32[3] -1 3 9 -> float32[3] 0 3 9");
    onnx_model_expect(one_node(10, "Clip", "x", &node), "float32[2] -1 3 -> float32[2] -1 3");
}

/* The constants made of attributes have the element type of a value that a node before computes. */
static void test_onnx_legacy_pad_and_clip_follow_computed_element_types(void **state) {
    (void)state;
    static const char *const types[] = {"float64", "float16", "float32"};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        OnnxModel *model = onnx_model_make(10);
        char signature[128], type[32];
        (void)snprintf(type, sizeof type, "%s[2]", types[i]);
        onnx_add_input(model->graph, "x", type);
        onnx_add_output(model->graph, "y", types[i]);
        onnx_add_node(model->graph, "Neg", "x", "negative");
        OnnxNodeProto *node = onnx_add_node(model->graph, "Pad", "negative", "padded");
        onnx_set_ints(node, "pads", "1 0");
        onnx_set_float(node, "value", 7);
        node = onnx_add_node(model->graph, "Clip", "padded", "y");
        onnx_set_float(node, "min", -2);
        (void)snprintf(
            signature, sizeof signature, "%s[2] 1 5 -> %s[3] 7 -1 -2", types[i], types[i]);
        onnx_model_expect(model, signature);
    }
}

/* Types that an attribute tells, and types that only inference will know. */
static void test_onnx_legacy_pad_and_clip_take_types_from_elsewhere(void **state) {
    (void)state;
    OnnxNodeProto *node;
    OnnxModel *model = onnx_model_make(10);
    onnx_add_input(model->graph, "x", "float32[2,2]");
    onnx_add_output(model->graph, "y", "float64");
    node = onnx_add_node(model->graph, "EyeLike", "x", "eye");
    onnx_set_int(node, "dtype", 11);
    node = onnx_add_node(model->graph, "Pad", "eye", "padded");
    onnx_set_ints(node, "pads", "0 1 0 0");
    onnx_set_float(node, "value", 7);
    node = onnx_add_node(model->graph, "Clip", "padded", "y");
    onnx_set_float(node, "max", 3);
    onnx_model_expect(model, "float32[2,2] 0 0 0 0 -> float64[2,3] 3 1 0 3 0 1");
    model = onnx_model_make(10);
    onnx_add_input(model->graph, "x", "int32[2]");
    onnx_add_output(model->graph, "y", "int32");
    node = onnx_add_node(model->graph, "Pad", "x", "y");
    onnx_set_ints(node, "pads", "1 0");
    onnx_set_float(node, "value", 7);
    onnx_model_expect(model, "int32[2] 1 5 -> int32[3] 7 1 5");
}

static OnnxModel *top_k_model(int64_t opset, const char *inputs, OnnxNodeProto **out_node) {
    OnnxModel *model = onnx_model_make(opset);
    onnx_add_input(model->graph, "x", "float32");
    onnx_add_output(model->graph, "values", "float32");
    onnx_add_output(model->graph, "indices", "int64");
    *out_node = onnx_add_node(model->graph, "TopK", inputs, "values,indices");
    return model;
}

static void test_onnx_legacy_top_k_takes_k_from_an_attribute(void **state) {
    (void)state;
    OnnxNodeProto *node;
    OnnxModel *old = top_k_model(7, "x", &node);
    onnx_set_int(node, "k", 2);
    OnnxModel *new = top_k_model(11, "x,k", &node);
    onnx_add_initializer(new->graph, "k", "int64[1] 2");
    expect_both(old, new, "float32[4] 1 4 2 3 -> float32[2] 4 3; int64[2] 1 3");
    onnx_model_refused(INVALID, "TopK", top_k_model(7, "x", &node));
}

static void test_onnx_legacy_scatter_is_scatter_elements(void **state) {
    (void)state;
    OnnxNodeProto *node;
    OnnxModel *model = one_node(9, "Scatter", "x,indices,updates", &node);
    onnx_add_initializer(model->graph, "indices", "int64[1,2] 1 0");
    onnx_add_initializer(model->graph, "updates", "float32[1,2] 7 8");
    onnx_set_int(node, "axis", 1);
    onnx_model_expect(model, "float32[1,3] 1 2 3 -> float32[1,3] 8 7 3");
}

/* Up to opset 12 everything from the axis on is one row. */
static void test_onnx_legacy_softmax_flattens(void **state) {
    (void)state;
    static const char whole[] = "float32[1,2,2] 0 0 0 0 -> float32[1,2,2] 0.25 0.25 0.25 0.25";
    static const char rows[] = "float32[1,2,2] 0 0 0 0 -> float32[1,2,2] 0.5 0.5 0.5 0.5";
    OnnxNodeProto *node;
    onnx_model_expect(one_node(7, "Softmax", "x", &node), whole);
    OnnxModel *model = one_node(11, "Softmax", "x", &node);
    onnx_set_int(node, "axis", 2);
    onnx_model_expect(model, rows);
    model = one_node(12, "Softmax", "x", &node);
    onnx_set_int(node, "axis", -1);
    onnx_model_expect(model, rows);
    model = one_node(13, "Softmax", "x", &node);
    onnx_set_int(node, "axis", 1);
    onnx_model_expect(model, rows);
    model = one_node(11, "Softmax", "x", &node);
    onnx_set_int(node, "axis", 2);
    onnx_model_expect(model, "float32[2,3,0] -> float32[2,3,0]");
    onnx_model_expect(one_node(11, "Softmax", "x", &node), "float32[2,0,4] -> float32[2,0,4]");
    onnx_model_expect(one_node(7, "LogSoftmax", "x", &node),
        "float32[1,2,2] 0 0 0 0 -> float32[1,2,2] -1.38629 -1.38629 -1.38629 -1.38629");
    onnx_model_expect(
        one_node(11, "Hardmax", "x", &node), "float32[1,2,2] 1 2 4 3 -> float32[1,2,2] 0 0 1 0");
    onnx_model_expect(
        one_node(13, "Hardmax", "x", &node), "float32[1,2,2] 1 2 4 3 -> float32[1,2,2] 0 1 1 0");
}

int test_onnx_legacy(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_onnx_legacy_squeeze_and_unsqueeze_take_axes_from_an_attribute),
        cmocka_unit_test(test_onnx_legacy_reductions_take_axes_from_an_attribute),
        cmocka_unit_test(test_onnx_legacy_reductions_without_axes_take_all),
        cmocka_unit_test(test_onnx_legacy_split_takes_lengths_from_an_attribute),
        cmocka_unit_test(test_onnx_legacy_split_without_lengths_gives_equal_parts),
        cmocka_unit_test(test_onnx_legacy_slice_takes_bounds_from_attributes),
        cmocka_unit_test(test_onnx_legacy_pad_takes_pads_and_value_from_attributes),
        cmocka_unit_test(test_onnx_legacy_clip_takes_bounds_from_attributes),
        cmocka_unit_test(test_onnx_legacy_pad_and_clip_follow_computed_element_types),
        cmocka_unit_test(test_onnx_legacy_pad_and_clip_take_types_from_elsewhere),
        cmocka_unit_test(test_onnx_legacy_top_k_takes_k_from_an_attribute),
        cmocka_unit_test(test_onnx_legacy_scatter_is_scatter_elements),
        cmocka_unit_test(test_onnx_legacy_softmax_flattens),
    };
    return cmocka_run_group_tests_name("onnx_legacy", tests, NULL, NULL);
}
