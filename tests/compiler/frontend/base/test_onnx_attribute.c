#include "tests/compiler/onnx_run.h"

/* One node from x to y. */
static OnnxModel *one_node(const char *op_type, OnnxNodeProto **out_node) {
    OnnxModel *model = onnx_model_make(13);
    onnx_add_input(model->graph, "x", "float32[2,2]");
    onnx_add_output(model->graph, "y", "float32");
    *out_node = onnx_add_node(model->graph, op_type, "x", "y");
    return model;
}

static void test_onnx_attribute_refuses_unknown_ones_by_name(void **state) {
    (void)state;
    OnnxNodeProto *node;
    OnnxModel *model = one_node("LeakyRelu", &node);
    onnx_set_float(node, "slope", 0.5f);
    onnx_model_refused(UNSUPPORTED, "node y (LeakyRelu): attribute slope", model);
    model = one_node("LeakyRelu", &node);
    onnx_set_float(node, "", 0.5f);
    onnx_model_refused(INVALID, "without a name", model);
}

static void test_onnx_attribute_refuses_the_wrong_type(void **state) {
    (void)state;
    OnnxNodeProto *node;
    OnnxModel *model = one_node("LeakyRelu", &node);
    onnx_set_int(node, "alpha", 1);
    onnx_model_refused(INVALID, "attribute alpha has the wrong type", model);
    model = one_node("Transpose", &node);
    onnx_set_floats(node, "perm", "1 0");
    onnx_model_refused(INVALID, "attribute perm has the wrong type", model);
    model = one_node("Transpose", &node);
    onnx_set_int(node, "perm", 1);
    onnx_model_refused(INVALID, "attribute perm has the wrong type", model);
    model = one_node("Softmax", &node);
    onnx_set_float(node, "axis", 1);
    onnx_model_refused(INVALID, "attribute axis has the wrong type", model);
    model = one_node("Cast", &node);
    onnx_set_text(node, "to", "FLOAT");
    onnx_model_refused(INVALID, "attribute to has the wrong type", model);
    model = one_node("ReduceMax", &node);
    onnx_set_floats(node, "axes", "1");
    onnx_model_refused(INVALID, "attribute axes is not a list of integers", model);
}

static void test_onnx_attribute_refuses_element_types_that_do_not_exist(void **state) {
    (void)state;
    OnnxNodeProto *node;
    OnnxModel *model = one_node("Cast", &node);
    onnx_set_int(node, "to", 14);
    onnx_model_refused(UNSUPPORTED, "element type 14", model);
    model = one_node("Cast", &node);
    onnx_set_int(node, "to", INT64_C(1) << 32 | 1);
    onnx_model_refused(INVALID, "attribute to", model);
}

static void test_onnx_attribute_refuses_texts_that_are_not_utf8(void **state) {
    (void)state;
    OnnxNodeProto *node;
    OnnxModel *model = one_node("Gelu", &node);
    onnx_set_text(node, "approximate", "tanh\xff");
    onnx_model_refused(INVALID, "attribute approximate is not UTF-8", model);
}

static void test_onnx_attribute_passes_over_hints_of_the_first_versions(void **state) {
    (void)state;
    OnnxNodeProto *node;
    OnnxModel *model = one_node("Relu", &node);
    onnx_set_ints(node, "consumed_inputs", "0");
    onnx_model_expect(model, "float32[2,2] -1 2 -3 4 -> float32[2,2] 0 2 0 4");
}

/* Own:Leaky(v) {slope} = LeakyRelu(v) with alpha = @slope */
static OnnxModel *with_function(OnnxNodeProto **out_call) {
    OnnxModel *model = one_node("Leaky", out_call);
    onnx_model_import_domain(model, "own", 1);
    onnx_node_set_domain(*out_call, "own");
    OnnxFunction *function = onnx_add_function(model, "own", "Leaky", "v", "w");
    OnnxNodeProto *node = onnx_function_add_node(function, "LeakyRelu", "v", "w");
    onnx_set_reference(node, "alpha", "slope");
    return model;
}

static void test_onnx_attribute_refers_to_the_callers(void **state) {
    (void)state;
    OnnxNodeProto *call;
    OnnxModel *model = with_function(&call);
    onnx_set_float(call, "slope", 0.5f);
    onnx_model_expect(model, "float32[2,2] -1 2 -4 4 -> float32[2,2] -0.5 2 -2 4");
}

/* Then it has its default. */
static void test_onnx_attribute_that_the_caller_does_not_give_is_absent(void **state) {
    (void)state;
    OnnxNodeProto *call;
    onnx_model_expect(
        with_function(&call), "float32[2,2] -1 2 -4 4 -> float32[2,2] -0.01 2 -0.04 4");
}

static void test_onnx_attribute_of_the_caller_must_have_the_right_type(void **state) {
    (void)state;
    OnnxNodeProto *call;
    OnnxModel *model = with_function(&call);
    onnx_set_text(call, "slope", "steep");
    onnx_model_refused(INVALID, "attribute alpha has the wrong type", model);
}

/* A function that hands on what its caller's caller gives. */
static void test_onnx_attribute_references_go_through_several_functions(void **state) {
    (void)state;
    OnnxNodeProto *call;
    OnnxModel *model = one_node("Outer", &call);
    onnx_node_set_domain(call, "own");
    onnx_set_float(call, "steepness", 0.25f);
    OnnxFunction *outer = onnx_add_function(model, "own", "Outer", "a", "b");
    OnnxNodeProto *node = onnx_function_add_node(outer, "Leaky", "a", "b");
    onnx_node_set_domain(node, "own");
    onnx_set_reference(node, "slope", "steepness");
    OnnxFunction *function = onnx_add_function(model, "own", "Leaky", "v", "w");
    node = onnx_function_add_node(function, "LeakyRelu", "v", "w");
    onnx_set_reference(node, "alpha", "slope");
    onnx_model_expect(model, "float32[2,2] -1 2 -4 4 -> float32[2,2] -0.25 2 -1 4");
}

/* Graphs inside a function's nodes see the function's caller, too. */
static void test_onnx_attribute_references_work_inside_branches(void **state) {
    (void)state;
    OnnxNodeProto *call;
    OnnxModel *model = one_node("Maybe", &call);
    onnx_node_set_domain(call, "own");
    onnx_set_float(call, "slope", 0.5f);
    OnnxFunction *function = onnx_add_function(model, "own", "Maybe", "v", "w");
    OnnxGraph *branches[2];
    for (size_t i = 0; i < 2; i++) {
        branches[i] = onnx_graph_make();
        OnnxNodeProto *node = onnx_add_node(branches[i], i ? "Neg" : "LeakyRelu", "v", "result");
        if (i == 0) onnx_set_reference(node, "alpha", "slope");
        onnx_add_output(branches[i], "result", "float32");
    }
    onnx_function_add_node(function, "ReduceSum", "v", "sum");
    onnx_set_int(function->node[0], "keepdims", 0);
    onnx_set_tensor(
        onnx_function_add_node(function, "Constant", "", "zero"), "value", "float32[] 0");
    onnx_function_add_node(function, "Less", "sum,zero", "negative");
    OnnxNodeProto *node = onnx_function_add_node(function, "If", "negative", "w");
    onnx_set_graph(node, "then_branch", branches[0]);
    onnx_set_graph(node, "else_branch", branches[1]);
    onnx_model_expect(model, "float32[2,2] -1 2 -4 0 -> float32[2,2] -0.5 2 -2 0");
}

/* In the main graph there is no caller: the reference is absent. */
static void test_onnx_attribute_reference_outside_a_function_is_absent(void **state) {
    (void)state;
    OnnxNodeProto *node;
    OnnxModel *model = one_node("LeakyRelu", &node);
    onnx_set_reference(node, "alpha", "slope");
    onnx_model_expect(model, "float32[2,2] -1 2 -4 4 -> float32[2,2] -0.01 2 -0.04 4");
}

int test_onnx_attribute(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_onnx_attribute_refuses_unknown_ones_by_name),
        cmocka_unit_test(test_onnx_attribute_refuses_the_wrong_type),
        cmocka_unit_test(test_onnx_attribute_refuses_element_types_that_do_not_exist),
        cmocka_unit_test(test_onnx_attribute_refuses_texts_that_are_not_utf8),
        cmocka_unit_test(test_onnx_attribute_passes_over_hints_of_the_first_versions),
        cmocka_unit_test(test_onnx_attribute_refers_to_the_callers),
        cmocka_unit_test(test_onnx_attribute_that_the_caller_does_not_give_is_absent),
        cmocka_unit_test(test_onnx_attribute_of_the_caller_must_have_the_right_type),
        cmocka_unit_test(test_onnx_attribute_references_go_through_several_functions),
        cmocka_unit_test(test_onnx_attribute_references_work_inside_branches),
        cmocka_unit_test(test_onnx_attribute_reference_outside_a_function_is_absent),
    };
    return cmocka_run_group_tests_name("onnx_attribute", tests, NULL, NULL);
}
