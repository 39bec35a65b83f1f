#include "tests/compiler/onnx_run.h"

/* Scan(lens?, start, x): a running sum of each item's slices; the last one and all of them. */
static OnnxModel *sum_model(bool lengths, OnnxNodeProto **out_node) {
    OnnxModel *model = onnx_model_make(8);
    if (lengths) onnx_add_input(model->graph, "lens", "int64[?]");
    onnx_add_input(model->graph, "start", "float32[b,2]");
    onnx_add_input(model->graph, "x", "float32[?,n,2]");
    onnx_add_output(model->graph, "last", "float32");
    onnx_add_output(model->graph, "all", "float32");
    OnnxGraph *body = onnx_graph_make();
    onnx_add_input(body, "sum", "float32[2]");
    onnx_add_input(body, "slice", "float32[2]");
    onnx_add_node(body, "Add", "sum,slice", "next");
    onnx_add_node(body, "Identity", "next", "kept");
    onnx_add_output(body, "next", "float32[2]");
    onnx_add_output(body, "kept", "float32[2]");
    *out_node =
        onnx_add_node(model->graph, "Scan", lengths ? "lens,start,x" : ",start,x", "last,all");
    onnx_set_graph(*out_node, "body", body);
    onnx_set_int(*out_node, "num_scan_inputs", 1);
    return model;
}

static void test_onnx_scan_batched_scans_each_item(void **state) {
    (void)state;
    OnnxNodeProto *node;
    onnx_model_expect(sum_model(false, &node),
        "float32[2,2] 0 0 10 10; float32[2,2,2] 1 2 3 4 5 6 7 8 -> float32[2,2] 4 6 22 24; "
        "float32[2,2,2] 1 2 4 6 15 16 22 24");
}

static void test_onnx_scan_batched_stops_at_each_length(void **state) {
    (void)state;
    OnnxNodeProto *node;
    onnx_model_expect(sum_model(true, &node),
        "int64[2] 1 2; float32[2,2] 0 0 10 10; float32[2,2,2] 1 2 3 4 5 6 7 8 -> "
        "float32[2,2] 1 2 22 24; float32[2,2,2] 1 2 0 0 15 16 22 24");
    onnx_model_expect(sum_model(true, &node),
        "int64[1] 0; float32[1,2] 7 8; float32[1,1,2] 1 2 -> float32[1,2] 7 8; "
        "float32[1,1,2] 0 0");
    onnx_model_expect_failure(sum_model(true, &node),
        "int64[1] -1; float32[1,2] 7 8; float32[1,1,2] 1 2", "sequence_lens is negative");
    onnx_model_expect_failure(sum_model(true, &node),
        "int64[1] 2; float32[1,2] 7 8; float32[1,1,2] 1 2",
        "sequence_lens is larger than the scan inputs are long");
}

static void test_onnx_scan_batched_runs_backwards(void **state) {
    (void)state;
    OnnxNodeProto *node;
    OnnxModel *model = sum_model(false, &node);
    onnx_set_ints(node, "directions", "1");
    onnx_model_expect(model, "float32[1,2] 0 0; float32[1,2,2] 1 2 3 4 -> float32[1,2] 4 6; "
                             "float32[1,2,2] 3 4 4 6");
}

static void test_onnx_scan_batched_fails_on_different_batches(void **state) {
    (void)state;
    OnnxNodeProto *node;
    onnx_model_expect_failure(sum_model(false, &node), "float32[1,2] 0 0; float32[2,1,2] 1 2 3 4",
        "different batch sizes");
    onnx_model_expect_failure(sum_model(true, &node),
        "int64[2] 1 1; float32[1,2] 0 0; float32[1,1,2] 1 2", "different batch sizes");
}

int test_onnx_scan_batched(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_onnx_scan_batched_scans_each_item),
        cmocka_unit_test(test_onnx_scan_batched_stops_at_each_length),
        cmocka_unit_test(test_onnx_scan_batched_runs_backwards),
        cmocka_unit_test(test_onnx_scan_batched_fails_on_different_batches),
    };
    return cmocka_run_group_tests_name("onnx_scan_batched", tests, NULL, NULL);
}
