/* Trees as the tables of TreeScores. */
#include "compiler/frontend/nodes/onnx_trees.h"

#include "tests/compiler/onnx_run.h"

/* One tree: node 0 tests x against 1, true goes to node 1, false to node 2. */
static OnnxModel *stump(const char *root_mode, const char *yes, OnnxNodeProto **out_node) {
    OnnxModel *model = onnx_model_make(20);
    onnx_model_import_domain(model, "ai.onnx.ml", 3);
    onnx_add_input(model->graph, "x", "float32");
    onnx_add_output(model->graph, "y", "float32");
    OnnxNodeProto *node = onnx_add_node(model->graph, "TreeEnsembleRegressor", "x", "y");
    onnx_node_set_domain(node, "ai.onnx.ml");
    onnx_set_ints(node, "nodes_treeids", "0 0 0");
    onnx_set_ints(node, "nodes_nodeids", "0 1 2");
    onnx_set_ints(node, "nodes_featureids", "0 0 0");
    onnx_set_floats(node, "nodes_values", "1 0 0");
    onnx_set_ints(node, "nodes_truenodeids", yes);
    onnx_set_ints(node, "nodes_falsenodeids", "2 0 0");
    onnx_set_texts(node, "nodes_modes", root_mode);
    onnx_set_ints(node, "target_treeids", "0 0");
    onnx_set_ints(node, "target_nodeids", "1 2");
    onnx_set_ints(node, "target_ids", "0 0");
    onnx_set_floats(node, "target_weights", "3 5");
    *out_node = node;
    return model;
}

static void test_onnx_trees_have_each_mode(void **state) {
    (void)state;
    static const struct {
        const char *modes, *run;
    } rows[] = {
        {"BRANCH_LEQ LEAF LEAF", "float32[3,1] 0 1 2 -> float32[3,1] 3 3 5"},
        {"BRANCH_LT LEAF LEAF", "float32[3,1] 0 1 2 -> float32[3,1] 3 5 5"},
        {"BRANCH_GTE LEAF LEAF", "float32[3,1] 0 1 2 -> float32[3,1] 5 3 3"},
        {"BRANCH_GT LEAF LEAF", "float32[3,1] 0 1 2 -> float32[3,1] 5 5 3"},
        {"BRANCH_EQ LEAF LEAF", "float32[3,1] 0 1 2 -> float32[3,1] 5 3 5"},
        {"BRANCH_NEQ LEAF LEAF", "float32[3,1] 0 1 2 -> float32[3,1] 3 5 3"},
    };
    OnnxNodeProto *node;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        onnx_model_expect(stump(rows[i].modes, "1 0 0", &node), rows[i].run);
}

static void test_onnx_trees_refuse_what_is_no_tree(void **state) {
    (void)state;
    OnnxNodeProto *node;
    onnx_model_refused(INVALID, "tree 0 has 0 roots, not one",
        stump("BRANCH_LEQ BRANCH_LEQ LEAF", "1 1 0", &node));
}

int test_onnx_trees(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_onnx_trees_have_each_mode),
        cmocka_unit_test(test_onnx_trees_refuse_what_is_no_tree),
    };
    return cmocka_run_group_tests_name("onnx_trees", tests, NULL, NULL);
}
