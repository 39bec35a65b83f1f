#include "tests/compiler/onnx_run.h"

static OnnxModel *constant_model(OnnxNodeProto **out_node) {
    OnnxModel *model = onnx_model_make(13);
    onnx_add_output(model->graph, "y", "");
    *out_node = onnx_add_node(model->graph, "Constant", "", "y");
    return model;
}

static void test_onnx_constant_of_every_form(void **state) {
    (void)state;
    OnnxNodeProto *node;
    OnnxModel *model = constant_model(&node);
    onnx_set_tensor(node, "value", "float64[2,1] 0.5 -3");
    onnx_model_expect(model, " -> float64[2,1] 0.5 -3");
    model = constant_model(&node);
    onnx_set_float(node, "value_float", 2.5f);
    onnx_model_expect(model, " -> float32[] 2.5");
    model = constant_model(&node);
    onnx_set_int(node, "value_int", -7);
    onnx_model_expect(model, " -> int64[] -7");
    model = constant_model(&node);
    onnx_set_ints(node, "value_ints", "1 2 3");
    onnx_model_expect(model, " -> int64[3] 1 2 3");
    model = constant_model(&node);
    onnx_set_floats(node, "value_floats", "1 0.5");
    onnx_model_expect(model, " -> float32[2] 1 0.5");
    model = constant_model(&node);
    onnx_set_ints(node, "value_ints", "");
    onnx_model_expect(model, " -> int64[0]");
}

/* Joined with nothing, in a run. */
static void test_onnx_constant_may_be_a_text(void **state) {
    (void)state;
    for (int i = 0; i < 2; i++) {
        OnnxModel *model = onnx_model_make(20);
        onnx_add_output(model->graph, "same", "bool");
        OnnxNodeProto *text = onnx_add_node(model->graph, "Constant", "", "text");
        onnx_set_text(text, "value_string", "seven");
        OnnxNodeProto *end = onnx_add_node(model->graph, "Constant", "", "end");
        onnx_set_text(end, "value_string", i ? "teen" : "");
        onnx_add_node(model->graph, "StringConcat", "text,end", "joined");
        onnx_add_node(model->graph, "Equal", "joined,text", "same");
        onnx_model_expect(model, i ? " -> bool[] 0" : " -> bool[] 1");
    }
}

static void test_onnx_constant_of_nothing_is_refused(void **state) {
    (void)state;
    OnnxNodeProto *node;
    onnx_model_refused(UNSUPPORTED, "a constant without value", constant_model(&node));
}

static void test_onnx_constant_with_the_wrong_type_is_refused(void **state) {
    (void)state;
    OnnxNodeProto *node;
    OnnxModel *model = constant_model(&node);
    onnx_set_floats(node, "value_ints", "1 2");
    onnx_model_refused(INVALID, "value_ints", model);
    model = constant_model(&node);
    onnx_set_ints(node, "value_floats", "1 2");
    onnx_model_refused(INVALID, "value_floats", model);
    model = constant_model(&node);
    onnx_set_int(node, "value", 2);
    onnx_model_refused(UNSUPPORTED, "a constant without value", model);
}

static void test_onnx_constant_of_less_data_than_it_has_elements_is_refused(void **state) {
    (void)state;
    OnnxNodeProto *node;
    OnnxModel *model = constant_model(&node);
    onnx_set_tensor(node, "value", "float32[3]");
    onnx_model_refused(INVALID, "0 elements of data", model);
}

int test_onnx_constant(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_onnx_constant_of_every_form),
        cmocka_unit_test(test_onnx_constant_may_be_a_text),
        cmocka_unit_test(test_onnx_constant_of_nothing_is_refused),
        cmocka_unit_test(test_onnx_constant_with_the_wrong_type_is_refused),
        cmocka_unit_test(test_onnx_constant_of_less_data_than_it_has_elements_is_refused),
    };
    return cmocka_run_group_tests_name("onnx_constant", tests, NULL, NULL);
}
