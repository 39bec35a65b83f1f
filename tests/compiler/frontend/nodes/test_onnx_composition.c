/* The statements of compositions, by rows of the table that have them. */
#include "compiler/frontend/nodes/onnx_composition.h"

#include "tests/compiler/onnx_run.h"

static OnnxModel *one_node(
    const char *op_type, const char *inputs, const char *type, OnnxNodeProto **out_node) {
    OnnxModel *model = onnx_model_make(20);
    onnx_model_import_domain(model, "com.microsoft", 1);
    onnx_add_input(model->graph, "x", type);
    onnx_add_output(model->graph, "y", type);
    *out_node = onnx_add_node(model->graph, op_type, inputs, "y");
    onnx_node_set_domain(*out_node, "com.microsoft");
    return model;
}

static void test_onnx_composition_has_one_row_for_a_name(void **state) {
    (void)state;
    assert_string_equal(composition_find("com.microsoft.BiasGelu")->inputs, "A B");
    assert_null(composition_find("BiasGelu"));
    assert_null(composition_find("com.microsoft.Secret"));
}

static void test_onnx_composition_does_what_its_conditions_allow(void **state) {
    (void)state;
    OnnxNodeProto *node;
    onnx_model_expect(one_node("FusedMatMul", "x,x", "float32", &node),
        "float32[2,2] 1 2 3 4 -> float32[2,2] 7 10 15 22");
    OnnxModel *model = one_node("FusedMatMul", "x,x", "float32", &node);
    onnx_set_int(node, "transA", 1);
    onnx_set_float(node, "alpha", 0.5f);
    onnx_model_expect(model, "float32[2,2] 1 2 3 4 -> float32[2,2] 5 7 7 10");
}

static void test_onnx_composition_takes_absent_inputs(void **state) {
    (void)state;
    OnnxNodeProto *node;
    OnnxModel *model = one_node("MulInteger", "x,,x", "int32", &node);
    onnx_model_expect(model, "int32[2] 2 3 -> int32[2] 4 9");
    onnx_model_refused(INVALID, "input B is missing", one_node("BiasGelu", "x", "float32", &node));
    onnx_model_refused(INVALID, "4 inputs", one_node("FusedMatMul", "x,x,x,x", "float32", &node));
}

static void test_onnx_composition_refuses_what_its_text_says(void **state) {
    (void)state;
    OnnxNodeProto *node;
    OnnxModel *model = one_node("FusedGemm", "x,x", "float32", &node);
    onnx_set_text(node, "activation", "Secret");
    onnx_model_refused(UNSUPPORTED, "node y (FusedGemm): this activation", model);
    model = one_node("FusedGemm", "x,x", "float32", &node);
    onnx_set_int(node, "slope", 1);
    onnx_model_refused(UNSUPPORTED, "attribute slope", model);
}

static void test_onnx_composition_refuses_outputs_that_it_does_not_make(void **state) {
    (void)state;
    OnnxModel *model = onnx_model_make(20);
    onnx_model_import_domain(model, "com.microsoft", 1);
    onnx_add_input(model->graph, "x", "float32[2,2]");
    onnx_add_output(model->graph, "m", "float32");
    OnnxNodeProto *node =
        onnx_add_node(model->graph, "SkipSimplifiedLayerNormalization", "x,x,x", "y,m");
    onnx_node_set_domain(node, "com.microsoft");
    onnx_model_refused(UNSUPPORTED, "output mean", model);
}

/* for i < lines: {…}, and require …: a window of two, which a mask of 0 ends. */
static void test_onnx_composition_repeats_a_body(void **state) {
    (void)state;
    OnnxModel *model = onnx_model_make(20);
    onnx_model_import_domain(model, "com.microsoft", 1);
    onnx_add_input(model->graph, "x", "float32[1,1,4]");
    onnx_add_input(model->graph, "m", "int32[1,1,4]");
    onnx_add_output(model->graph, "y", "float32");
    OnnxNodeProto *node = onnx_add_node(model->graph, "MaxpoolWithMask", "x,m", "y");
    onnx_node_set_domain(node, "com.microsoft");
    onnx_set_ints(node, "kernel_shape", "2");
    onnx_model_expect(
        model, "float32[1,1,4] 1 2 9 3; int32[1,1,4] 1 1 0 1 -> float32[1,1,3] 2 2 -3.40282e+38");
}

static void test_onnx_composition_checks_what_a_run_must_have(void **state) {
    (void)state;
    OnnxModel *model = onnx_model_make(20);
    onnx_model_import_domain(model, "com.microsoft", 1);
    onnx_add_input(model->graph, "x", "float32[1,1,2]");
    onnx_add_input(model->graph, "p", "int64[2]");
    onnx_add_output(model->graph, "y", "float32");
    OnnxNodeProto *node = onnx_add_node(model->graph, "ConvTransposeWithDynamicPads", "x,x,p", "y");
    onnx_node_set_domain(node, "com.microsoft");
    onnx_model_expect_failure(
        model, "float32[1,1,2] 1 2; int64[2] -1 0", "ConvTransposeWithDynamicPads: negative Pads");
}

int test_onnx_composition(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_onnx_composition_has_one_row_for_a_name),
        cmocka_unit_test(test_onnx_composition_does_what_its_conditions_allow),
        cmocka_unit_test(test_onnx_composition_takes_absent_inputs),
        cmocka_unit_test(test_onnx_composition_refuses_what_its_text_says),
        cmocka_unit_test(test_onnx_composition_refuses_outputs_that_it_does_not_make),
        cmocka_unit_test(test_onnx_composition_repeats_a_body),
        cmocka_unit_test(test_onnx_composition_checks_what_a_run_must_have),
    };
    return cmocka_run_group_tests_name("onnx_composition", tests, NULL, NULL);
}
