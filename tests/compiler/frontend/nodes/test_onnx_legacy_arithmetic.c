#include "tests/compiler/onnx_run.h"

/* op(a, b) of types told at run time. */
static OnnxModel *pair_model(
    int64_t opset, const char *op_type, const char *type, OnnxNodeProto **out_node) {
    OnnxModel *model = onnx_model_make(opset);
    onnx_add_input(model->graph, "a", type);
    onnx_add_input(model->graph, "b", type);
    onnx_add_output(model->graph, "y", "");
    *out_node = onnx_add_node(model->graph, op_type, "a,b", "y");
    return model;
}

static OnnxModel *broadcast_model(const char *op_type, const char *type, const char *axis) {
    OnnxNodeProto *node;
    int64_t number;
    OnnxModel *model = pair_model(6, op_type, type, &node);
    onnx_set_int(node, "broadcast", 1);
    if (axis && text_parse_i64(axis, &number)) onnx_set_int(node, "axis", number);
    return model;
}

static void test_onnx_legacy_arithmetic_broadcasts_at_an_axis(void **state) {
    (void)state;
    static const char inputs[] = "float32[2,2,1] 1 2 3 4; float32[2] 10 20";
    static const struct {
        const char *op_type, *axis, *result;
    } rows[] = {
        {"Add", "0", "float32[2,2,1] 11 12 23 24"},
        {"Add", "1", "float32[2,2,1] 11 22 13 24"},
        {"Add", "-3", "float32[2,2,1] 11 12 23 24"},
        {"Sub", "1", "float32[2,2,1] -9 -18 -7 -16"},
        {"Mul", "1", "float32[2,2,1] 10 40 30 80"},
        {"Div", "0", "float32[2,2,1] 0.1 0.2 0.15 0.2"},
        {"Pow", "1", "float32[2,2,1] 1 1.04858e+06 59049 1.09951e+12"},
        {"Greater", "0", "bool[2,2,1] 0 0 0 0"},
        {"Less", "0", "bool[2,2,1] 1 1 1 1"},
        {"Add", NULL, "float32[2,2,2] 11 21 12 22 13 23 14 24"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        TextBuilder OWN_TEXT(signature) = {0};
        text_appendf(&signature, "%s -> %s", inputs, rows[i].result);
        onnx_model_expect(broadcast_model(rows[i].op_type, "float32", rows[i].axis),
            text_builder_get(&signature));
    }
    static const char *const logical[] = {"And", "Or", "Xor"};
    static const char *const results[] = {"1 0 0 0", "1 1 1 0", "0 1 1 0"};
    for (size_t i = 0; i < 3; i++) {
        TextBuilder OWN_TEXT(signature) = {0};
        text_appendf(
            &signature, "bool[2,2] 1 1 0 0; bool[2,2] 1 0 1 0 -> bool[2,2] %s", results[i]);
        onnx_model_expect(broadcast_model(logical[i], "bool", "0"), text_builder_get(&signature));
    }
    onnx_model_expect(broadcast_model("Equal", "int64", "0"),
        "int64[2,2] 1 2 3 4; int64[2] 1 4 -> bool[2,2] 1 0 0 1");
    onnx_model_expect_failure(broadcast_model("Add", "float32", "2"),
        "float32[2,2] 1 2 3 4; float32[2] 1 2", "axis 2 for rank 1 within rank 2");
}

static void test_onnx_legacy_arithmetic_of_today_has_no_axis(void **state) {
    (void)state;
    OnnxNodeProto *node;
    OnnxModel *model = pair_model(7, "Add", "float32", &node);
    onnx_set_int(node, "axis", 0);
    onnx_model_refused(UNSUPPORTED, "attribute axis", model);
    model = pair_model(7, "Gemm", "float32", &node);
    onnx_set_int(node, "broadcast", 1);
    onnx_model_refused(UNSUPPORTED, "attribute broadcast", model);
    model = onnx_model_make(6);
    onnx_add_input(model->graph, "a", "float32");
    onnx_add_output(model->graph, "y", "");
    node = onnx_add_node(model->graph, "Add", "a", "y");
    onnx_set_int(node, "broadcast", 1);
    onnx_set_int(node, "axis", 0);
    onnx_model_refused(INVALID, "an input is missing", model);
}

static void test_onnx_legacy_arithmetic_prelu_has_a_slope_a_channel(void **state) {
    (void)state;
    OnnxNodeProto *node;
    onnx_model_expect(pair_model(6, "PRelu", "float32", &node),
        "float32[1,2,2] -1 -2 -3 4; float32[2] 2 10 -> float32[1,2,2] -2 -4 -30 4");
    onnx_model_expect(pair_model(6, "PRelu", "float32", &node),
        "float32[1,2,2] -1 -2 -3 4; float32[1] 2 -> float32[1,2,2] -2 -4 -6 4");
    onnx_model_expect(pair_model(7, "PRelu", "float32", &node),
        "float32[1,2,2] -1 -2 -3 4; float32[2] 2 10 -> float32[1,2,2] -2 -20 -6 4");
}

static void test_onnx_legacy_arithmetic_gemm_may_say_that_it_broadcasts(void **state) {
    (void)state;
    OnnxModel *model = onnx_model_make(6);
    onnx_add_input(model->graph, "a", "float32[1,2]");
    onnx_add_input(model->graph, "b", "float32[2,2]");
    onnx_add_initializer(model->graph, "c", "float32[2] 100 200");
    onnx_add_output(model->graph, "y", "");
    onnx_set_int(onnx_add_node(model->graph, "Gemm", "a,b,c", "y"), "broadcast", 1);
    onnx_model_expect(model, "float32[1,2] 1 2; float32[2,2] 1 2 3 4 -> float32[1,2] 107 210");
}

static OnnxModel *selu_model(int64_t opset, OnnxNodeProto **out_node) {
    OnnxModel *model = onnx_model_make(opset);
    onnx_add_input(model->graph, "x", "float32[1]");
    onnx_add_output(model->graph, "y", "");
    *out_node = onnx_add_node(model->graph, "Selu", "x", "y");
    return model;
}

static void test_onnx_legacy_arithmetic_selu_had_fewer_digits(void **state) {
    (void)state;
    OnnxNodeProto *node;
    onnx_model_expect(selu_model(1, &node), "float32[1] 10000 -> float32[1] 10507");
    onnx_model_expect(selu_model(6, &node), "float32[1] 100000 -> float32[1] 105070");
    OnnxModel *model = selu_model(1, &node);
    onnx_set_float(node, "gamma", 2);
    onnx_set_ints(node, "consumed_inputs", "0");
    onnx_model_expect(model, "float32[1] 1 -> float32[1] 2");
}

static OnnxModel *normalization_model(
    int64_t spatial, const char *outputs, OnnxNodeProto **out_node) {
    OnnxModel *model = onnx_model_make(6);
    onnx_add_input(model->graph, "x", "float32[2,2,1]");
    onnx_add_initializer(model->graph, "scale", spatial ? "float32[2] 2 4" : "float32[2,1] 2 4");
    onnx_add_initializer(model->graph, "bias", spatial ? "float32[2] 1 0" : "float32[2,1] 1 0");
    onnx_add_initializer(model->graph, "mean", spatial ? "float32[2] 3 2" : "float32[2,1] 3 2");
    onnx_add_initializer(
        model->graph, "variance", spatial ? "float32[2] 4 16" : "float32[2,1] 4 16");
    onnx_add_output(model->graph, "y", "");
    *out_node =
        onnx_add_node(model->graph, "BatchNormalization", "x,scale,bias,mean,variance", outputs);
    onnx_set_float(*out_node, "epsilon", 0);
    onnx_set_int(*out_node, "spatial", spatial);
    return model;
}

static void test_onnx_legacy_arithmetic_normalizes_where_it_is_a_test(void **state) {
    (void)state;
    static const char signature[] = "float32[2,2,1] 5 10 3 2 -> float32[2,2,1] 3 8 1 0";
    OnnxNodeProto *node;
    for (int64_t spatial = 0; spatial < 2; spatial++) {
        OnnxModel *model = normalization_model(spatial, "y,m,v,sm,sv", &node);
        onnx_set_int(node, "is_test", 1);
        onnx_model_expect(model, signature);
        onnx_model_expect(normalization_model(spatial, "y,,,,", &node), signature);
        onnx_model_refused(UNSUPPORTED, "", normalization_model(spatial, "y,m,v,sm,sv", &node));
    }
}

int test_onnx_legacy_arithmetic(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_onnx_legacy_arithmetic_broadcasts_at_an_axis),
        cmocka_unit_test(test_onnx_legacy_arithmetic_of_today_has_no_axis),
        cmocka_unit_test(test_onnx_legacy_arithmetic_prelu_has_a_slope_a_channel),
        cmocka_unit_test(test_onnx_legacy_arithmetic_gemm_may_say_that_it_broadcasts),
        cmocka_unit_test(test_onnx_legacy_arithmetic_selu_had_fewer_digits),
        cmocka_unit_test(test_onnx_legacy_arithmetic_normalizes_where_it_is_a_test),
    };
    return cmocka_run_group_tests_name("onnx_legacy_arithmetic", tests, NULL, NULL);
}
