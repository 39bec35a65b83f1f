/* FeatureVectorizer: columns side by side, each input in its width. */
#include "tests/compiler/onnx_run.h"

static OnnxModel *vectorizer(const char *widths) {
    OnnxModel *model = onnx_model_make(20);
    onnx_model_import_domain(model, "ai.onnx.ml", 1);
    onnx_add_input(model->graph, "a", "float32");
    onnx_add_input(model->graph, "b", "int64");
    onnx_add_output(model->graph, "y", "float32");
    OnnxNodeProto *node = onnx_add_node(model->graph, "FeatureVectorizer", "a,b", "y");
    onnx_node_set_domain(node, "ai.onnx.ml");
    if (widths) onnx_set_ints(node, "inputdimensions", widths);
    return model;
}

static void test_features_are_joined_in_their_widths(void **state) {
    (void)state;
    onnx_model_expect(
        vectorizer(NULL), "float32[2,1] 1 2; int64[2,2] 3 4 5 6 -> float32[2,3] 1 3 4 2 5 6");
    onnx_model_expect(
        vectorizer("1 2"), "float32[2,1] 1 2; int64[2,2] 3 4 5 6 -> float32[2,3] 1 3 4 2 5 6");
    onnx_model_expect(
        vectorizer("2 1"), "float32[2,1] 1 2; int64[2,2] 3 4 5 6 -> float32[2,3] 1 0 3 2 0 5");
}

static void test_features_refuse_other_numbers_of_widths(void **state) {
    (void)state;
    onnx_model_refused(INVALID, "3 inputdimensions for 2 inputs", vectorizer("1 2 3"));
}

int test_onnx_features(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_features_are_joined_in_their_widths),
        cmocka_unit_test(test_features_refuse_other_numbers_of_widths),
    };
    return cmocka_run_group_tests_name("onnx_features", tests, NULL, NULL);
}
