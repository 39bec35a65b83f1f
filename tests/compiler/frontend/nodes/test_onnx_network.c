#include <stdio.h>
#include "tests/compiler/onnx_run.h"
#include <stdio.h>
#include "tests/compiler/onnx_run.h"

static OnnxModel *one_node(
    int64_t opset, const char *op_type, const char *inputs, OnnxNodeProto **out_node) {
    OnnxModel *model = onnx_model_make(opset);
    onnx_add_input(model->graph, "x", "float32");
    onnx_add_output(model->graph, "y", "float32");
    *out_node = onnx_add_node(model->graph, op_type, inputs, "y");
    return model;
}

static void expect_both(OnnxModel *old, OnnxModel *new, const char *signature) {
    onnx_model_expect(old, signature);
    onnx_model_expect(new, signature);
}

static void test_onnx_network_dropout_passes_its_input_on(void **state) {
    (void)state;
    OnnxNodeProto *node;
    OnnxModel *old = one_node(7, "Dropout", "x", &node);
    onnx_set_float(node, "ratio", 0.5f);
    OnnxModel *new = one_node(13, "Dropout", "x,ratio", &node);
    onnx_add_initializer(new->graph, "ratio", "float32[] 0.5");
    expect_both(old, new, "float32[2] 1 2 -> float32[2] 1 2");
}

/* Whether to train is an input; what is known to be false leaves no operator behind. */
static void test_onnx_network_dropout_trains_where_it_is_told_to(void **state) {
    (void)state;
    OnnxNodeProto *node;
    OnnxModel *off = one_node(13, "Dropout", "x,ratio,mode", &node);
    onnx_add_initializer(off->graph, "ratio", "float32[] 0.5");
    onnx_add_initializer(off->graph, "mode", "bool[] 0");
    onnx_model_expect(off, "float32[2] 1 2 -> float32[2] 1 2");
    OnnxModel *on = one_node(13, "Dropout", "x,ratio,mode", &node);
    onnx_add_initializer(on->graph, "ratio", "float32[] 0");
    onnx_add_initializer(on->graph, "mode", "bool[] 1");
    onnx_model_expect(on, "float32[2] 1 2 -> float32[2] 1 2");
    OnnxModel *later = one_node(13, "Dropout", "x,,mode", &node);
    onnx_add_input(later->graph, "mode", "bool[]");
    onnx_model_expect(later, "float32[2] 1 2; bool[] 0 -> float32[2] 1 2");
}

/* The mask is of the input's type up to opset 9, bool from then on. */
static void test_onnx_network_dropout_makes_the_mask_of_its_opset(void **state) {
    (void)state;
    static const struct {
        int64_t opset;
        const char *signature;
    } rows[] = {
        {7, "float32[2] 3 4 -> float32[2] 3 4; float32[2] 1 1"},
        {10, "float32[2] 3 4 -> float32[2] 3 4; bool[2] 1 1"},
        {13, "float32[2] 3 4 -> float32[2] 3 4; bool[2] 1 1"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        OnnxModel *model = onnx_model_make(rows[i].opset);
        onnx_add_input(model->graph, "x", "float32[2]");
        onnx_add_output(model->graph, "y", "");
        onnx_add_output(model->graph, "mask", "");
        onnx_add_node(model->graph, "Dropout", "x", "y,mask");
        onnx_model_expect(model, rows[i].signature);
    }
}

/* Up to opset 6 a node trains unless it is a test. */
static void test_onnx_network_dropout_trained_unless_it_was_a_test(void **state) {
    (void)state;
    for (int64_t is_test = 0; is_test < 2; is_test++) {
        OnnxModel *model = onnx_model_make(6);
        onnx_add_input(model->graph, "x", "float32[2]");
        onnx_add_output(model->graph, "y", "");
        onnx_add_output(model->graph, "mask", "");
        OnnxNodeProto *node = onnx_add_node(model->graph, "Dropout", "x", "y,mask");
        onnx_set_int(node, "is_test", is_test);
        onnx_set_float(node, "ratio", is_test ? 0.5f : 0);
        onnx_model_expect(model, "float32[2] 1 2 -> float32[2] 1 2; float32[2] 1 1");
    }
}

/* The first forms said whether they have an output; its name says so, too. */
static void test_onnx_network_recurrent_networks_had_an_output_sequence(void **state) {
    (void)state;
    for (int64_t opset = 6; opset < 8; opset++) {
        OnnxModel *model = onnx_model_make(opset);
        onnx_add_input(model->graph, "x", "float32[1,1,1]");
        onnx_add_initializer(model->graph, "w", "float32[1,1,1] 2");
        onnx_add_initializer(model->graph, "r", "float32[1,1,1] 0");
        onnx_add_output(model->graph, "y", "");
        OnnxNodeProto *node = onnx_add_node(model->graph, "RNN", "x,w,r", "y");
        onnx_set_int(node, "output_sequence", 1);
        if (opset < 7)
            onnx_model_expect(model, "float32[1,1,1] 0 -> float32[1,1,1,1] 0");
        else
            onnx_model_refused(UNSUPPORTED, "attribute output_sequence", model);
    }
}

int test_onnx_network(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_onnx_network_dropout_passes_its_input_on),
        cmocka_unit_test(test_onnx_network_dropout_trains_where_it_is_told_to),
        cmocka_unit_test(test_onnx_network_dropout_makes_the_mask_of_its_opset),
        cmocka_unit_test(test_onnx_network_dropout_trained_unless_it_was_a_test),
        cmocka_unit_test(test_onnx_network_recurrent_networks_had_an_output_sequence),
    };
    return cmocka_run_group_tests_name("onnx_network", tests, NULL, NULL);
}
