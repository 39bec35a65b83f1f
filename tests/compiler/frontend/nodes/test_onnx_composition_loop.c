/* Loops and graphs of compositions, by the rows of searches. */
#include "compiler/frontend/nodes/onnx_composition.h"

#include "tests/compiler/onnx_run.h"

/* Token t is followed by t + 1 of 5: the largest of logits[t], which are one-hot. The cache only
 * grows. */
static OnnxGraph *make_decoder(const char *cache_type) {
    OnnxGraph *graph = onnx_graph_make();
    onnx_add_input(graph, "input_ids", "int32");
    onnx_add_input(graph, "position_ids", "int32");
    onnx_add_input(graph, "attention_mask", "int32");
    onnx_add_input(graph, "past_0", cache_type);
    onnx_add_initializer(
        graph, "table", "float32[5,5] 0 1 0 0 0 0 0 1 0 0 0 0 0 1 0 0 0 0 0 1 1 0 0 0 0");
    onnx_add_node(graph, "Gather", "table,input_ids", "logits");
    onnx_add_node(graph, "Identity", "past_0", "present_0");
    onnx_add_output(graph, "logits", "float32");
    onnx_add_output(graph, "present_0", "float32");
    return graph;
}

static OnnxModel *search(OnnxGraph *owned_decoder, OnnxNodeProto **out_node) {
    OnnxModel *model = onnx_model_make(20);
    onnx_model_import_domain(model, "com.microsoft", 1);
    onnx_add_input(model->graph, "x", "int32[1,2]");
    onnx_add_input(model->graph, "n", "int32[1]");
    onnx_add_output(model->graph, "y", "int32");
    *out_node = onnx_add_node(model->graph, "GreedySearch", "x,n", "y");
    onnx_node_set_domain(*out_node, "com.microsoft");
    onnx_set_int(*out_node, "eos_token_id", 4);
    onnx_set_int(*out_node, "pad_token_id", 0);
    if (owned_decoder) onnx_set_graph(*out_node, "decoder", owned_decoder);
    return model;
}

static void test_onnx_composition_loop_goes_on_while_its_condition_holds(void **state) {
    (void)state;
    OnnxNodeProto *node;
    const char *cache = "float32[2,1,1,0,1]";
    onnx_model_expect(
        search(make_decoder(cache), &node), "int32[1,2] 3 1; int32[1] 4 -> int32[1,4] 3 1 2 3");
    /* the third round makes token 4, which ends the text */
    onnx_model_expect(search(make_decoder(cache), &node),
        "int32[1,2] 3 1; int32[1] 7 -> int32[1,7] 3 1 2 3 0 0 0");
    onnx_model_expect_failure(search(make_decoder(cache), &node), "int32[1,2] 3 1; int32[1] 2",
        "GreedySearch: max_length is not above the length of input_ids");
}

static void test_onnx_composition_loop_refuses_other_graphs(void **state) {
    (void)state;
    OnnxNodeProto *node;
    onnx_model_refused(UNSUPPORTED, "no decoder", search(NULL, &node));
    onnx_model_refused(UNSUPPORTED, "input past_0 of decoder is no cache of floats",
        search(make_decoder("float32[2,1,1,0]"), &node));
    OnnxGraph *decoder = make_decoder("float32[2,1,1,0,1]");
    onnx_add_input(decoder, "past_1", "float32[2,1,1,0,1]");
    onnx_model_refused(INVALID, "past: 2 values become 1 in a round", search(decoder, &node));
}

int test_onnx_composition_loop(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_onnx_composition_loop_goes_on_while_its_condition_holds),
        cmocka_unit_test(test_onnx_composition_loop_refuses_other_graphs),
    };
    return cmocka_run_group_tests_name("onnx_composition_loop", tests, NULL, NULL);
}
