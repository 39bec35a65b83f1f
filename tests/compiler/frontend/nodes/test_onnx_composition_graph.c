/* Graphs of compositions: an encoder and a decoder behind it, by the row of GreedySearch. */
#include "compiler/frontend/nodes/onnx_composition.h"

#include "tests/compiler/onnx_run.h"

/* The one-hot logits: token t is followed by t + 1 of 5. */
static void add_logits(OnnxGraph *graph, const char *ids) {
    onnx_add_initializer(
        graph, "table", "float32[5,5] 0 1 0 0 0 0 0 1 0 0 0 0 0 1 0 0 0 0 0 1 1 0 0 0 0");
    const char *const inputs[] = {"table,decoder_input_ids", "table,input_ids"};
    onnx_add_node(graph, "Gather", inputs[strcmp(ids, "input_ids") == 0], "logits");
}

static void add_caches(OnnxGraph *graph, const char *key, const char *value) {
    onnx_add_output(graph, key, "float32");
    onnx_add_output(graph, value, "float32");
}

/* with_decoder: makes the first logits and the states, too. */
static OnnxGraph *make_encoder(bool with_decoder) {
    OnnxGraph *graph = onnx_graph_make();
    onnx_add_input(graph, "encoder_input_ids", "int32");
    onnx_add_input(graph, "encoder_attention_mask", "int32");
    onnx_add_initializer(graph, "states", "float32[1,1,1,1] 7");
    onnx_add_node(graph, "Identity", "states", "key_cross");
    onnx_add_node(graph, "Identity", "states", "value_cross");
    if (with_decoder) {
        onnx_add_input(graph, "decoder_input_ids", "int32");
        add_logits(graph, "decoder_input_ids");
        onnx_add_node(graph, "Identity", "logits", "encoder_hidden_states");
        onnx_add_node(graph, "Identity", "states", "key_self");
        onnx_add_node(graph, "Identity", "states", "value_self");
        add_caches(graph, "logits", "encoder_hidden_states");
        add_caches(graph, "key_self", "value_self");
    }
    add_caches(graph, "key_cross", "value_cross");
    return graph;
}

static OnnxGraph *make_decoder(const char *cache_type, const char *more_input) {
    OnnxGraph *graph = onnx_graph_make();
    onnx_add_input(graph, "input_ids", "int32[1,1]");
    onnx_add_input(graph, "encoder_attention_mask", "int32");
    onnx_add_input(graph, "past_key_self", cache_type);
    onnx_add_input(graph, "past_value_self", cache_type);
    onnx_add_input(graph, "past_key_cross", "float32[1,1,1,1]");
    onnx_add_input(graph, "past_value_cross", "float32[1,1,1,1]");
    if (more_input) onnx_add_input(graph, more_input, "int32");
    add_logits(graph, "input_ids");
    onnx_add_node(graph, "Identity", "past_key_self", "present_key_self");
    onnx_add_node(graph, "Identity", "past_value_self", "present_value_self");
    onnx_add_output(graph, "logits", "float32");
    add_caches(graph, "present_key_self", "present_value_self");
    return graph;
}

static OnnxModel *search(OnnxGraph *owned_encoder, OnnxGraph *owned_decoder) {
    OnnxModel *model = onnx_model_make(20);
    onnx_model_import_domain(model, "com.microsoft", 1);
    onnx_add_input(model->graph, "x", "int32[1,2]");
    onnx_add_input(model->graph, "n", "int32[1]");
    onnx_add_output(model->graph, "y", "int32");
    OnnxNodeProto *node = onnx_add_node(model->graph, "GreedySearch", "x,n", "y");
    onnx_node_set_domain(node, "com.microsoft");
    onnx_set_int(node, "eos_token_id", 4);
    onnx_set_int(node, "pad_token_id", 0);
    onnx_set_int(node, "model_type", 1);
    onnx_set_int(node, "decoder_start_token_id", 1);
    onnx_set_graph(node, "encoder", owned_encoder);
    onnx_set_graph(node, "decoder", owned_decoder);
    return model;
}

static const char cache[] = "float32[1,1,0,1]";

static void test_onnx_composition_graph_searches_behind_both_kinds_of_encoders(void **state) {
    (void)state;
    for (int with_decoder = 0; with_decoder < 2; with_decoder++)
        onnx_model_expect(search(make_encoder(with_decoder), make_decoder(cache, NULL)),
            "int32[1,2] 3 1; int32[1] 6 -> int32[1,6] 1 2 3 0 0 0");
}

static void test_onnx_composition_graph_refuses_other_graphs(void **state) {
    (void)state;
    onnx_model_refused(UNSUPPORTED, "a decoder with inputs beside two caches for each",
        search(make_encoder(true), make_decoder(cache, "past_sequence_length")));
    onnx_model_refused(UNSUPPORTED, "an encoder without them",
        search(make_encoder(false), make_decoder(cache, "encoder_hidden_states")));
    onnx_model_refused(UNSUPPORTED,
        "input past_key_self of decoder is no cache of floats [batch, heads, places, size]",
        search(make_encoder(false), make_decoder("float32[1,1,0]", NULL)));
    OnnxGraph *encoder = make_encoder(false);
    onnx_add_output(encoder, "states", "float32");
    onnx_model_refused(UNSUPPORTED, "decoder: 6 inputs, where 7 are known",
        search(encoder, make_decoder(cache, NULL)));
}

int test_onnx_composition_graph(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_onnx_composition_graph_searches_behind_both_kinds_of_encoders),
        cmocka_unit_test(test_onnx_composition_graph_refuses_other_graphs),
    };
    return cmocka_run_group_tests_name("onnx_composition_graph", tests, NULL, NULL);
}
