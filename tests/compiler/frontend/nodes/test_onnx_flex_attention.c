#include "tests/compiler/onnx_run.h"

/* One query of depth 1 and two keys, whose scores are 0 and ln 3. */
static const char signature[] = "float32[1,1,1,1] 1; float32[1,1,2,1] 0 1.0986123; "
                                "float32[1,1,2,1] 4 8 -> float32[1,1,1,1] ";

static OnnxModel *model_of(OnnxNodeProto **out_node) {
    OnnxModel *model = onnx_model_make(26);
    onnx_add_input(model->graph, "q", "float32[1,1,1,1]");
    onnx_add_input(model->graph, "k", "float32[1,1,2,1]");
    onnx_add_input(model->graph, "v", "float32[1,1,2,1]");
    onnx_add_output(model->graph, "y", "float32");
    *out_node = onnx_add_node(model->graph, "FlexAttention", "q,k,v", "y");
    onnx_node_set_domain(*out_node, "ai.onnx.preview");
    return model;
}

/* A graph of one node on "t". */
static OnnxGraph *graph_of(const char *op_type, const char *inputs) {
    OnnxGraph *graph = onnx_graph_make();
    onnx_add_input(graph, "t", "float32[a,b,c,d]");
    onnx_add_node(graph, op_type, inputs, "changed");
    onnx_add_output(graph, "changed", "float32[a,b,c,d]");
    return graph;
}

static void expect(OnnxModel *model, const char *result) {
    TextBuilder OWN_TEXT(text) = {0};
    text_append(&text, signature);
    text_append(&text, result);
    onnx_model_expect(model, text_builder_get(&text));
}

static void test_onnx_flex_attention_is_attention(void **state) {
    (void)state;
    OnnxNodeProto *node;
    /* a quarter and three quarters */
    expect(model_of(&node), "7");
}

static void test_onnx_flex_attention_asks_its_graphs(void **state) {
    (void)state;
    OnnxNodeProto *node;
    OnnxModel *model = model_of(&node);
    onnx_set_graph(node, "score_mod", graph_of("Sub", "t,t"));
    expect(model, "6");
    model = model_of(&node);
    onnx_set_graph(node, "prob_mod", graph_of("Add", "t,t"));
    expect(model, "14");
    model = model_of(&node);
    onnx_set_float(node, "scale", 0);
    onnx_set_graph(node, "score_mod", graph_of("Identity", "t"));
    onnx_set_graph(node, "prob_mod", graph_of("Neg", "t"));
    expect(model, "-6");
}

static void test_onnx_flex_attention_refuses_what_it_cannot_read(void **state) {
    (void)state;
    OnnxNodeProto *node;
    OnnxModel *model = model_of(&node);
    OnnxGraph *graph = graph_of("Add", "t,u");
    onnx_add_input(graph, "u", "float32[a,b,c,d]");
    onnx_set_graph(node, "score_mod", graph);
    onnx_model_refused(INVALID, "score_mod with 2 inputs and 1 outputs, not one", model);
    model = model_of(&node);
    onnx_set_graph(node, "prob_mod", graph_of("Neg", "t"));
    onnx_set_int(node, "softmax_precision", 7);
    onnx_model_refused(INVALID, "softmax_precision is no float type", model);
    model = onnx_model_make(26);
    onnx_add_input(model->graph, "q", "float32[1,1,1,1]");
    onnx_add_output(model->graph, "y", "float32");
    node = onnx_add_node(model->graph, "FlexAttention", "q", "y");
    onnx_node_set_domain(node, "ai.onnx.preview");
    onnx_model_refused(INVALID, "input 1 is missing", model);
}

int test_onnx_flex_attention(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_onnx_flex_attention_is_attention),
        cmocka_unit_test(test_onnx_flex_attention_asks_its_graphs),
        cmocka_unit_test(test_onnx_flex_attention_refuses_what_it_cannot_read),
    };
    return cmocka_run_group_tests_name("onnx_flex_attention", tests, NULL, NULL);
}
