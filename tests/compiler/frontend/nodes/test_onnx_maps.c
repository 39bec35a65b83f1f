/* Maps as pairs of tensors. */
#include "compiler/frontend/nodes/onnx_maps.h"

#include "tests/compiler/onnx_run.h"

static OnnxModel *zip(OnnxNodeProto **out_node) {
    OnnxModel *model = onnx_model_make(20);
    onnx_model_import_domain(model, "ai.onnx.ml", 1);
    onnx_add_input(model->graph, "x", "float32");
    onnx_add_output(model->graph, "y", "float32");
    *out_node = onnx_add_node(model->graph, "ZipMap", "x", "y");
    onnx_node_set_domain(*out_node, "ai.onnx.ml");
    return model;
}

/* The keys of a map are sorted, and its values with them. */
static void test_a_zip_map_is_two_results(void **state) {
    (void)state;
    OnnxNodeProto *node;
    OnnxModel *model = zip(&node);
    onnx_set_ints(node, "classlabels_int64s", "5 7");
    onnx_model_expect(model, "float32[2,2] 1 2 3 4 -> int64[2] 5 7; float32[2,2] 1 2 3 4");
    model = zip(&node);
    onnx_set_ints(node, "classlabels_int64s", "7 -5");
    onnx_model_expect(model, "float32[2,2] 1 2 3 4 -> int64[2] -5 7; float32[2,2] 2 1 4 3");
}

static void test_a_zip_map_refuses_equal_labels(void **state) {
    (void)state;
    OnnxNodeProto *node;
    OnnxModel *model = zip(&node);
    onnx_set_texts(node, "classlabels_strings", "a b a");
    onnx_model_refused(INVALID, "two class labels are \"a\"", model);
}

static void test_a_result_may_not_have_the_name_of_a_maps_part(void **state) {
    (void)state;
    OnnxNodeProto *node;
    OnnxModel *model = zip(&node);
    onnx_set_ints(node, "classlabels_int64s", "5 7");
    onnx_add_node(model->graph, "Neg", "x", "y.keys");
    onnx_add_output(model->graph, "y.keys", "float32");
    onnx_model_refused(INVALID, "two outputs of the graph are named y.keys", model);
}

int test_onnx_maps(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_zip_map_is_two_results),
        cmocka_unit_test(test_a_zip_map_refuses_equal_labels),
        cmocka_unit_test(test_a_result_may_not_have_the_name_of_a_maps_part),
    };
    return cmocka_run_group_tests_name("onnx_maps", tests, NULL, NULL);
}
