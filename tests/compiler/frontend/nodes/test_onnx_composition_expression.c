/* The expressions of compositions, by rows of the table that have them. */
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

/* a + b - 2.0 * MatMul(…): products before sums. */
static void test_onnx_composition_computes_products_first(void **state) {
    (void)state;
    OnnxNodeProto *node;
    onnx_model_expect(one_node("CDist", "x,x", "float32", &node),
        "float32[2,2] 1 2 4 6 -> float32[2,2] 0 25 25 0");
}

/* slope = activation_params[0]; LeakyRelu{alpha=$slope} */
static void test_onnx_composition_reads_elements_of_lists(void **state) {
    (void)state;
    OnnxNodeProto *node;
    OnnxModel *model = one_node("FusedConv", "x,x", "float32", &node);
    onnx_set_text(node, "activation", "LeakyRelu");
    onnx_set_floats(node, "activation_params", "0.5");
    onnx_model_expect(model, "float32[1,1,1,2] 1 -2 -> float32[1,1,1,1] 5");
    model = one_node("FusedConv", "x,x", "float32", &node);
    onnx_set_text(node, "activation", "HardSigmoid");
    onnx_set_floats(node, "activation_params", "0.5");
    onnx_model_refused(INVALID, "attribute activation_params has 1 entries", model);
}

/* strides=$strides is left out where the node has none. */
static void test_onnx_composition_passes_attributes_that_are_there(void **state) {
    (void)state;
    OnnxNodeProto *node;
    OnnxModel *model = one_node("NhwcMaxPool", "x", "uint8", &node);
    onnx_set_ints(node, "kernel_shape", "1 2");
    onnx_model_expect(model, "uint8[1,1,3,1] 4 2 9 -> uint8[1,1,2,1] 4 9");
    model = one_node("NhwcMaxPool", "x", "uint8", &node);
    onnx_set_ints(node, "kernel_shape", "1 1");
    onnx_set_ints(node, "strides", "1 2");
    onnx_model_expect(model, "uint8[1,1,3,1] 4 2 9 -> uint8[1,1,2,1] 4 9");
}

/* A float beside a float16 operand is a float16. */
static void test_onnx_composition_gives_numbers_the_type_beside_them(void **state) {
    (void)state;
    OnnxNodeProto *node;
    OnnxModel *model = onnx_model_make(20);
    onnx_model_import_domain(model, "com.microsoft", 1);
    onnx_add_input(model->graph, "x", "float16[1,1]");
    onnx_add_output(model->graph, "y", "float16");
    node = onnx_add_node(model->graph, "FusedMatMul", "x,x", "y");
    onnx_node_set_domain(node, "com.microsoft");
    onnx_set_float(node, "alpha", 0.5f);
    onnx_model_expect(model, "float16[1,1] 2 -> float16[1,1] 2");
}

int test_onnx_composition_expression(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_onnx_composition_computes_products_first),
        cmocka_unit_test(test_onnx_composition_reads_elements_of_lists),
        cmocka_unit_test(test_onnx_composition_passes_attributes_that_are_there),
        cmocka_unit_test(test_onnx_composition_gives_numbers_the_type_beside_them),
    };
    return cmocka_run_group_tests_name("onnx_composition_expression", tests, NULL, NULL);
}
