#include "tests/compiler/onnx_run.h"

/* Two tensors of one element each, in the order of the operators' inputs. */
static OnnxModel *model_of(
    const char *op_type, const char *inputs, const char *outputs, OnnxNodeProto **out_node) {
    OnnxModel *model = onnx_model_make(20);
    char name[8] = {0};
    onnx_add_input(model->graph, "r", "float32[]");
    onnx_add_input(model->graph, "t", "int64[]");
    for (const char *at = inputs; *at; at += strcspn(at, ","), at += *at == ',') {
        memcpy(name, at, 2);
        if (*at != 'r' && *at != 't' && *at != ',')
            onnx_add_input(model->graph, name, "float32[1]");
    }
    for (const char *at = outputs; *at; at += strcspn(at, ","), at += *at == ',') {
        memcpy(name, at, 2);
        onnx_add_output(model->graph, name, "float32");
    }
    *out_node = onnx_add_node(model->graph, op_type, inputs, outputs);
    onnx_node_set_domain(*out_node, "ai.onnx.preview.training");
    return model;
}

static OnnxModel *momentum_of(const char *mode, OnnxNodeProto **out_node) {
    OnnxModel *model = model_of("Momentum", "r,t,x1,x2,g1,g2,v1,v2", "a1,a2,b1,b2", out_node);
    onnx_set_float(*out_node, "alpha", 0.5f);
    onnx_set_float(*out_node, "beta", 0.25f);
    onnx_set_float(*out_node, "norm_coefficient", 2);
    if (mode) onnx_set_text(*out_node, "mode", mode);
    return model;
}

/* Gradients are 2 * 1 + 2 and 2 * 2 + 4, of which the first step takes all and the next a quarter.
 */
static void test_onnx_training_momentum_is_one_of_two(void **state) {
    (void)state;
    OnnxNodeProto *node;
    onnx_model_expect(momentum_of("standard", &node),
        "float32[] 0.5; int64[] 0; float32[1] 1; float32[1] 2; float32[1] 2; float32[1] 4; "
        "float32[1] 4; float32[1] 8 -> float32[1] -2; float32[1] -4; float32[1] 6; float32[1] 12");
    onnx_model_expect(momentum_of("nesterov", &node),
        "float32[] 0.5; int64[] 3; float32[1] 1; float32[1] 2; float32[1] 2; float32[1] 4; "
        "float32[1] 4; float32[1] 8 -> float32[1] -1.75; float32[1] -3.5; float32[1] 3; "
        "float32[1] 6");
}

static void test_onnx_training_adagrad_slows_down(void **state) {
    (void)state;
    OnnxNodeProto *node;
    OnnxModel *model = model_of("Adagrad", "r,t,x1,g1,h1", "a1,b1", &node);
    onnx_set_float(node, "decay_factor", 1);
    onnx_set_float(node, "epsilon", 1);
    /* rate 4 / (1 + 1), squares 7 + 9 */
    onnx_model_expect(model, "float32[] 4; int64[] 1; float32[1] 1; float32[1] 3; float32[1] 7 -> "
                             "float32[1] -0.2; float32[1] 16");
}

static void test_onnx_training_adam_knows_its_first_step(void **state) {
    (void)state;
    OnnxNodeProto *node;
    for (int later = 0; later < 2; later++) {
        OnnxModel *model = model_of("Adam", "r,t,x1,g1,v1,h1", "a1,b1,c1", &node);
        onnx_set_float(node, "alpha", 0.5f);
        onnx_set_float(node, "beta", 0.75f);
        onnx_set_float(node, "epsilon", 0);
        onnx_set_float(node, "norm_coefficient_post", 0.5f);
        /* moments 0.5 * 2 + 0.5 * 4 and 0.75 * 0 + 0.25 * 16; rate 1, or 1 * 0.5 / 0.5 */
        onnx_model_expect(
            model, later ? "float32[] 1; int64[] 1; float32[1] 5; float32[1] 4; float32[1] 2; "
                           "float32[1] 0 -> float32[1] 1.75; float32[1] 3; float32[1] 4"
                         : "float32[] 1; int64[] 0; float32[1] 5; float32[1] 4; float32[1] 2; "
                           "float32[1] 0 -> float32[1] 1.75; float32[1] 3; float32[1] 4");
    }
}

static void test_onnx_training_refuses_what_is_not_whole(void **state) {
    (void)state;
    OnnxNodeProto *node;
    onnx_model_refused(INVALID, "mode is neither standard nor nesterov", momentum_of(NULL, &node));
    onnx_model_refused(
        INVALID, "mode is neither standard nor nesterov", momentum_of("heavy", &node));
    onnx_model_refused(INVALID, "4 inputs, not two and 3 for each tensor",
        model_of("Adagrad", "r,t,x1,g1", "a1", &node));
    onnx_model_refused(
        INVALID, "input 3 is missing", model_of("Adagrad", "r,t,x1,,h1", "a1", &node));
    OnnxModel *model = model_of("Momentum", "r,t,x1,g1,v1", "a1", &node);
    onnx_set_text(node, "mode", "standard");
    onnx_model_refused(INVALID, "attribute alpha is missing", model);
    model = model_of("Adagrad", "r,t,x1,g1,h1", "a1", &node);
    onnx_set_float(node, "alpha", 1);
    onnx_model_refused(UNSUPPORTED, "attribute alpha", model);
}

int test_onnx_training(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_onnx_training_momentum_is_one_of_two),
        cmocka_unit_test(test_onnx_training_adagrad_slows_down),
        cmocka_unit_test(test_onnx_training_adam_knows_its_first_step),
        cmocka_unit_test(test_onnx_training_refuses_what_is_not_whole),
    };
    return cmocka_run_group_tests_name("onnx_training", tests, NULL, NULL);
}
