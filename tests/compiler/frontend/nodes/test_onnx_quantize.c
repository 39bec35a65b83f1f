#include "tests/compiler/onnx_run.h"

static OnnxModel *one_node(
    int64_t opset, const char *op_type, const char *inputs, OnnxNodeProto **out_node) {
    OnnxModel *model = onnx_model_make(opset);
    onnx_add_input(model->graph, "x", "float32");
    onnx_add_output(model->graph, "y", "int8");
    *out_node = onnx_add_node(model->graph, op_type, inputs, "y");
    return model;
}

static void test_onnx_cast_like_takes_the_type_of_another(void **state) {
    OnnxNodeProto *node;
    OnnxModel *model = one_node(25, "CastLike", "x,like", &node);
    (void)state;
    onnx_add_initializer(model->graph, "like", "int8[1] 0");
    onnx_model_expect(model, "float32[3] 1.5 -2.5 3 -> int8[3] 1 -2 3");
}

/* With scale 0.5, a zero point of int8 1 and the attributes that are not -1. */
static OnnxModel *quantize(int64_t opset, int64_t output_dtype, int64_t precision) {
    OnnxNodeProto *node;
    OnnxModel *model = one_node(opset, "QuantizeLinear", "x,scale,zero", &node);
    onnx_add_initializer(model->graph, "scale", "float32[] 0.5");
    onnx_add_initializer(model->graph, "zero", "int8[] 1");
    if (output_dtype >= 0) onnx_set_int(node, "output_dtype", output_dtype);
    if (precision >= 0) onnx_set_int(node, "precision", precision);
    return model;
}

static void test_onnx_quantization_without_a_type_takes_that_of_its_operands(void **state) {
    static const char signature[] = "float32[4] 1 -2 100 0.75 -> int8[4] 3 -3 127 3";
    (void)state;
    onnx_model_expect(quantize(10, -1, -1), signature);
    onnx_model_expect(quantize(21, 0, -1), signature);
    onnx_model_expect(quantize(23, 0, 0), signature);
    onnx_model_expect(quantize(23, 3, 1), signature);
    onnx_model_expect_failure(
        quantize(23, 2, 0), "float32[1] 1", "output_dtype uint8 with a zero point of int8");
    onnx_model_refused(UNSUPPORTED, "attribute output_dtype", quantize(23, 99, 0));
}

static void test_onnx_packed_elements_go_in_and_out(void **state) {
    OnnxNodeProto *node;
    OnnxModel *model = onnx_model_make(23);
    (void)state;
    onnx_add_input(model->graph, "x", "int4");
    onnx_add_output(model->graph, "y", "int4");
    node = onnx_add_node(model->graph, "Transpose", "x", "y");
    onnx_set_ints(node, "perm", "1 0");
    onnx_model_expect(model, "int4[2,3] 1 -8 3 4 7 -6 -> int4[3,2] 1 4 -8 7 3 -6");
}

int test_onnx_quantize(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_onnx_cast_like_takes_the_type_of_another),
        cmocka_unit_test(test_onnx_quantization_without_a_type_takes_that_of_its_operands),
        cmocka_unit_test(test_onnx_packed_elements_go_in_and_out),
    };
    return cmocka_run_group_tests_name("onnx_quantize", tests, NULL, NULL);
}
