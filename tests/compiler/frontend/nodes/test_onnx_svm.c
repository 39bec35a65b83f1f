/* Support vector machines: votes of pairs, probabilities of classes. */
#include "compiler/frontend/nodes/onnx_svm.h"

#include "tests/compiler/onnx_run.h"

/* Three classes with one vector each, x = -1, 0, 1. */
static OnnxModel *machine(OnnxNodeProto **out_node) {
    OnnxModel *model = onnx_model_make(20);
    onnx_model_import_domain(model, "ai.onnx.ml", 1);
    onnx_add_input(model->graph, "x", "float32");
    onnx_add_output(model->graph, "label", "int64");
    onnx_add_output(model->graph, "y", "float32");
    OnnxNodeProto *node = onnx_add_node(model->graph, "SVMClassifier", "x", "label,y");
    onnx_node_set_domain(node, "ai.onnx.ml");
    onnx_set_ints(node, "classlabels_ints", "5 6 7");
    onnx_set_ints(node, "vectors_per_class", "1 1 1");
    onnx_set_floats(node, "support_vectors", "-1 0 1");
    onnx_set_floats(node, "coefficients", "1 2 3 4 5 6");
    onnx_set_floats(node, "rho", "0.5 0 -8");
    *out_node = node;
    return model;
}

/* x = 1: the kernel is -1 0 1; 5 against 6: 1 * -1 + 2 * 0 + 0.5, and so on. */
static void test_each_pair_of_classes_votes(void **state) {
    (void)state;
    OnnxNodeProto *node;
    onnx_model_expect(machine(&node), "float32[1,1] 1 -> int64[1] 7; float32[1,3] -0.5 -1 -2");
}

/* Pairs that say the same of all classes leave them equally likely. */
static void test_pairs_become_probabilities(void **state) {
    (void)state;
    OnnxNodeProto *node;
    OnnxModel *model = machine(&node);
    onnx_set_floats(node, "prob_a", "0 0 0");
    onnx_set_floats(node, "prob_b", "0 0 0");
    onnx_model_expect(
        model, "float32[1,1] 1 -> int64[1] 7; float32[1,3] 0.333333 0.333333 0.333333");
}

/* Far from the middle of the vectors, squares of float32 would lose the small distance. */
static void test_distances_are_exact_far_from_the_middle(void **state) {
    (void)state;
    OnnxModel *model = onnx_model_make(20);
    onnx_model_import_domain(model, "ai.onnx.ml", 1);
    onnx_add_input(model->graph, "x", "float32");
    onnx_add_output(model->graph, "y", "float32");
    OnnxNodeProto *node = onnx_add_node(model->graph, "SVMRegressor", "x", "y");
    onnx_node_set_domain(node, "ai.onnx.ml");
    onnx_set_text(node, "kernel_type", "RBF");
    onnx_set_floats(node, "kernel_params", "1 0 0");
    onnx_set_int(node, "n_supports", 2);
    onnx_set_floats(node, "support_vectors", "-1000 1000");
    onnx_set_floats(node, "coefficients", "1 1");
    onnx_set_floats(node, "rho", "0");
    onnx_model_expect(model, "float32[1,1] 1000.3 -> float32[1,1] 0.913938");
}

static void test_lists_that_do_not_agree_are_refused(void **state) {
    (void)state;
    OnnxNodeProto *node;
    OnnxModel *model = machine(&node);
    onnx_set_floats(node, "prob_a", "0 0 0");
    onnx_model_refused(INVALID, "attribute prob_b has 0 entries, not 3", model);
}

int test_onnx_svm(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_pair_of_classes_votes),
        cmocka_unit_test(test_pairs_become_probabilities),
        cmocka_unit_test(test_distances_are_exact_far_from_the_middle),
        cmocka_unit_test(test_lists_that_do_not_agree_are_refused),
    };
    return cmocka_run_group_tests_name("onnx_svm", tests, NULL, NULL);
}
