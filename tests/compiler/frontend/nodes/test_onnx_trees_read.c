/* The lists of tree ensembles, which must agree. */
#include "compiler/frontend/nodes/onnx_trees.h"

#include "tests/compiler/onnx_run.h"

static OnnxModel *leaf(const char *tree_ids, OnnxNodeProto **out_node) {
    OnnxModel *model = onnx_model_make(20);
    onnx_model_import_domain(model, "ai.onnx.ml", 3);
    onnx_add_input(model->graph, "x", "float32");
    onnx_add_output(model->graph, "y", "float32");
    OnnxNodeProto *node = onnx_add_node(model->graph, "TreeEnsembleRegressor", "x", "y");
    onnx_node_set_domain(node, "ai.onnx.ml");
    onnx_set_ints(node, "nodes_treeids", tree_ids);
    onnx_set_ints(node, "nodes_nodeids", "4 4");
    onnx_set_ints(node, "nodes_featureids", "0 0");
    onnx_set_floats(node, "nodes_values", "0 0");
    onnx_set_ints(node, "nodes_truenodeids", "0 0");
    onnx_set_ints(node, "nodes_falsenodeids", "0 0");
    onnx_set_texts(node, "nodes_modes", "LEAF LEAF");
    onnx_set_ints(node, "target_treeids", "7 9");
    onnx_set_ints(node, "target_nodeids", "4 4");
    onnx_set_ints(node, "target_ids", "0 0");
    *out_node = node;
    return model;
}

static void test_onnx_trees_read_may_have_any_numbers(void **state) {
    (void)state;
    OnnxNodeProto *node;
    OnnxModel *model = leaf("9 7", &node);
    onnx_set_floats(node, "target_weights", "3 5");
    onnx_model_expect(model, "float32[2,1] 0 1 -> float32[2,1] 8 8");
}

static void test_onnx_trees_read_refuses_lists_that_do_not_agree(void **state) {
    (void)state;
    OnnxNodeProto *node;
    OnnxModel *model = leaf("9 9", &node);
    onnx_model_refused(INVALID, "node 4 of tree 9 is there twice", model);
    model = leaf("9 8", &node);
    onnx_set_floats(node, "target_weights", "3 5");
    onnx_model_refused(INVALID, "tree 7 has no node 4", model);
    model = leaf("9 7", &node);
    onnx_set_floats(node, "target_weights", "3");
    onnx_model_refused(INVALID, "attribute target_treeids has 2 entries, not 1", model);
    model = leaf("9", &node);
    onnx_model_refused(INVALID, "attribute nodes_treeids has 1 entries, not 2", model);
}

int test_onnx_trees_read(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_onnx_trees_read_may_have_any_numbers),
        cmocka_unit_test(test_onnx_trees_read_refuses_lists_that_do_not_agree),
    };
    return cmocka_run_group_tests_name("onnx_trees_read", tests, NULL, NULL);
}
