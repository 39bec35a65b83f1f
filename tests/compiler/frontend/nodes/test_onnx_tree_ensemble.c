/* TreeEnsemble of version 5. */
#include "tests/compiler/onnx_run.h"

/* Two nodes: node 0 tests x <= 1, node 1 below its false side asks for the set {2, 4}. */
static OnnxModel *ensemble(const char *yes, const char *members) {
    OnnxModel *model = onnx_model_make(20);
    onnx_model_import_domain(model, "ai.onnx.ml", 5);
    onnx_add_input(model->graph, "x", "float32");
    onnx_add_output(model->graph, "y", "float32");
    OnnxNodeProto *node = onnx_add_node(model->graph, "TreeEnsemble", "x", "y");
    onnx_node_set_domain(node, "ai.onnx.ml");
    onnx_set_ints(node, "tree_roots", "0");
    onnx_set_ints(node, "nodes_featureids", "0 0");
    onnx_set_tensor(node, "nodes_splits", "float32[2] 1 0");
    onnx_set_tensor(node, "nodes_modes", "uint8[2] 0 6");
    onnx_set_ints(node, "nodes_truenodeids", yes);
    onnx_set_ints(node, "nodes_trueleafs", "1 1");
    onnx_set_ints(node, "nodes_falsenodeids", "1 2");
    onnx_set_ints(node, "nodes_falseleafs", "0 1");
    onnx_set_ints(node, "leaf_targetids", "0 0 0");
    onnx_set_tensor(node, "leaf_weights", "float32[3] 10 20 30");
    onnx_set_tensor(node, "membership_values", members);
    return model;
}

static void test_an_ensemble_looks_up_sets(void **state) {
    (void)state;
    onnx_model_expect(ensemble("0 1", "float32[3] 4 2 nan"),
        "float32[5,1] 1 2 3 4 5 -> float32[5,1] 10 20 30 20 30");
}

static void test_an_ensemble_may_share_a_leaf(void **state) {
    (void)state;
    onnx_model_expect(
        ensemble("0 0", "float32[2] 2 nan"), "float32[3,1] 1 2 3 -> float32[3,1] 10 10 30");
}

static void test_an_ensemble_refuses_what_is_not_there(void **state) {
    (void)state;
    onnx_model_refused(INVALID, "nodes_truenodeids of leaves[1] is 3 of 3 leaves",
        ensemble("0 3", "float32[2] 2 nan"));
    onnx_model_refused(
        INVALID, "membership_values has no set for node 1", ensemble("0 1", "float32[0]"));
}

int test_onnx_tree_ensemble(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_ensemble_looks_up_sets),
        cmocka_unit_test(test_an_ensemble_may_share_a_leaf),
        cmocka_unit_test(test_an_ensemble_refuses_what_is_not_there),
    };
    return cmocka_run_group_tests_name("onnx_tree_ensemble", tests, NULL, NULL);
}
