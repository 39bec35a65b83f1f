#include "tests/compiler/onnx_run.h"

/* Scan(start, x): a running sum of x's slices; the last one and all of them. */
static OnnxModel *sum_model(const char *x_type, OnnxNodeProto **out_node) {
    OnnxModel *model = onnx_model_make(13);
    onnx_add_input(model->graph, "start", "float32[2]");
    onnx_add_input(model->graph, "x", x_type);
    onnx_add_output(model->graph, "last", "float32");
    onnx_add_output(model->graph, "all", "float32");
    OnnxGraph *body = onnx_graph_make();
    onnx_add_input(body, "sum", "float32[2]");
    onnx_add_input(body, "slice", "float32[2]");
    onnx_add_node(body, "Add", "sum,slice", "next");
    onnx_add_node(body, "Identity", "next", "kept");
    onnx_add_output(body, "next", "float32[2]");
    onnx_add_output(body, "kept", "float32[2]");
    *out_node = onnx_add_node(model->graph, "Scan", "start,x", "last,all");
    onnx_set_graph(*out_node, "body", body);
    onnx_set_int(*out_node, "num_scan_inputs", 1);
    return model;
}

static void test_onnx_scan_goes_over_the_first_axis(void **state) {
    (void)state;
    OnnxNodeProto *node;
    onnx_model_expect(sum_model("float32[n,2]", &node),
        "float32[2] 10 20; float32[3,2] 1 2 3 4 5 6 -> float32[2] 19 32; "
        "float32[3,2] 11 22 14 26 19 32");
}

static void test_onnx_scan_of_nothing_keeps_the_state(void **state) {
    (void)state;
    OnnxNodeProto *node;
    onnx_model_expect(sum_model("float32[n,2]", &node),
        "float32[2] 10 20; float32[0,2] -> float32[2] 10 20; float32[0,2]");
}

static void test_onnx_scan_directions(void **state) {
    (void)state;
    OnnxNodeProto *node;
    OnnxModel *model = sum_model("float32[n,2]", &node);
    onnx_set_ints(node, "scan_input_directions", "1");
    onnx_model_expect(model, "float32[2] 0 0; float32[3,2] 1 2 3 4 5 6 -> float32[2] 9 12; "
                             "float32[3,2] 5 6 8 10 9 12");
    model = sum_model("float32[n,2]", &node);
    onnx_set_ints(node, "scan_output_directions", "1");
    onnx_model_expect(model, "float32[2] 0 0; float32[3,2] 1 2 3 4 5 6 -> float32[2] 9 12; "
                             "float32[3,2] 9 12 4 6 1 2");
}

static void test_onnx_scan_axes(void **state) {
    (void)state;
    static const char *const axes[] = {"1", "-1"};
    for (size_t i = 0; i < 2; i++) {
        OnnxNodeProto *node;
        OnnxModel *model = sum_model("float32[2,n]", &node);
        onnx_set_ints(node, "scan_input_axes", axes[i]);
        onnx_set_ints(node, "scan_output_axes", axes[i]);
        onnx_model_expect(model, "float32[2] 0 0; float32[2,3] 1 3 5 2 4 6 -> float32[2] 9 12; "
                                 "float32[2,3] 1 4 9 2 6 12");
    }
}

static void test_onnx_scan_refuses_lists_of_the_wrong_length_and_directions(void **state) {
    (void)state;
    static const char *const names[] = {
        "scan_input_directions", "scan_output_directions", "scan_input_axes", "scan_output_axes"};
    OnnxNodeProto *node;
    for (size_t i = 0; i < 4; i++) {
        OnnxModel *model = sum_model("float32[n,2]", &node);
        onnx_set_ints(node, names[i], "0 0");
        onnx_model_refused(INVALID, "has 2 entries for 1", model);
        model = sum_model("float32[n,2]", &node);
        onnx_set_floats(node, names[i], "0");
        onnx_model_refused(INVALID, "is not a list of integers", model);
    }
    for (size_t i = 0; i < 2; i++) {
        OnnxModel *model = sum_model("float32[n,2]", &node);
        onnx_set_ints(node, names[i], "2");
        onnx_model_refused(INVALID, "0 and 1 are directions", model);
    }
}

/* Two inputs scanned together, without a state. */
static OnnxModel *pair_model(void) {
    OnnxModel *model = onnx_model_make(13);
    onnx_add_input(model->graph, "a", "float32[n]");
    onnx_add_input(model->graph, "b", "float32[m]");
    onnx_add_output(model->graph, "sums", "float32");
    OnnxGraph *body = onnx_graph_make();
    onnx_add_input(body, "p", "float32[]");
    onnx_add_input(body, "q", "float32[]");
    onnx_add_node(body, "Add", "p,q", "sum");
    onnx_add_output(body, "sum", "float32[]");
    OnnxNodeProto *node = onnx_add_node(model->graph, "Scan", "a,b", "sums");
    onnx_set_graph(node, "body", body);
    onnx_set_int(node, "num_scan_inputs", 2);
    onnx_set_ints(node, "scan_input_directions", "0 1");
    return model;
}

static void test_onnx_scan_of_several_inputs(void **state) {
    (void)state;
    onnx_model_expect(pair_model(), "float32[3] 1 2 3; float32[3] 10 20 30 -> float32[3] 31 22 13");
}

static void test_onnx_scan_fails_on_inputs_of_different_length(void **state) {
    (void)state;
    onnx_model_expect_failure(
        pair_model(), "float32[3] 1 2 3; float32[2] 10 20", "scan inputs have different lengths");
    onnx_model_expect_failure(
        pair_model(), "float32[0]; float32[2] 10 20", "scan inputs have different lengths");
}

static void test_onnx_scan_refuses_wrong_counts(void **state) {
    (void)state;
    static const int64_t counts[] = {0, -1, 3, INT64_MAX};
    OnnxNodeProto *node;
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        OnnxModel *model = sum_model("float32[n,2]", &node);
        node->attribute[1]->i = counts[i];
        onnx_model_refused(INVALID, "num_scan_inputs is", model);
    }
    OnnxModel *model = sum_model("float32[n,2]", &node);
    onnx_add_input(node->attribute[0]->g, "more", "float32");
    onnx_model_refused(INVALID, "the body has 3 inputs", model);
}

int test_onnx_scan(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_onnx_scan_goes_over_the_first_axis),
        cmocka_unit_test(test_onnx_scan_of_nothing_keeps_the_state),
        cmocka_unit_test(test_onnx_scan_directions),
        cmocka_unit_test(test_onnx_scan_axes),
        cmocka_unit_test(test_onnx_scan_refuses_lists_of_the_wrong_length_and_directions),
        cmocka_unit_test(test_onnx_scan_of_several_inputs),
        cmocka_unit_test(test_onnx_scan_fails_on_inputs_of_different_length),
        cmocka_unit_test(test_onnx_scan_refuses_wrong_counts),
    };
    return cmocka_run_group_tests_name("onnx_scan", tests, NULL, NULL);
}
