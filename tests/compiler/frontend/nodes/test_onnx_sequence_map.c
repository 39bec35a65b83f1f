#include "tests/compiler/onnx_run.h"

/* SequenceMap(s, b): s + b and s - b of each item. */
static OnnxModel *map_model(const char *b_type, OnnxGraph **out_body) {
    OnnxModel *model = onnx_model_make(17);
    onnx_add_input(model->graph, "s", "list float32");
    onnx_add_input(model->graph, "b", b_type);
    onnx_add_output(model->graph, "sums", "list float32");
    onnx_add_output(model->graph, "differences", "list float32");
    OnnxGraph *body = *out_body = onnx_graph_make();
    onnx_add_input(body, "p", "float32");
    onnx_add_input(body, "q", "float32");
    onnx_add_node(body, "Add", "p,q", "sum");
    onnx_add_node(body, "Sub", "p,q", "difference");
    onnx_add_output(body, "sum", "float32");
    onnx_add_output(body, "difference", "float32");
    OnnxNodeProto *node = onnx_add_node(model->graph, "SequenceMap", "s,b", "sums,differences");
    onnx_set_graph(node, "body", body);
    return model;
}

static void test_onnx_sequence_map_takes_lists_and_tensors(void **state) {
    (void)state;
    OnnxGraph *body;
    onnx_model_expect(map_model("float32[1]", &body),
        "list float32[1] 1 | float32[2] 2 3; float32[1] 10 -> "
        "list float32[1] 11 | float32[2] 12 13; list float32[1] -9 | float32[2] -8 -7");
    onnx_model_expect(map_model("list float32", &body),
        "list float32[] 1 | float32[] 2; list float32[] 10 | float32[] 20 -> "
        "list float32[] 11 | float32[] 22; list float32[] -9 | float32[] -18");
    onnx_model_expect(map_model("float32", &body), "list; float32[] 1 -> list; list");
}

static void test_onnx_sequence_map_fails_on_a_shorter_list(void **state) {
    (void)state;
    OnnxGraph *body;
    onnx_model_expect_failure(map_model("list float32", &body),
        "list float32[] 1 | float32[] 2; list float32[] 10", "position 1 of a sequence of 1");
}

static void test_onnx_sequence_map_refuses_wrong_bodies(void **state) {
    (void)state;
    OnnxGraph *body;
    OnnxModel *model = map_model("float32", &body);
    onnx_add_input(body, "r", "float32");
    onnx_model_refused(INVALID, "the body has 3 inputs and 2 outputs for 2 and 2", model);
    onnx_model_refused(UNSUPPORTED, "input 1: whether it is a sequence or a tensor is not told",
        map_model("optional float32", &body));
}

int test_onnx_sequence_map(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_onnx_sequence_map_takes_lists_and_tensors),
        cmocka_unit_test(test_onnx_sequence_map_fails_on_a_shorter_list),
        cmocka_unit_test(test_onnx_sequence_map_refuses_wrong_bodies),
    };
    return cmocka_run_group_tests_name("onnx_sequence_map", tests, NULL, NULL);
}
