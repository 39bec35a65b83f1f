/* What normalizations meant in older opsets. */
#include "tests/compiler/onnx_run.h"

/* One node from x and initializers to y and further outputs. */
static OnnxModel *one_node(int64_t opset, const char *op_type, const char *inputs,
    const char *outputs, OnnxNodeProto **out_node) {
    OnnxModel *model = onnx_model_make(opset);
    onnx_add_input(model->graph, "x", "float32");
    onnx_add_output(model->graph, "y", "float32");
    *out_node = onnx_add_node(model->graph, op_type, inputs, outputs);
    return model;
}

static OnnxModel *batch_normalization(
    int64_t opset, const char *outputs, OnnxNodeProto **out_node) {
    OnnxModel *model =
        one_node(opset, "BatchNormalization", "x,scale,bias,mean,variance", outputs, out_node);
    onnx_add_initializer(model->graph, "scale", "float32[2] 2 4");
    onnx_add_initializer(model->graph, "bias", "float32[2] 1 0");
    onnx_add_initializer(model->graph, "mean", "float32[2] 3 2");
    onnx_add_initializer(model->graph, "variance", "float32[2] 4 16");
    onnx_set_float(*out_node, "epsilon", 0);
    return model;
}

static void test_batch_normalization_at_inference_is_the_same_in_all_opsets(void **state) {
    (void)state;
    static const char signature[] = "float32[1,2,1] 5 10 -> float32[1,2,1] 3 8";
    OnnxNodeProto *node;
    OnnxModel *old = batch_normalization(7, "y", &node);
    onnx_set_int(node, "spatial", 1);
    onnx_set_float(node, "momentum", 0.9f);
    onnx_model_expect(old, signature);
    OnnxModel *new = batch_normalization(15, "y", &node);
    onnx_set_int(node, "training_mode", 0);
    onnx_model_expect(new, signature);
}

static void test_batch_normalization_may_know_each_element(void **state) {
    (void)state;
    OnnxNodeProto *node;
    OnnxModel *model = batch_normalization(7, "y", &node);
    onnx_set_int(node, "spatial", 0);
    onnx_model_expect(model, "float32[2,2] 5 10 3 2 -> float32[2,2] 3 8 1 0");
    model = batch_normalization(7, "y,m", &node);
    onnx_set_int(node, "spatial", 0);
    onnx_model_refused(UNSUPPORTED, "attribute spatial other than 1 in training", model);
}

/* The running statistics are asked for: up to opset 13 that alone says so. */
static void test_batch_normalization_in_training_moves_its_statistics(void **state) {
    (void)state;
    static const char signature[] = "float32[2,2] 1 10 3 30 -> float32[2,2] -1 -4 3 4; "
                                    "float32[2] 2.5 11; float32[2] 2.5 58";
    static const int64_t opsets[] = {9, 15};
    for (int i = 0; i < 2; i++) {
        OnnxNodeProto *node;
        OnnxModel *model = batch_normalization(opsets[i], "y,m,v", &node);
        onnx_add_output(model->graph, "m", "float32");
        onnx_add_output(model->graph, "v", "float32");
        onnx_set_float(node, "momentum", 0.5f);
        if (opsets[i] == 15) onnx_set_int(node, "training_mode", 1);
        onnx_model_expect(model, signature);
    }
    OnnxNodeProto *node;
    onnx_model_refused(UNSUPPORTED, "outputs saved_mean and saved_var",
        batch_normalization(9, "y,m,v,sm,sv", &node));
    OnnxModel *three = one_node(7, "BatchNormalization", "x,x,x", "y", &node);
    onnx_set_int(node, "spatial", 0);
    onnx_model_refused(INVALID, "3 inputs", three);
}

static OnnxModel *group_normalization(int64_t opset, const char *scale, const char *bias) {
    OnnxNodeProto *node;
    OnnxModel *model = one_node(opset, "GroupNormalization", "x,scale,bias", "y", &node);
    onnx_add_initializer(model->graph, "scale", scale);
    onnx_add_initializer(model->graph, "bias", bias);
    onnx_set_int(node, "num_groups", 2);
    onnx_set_float(node, "epsilon", 0);
    return model;
}

/* Up to opset 20 scale and bias are one for each group. */
static void test_group_normalization_repeats_what_groups_share(void **state) {
    (void)state;
    static const char signature[] = "float32[1,4,1] 1 3 10 30 -> float32[1,4,1] -2 2 7 13";
    onnx_model_expect(group_normalization(18, "float32[2] 2 3", "float32[2] 0 10"), signature);
    onnx_model_expect(
        group_normalization(21, "float32[4] 2 2 3 3", "float32[4] 0 0 10 10"), signature);
    OnnxNodeProto *node;
    OnnxModel *two = one_node(18, "GroupNormalization", "x,x", "y", &node);
    onnx_set_int(node, "num_groups", 1);
    onnx_model_refused(INVALID, "2 inputs", two);
    OnnxModel *gap = one_node(18, "GroupNormalization", "x,,x", "y", &node);
    onnx_set_int(node, "num_groups", 1);
    onnx_model_refused(INVALID, "input 1 is missing", gap);
}

int test_onnx_normalization(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_batch_normalization_at_inference_is_the_same_in_all_opsets),
        cmocka_unit_test(test_batch_normalization_may_know_each_element),
        cmocka_unit_test(test_batch_normalization_in_training_moves_its_statistics),
        cmocka_unit_test(test_group_normalization_repeats_what_groups_share),
    };
    return cmocka_run_group_tests_name("onnx_normalization", tests, NULL, NULL);
}
