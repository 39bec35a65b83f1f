#include "tests/compiler/onnx_run.h"

/* Two rows of sixteen elements, with a scale each. */
static OnnxModel *model_of(const char *data, const char *scales, OnnxNodeProto **out) {
    OnnxModel *model = onnx_model_make(21);
    onnx_add_initializer(model->graph, "d", data);
    onnx_add_input(model->graph, "i", "int64");
    onnx_add_initializer(model->graph, "s", scales);
    onnx_add_output(model->graph, "y", "float32");
    *out = onnx_add_node(model->graph, "GatherBlockQuantized", "d,i,s", "y");
    onnx_node_set_domain(*out, "com.microsoft");
    onnx_set_int(*out, "block_size", 16);
    return model;
}

#define ROWS                                                                                       \
    "int4[2,16] 1 -2 3 -4 5 -6 7 -8 1 2 3 4 5 6 7 0 -1 -1 -1 -1 -1 -1 -1 -1 2 2 2 2 2 2 2 2"

static void test_onnx_gather_blocks_dequantizes_what_it_takes(void **state) {
    OnnxNodeProto *node;
    (void)state;
    /* index 2 is not there: zeros */
    onnx_model_expect(model_of(ROWS, "float32[2,1] 2 3", &node),
        "int64[1,3] -1 0 2 -> float32[1,3,16] -3 -3 -3 -3 -3 -3 -3 -3 6 6 6 6 6 6 6 6 "
        "2 -4 6 -8 10 -12 14 -16 2 4 6 8 10 12 14 0 0 -0 0 -0 0 -0 0 -0 0 0 0 0 0 0 0 0");
    OnnxModel *model = model_of(ROWS, "float32[2,1] 2 3", &node);
    onnx_set_int(node, "gather_axis", 1);
    onnx_model_expect(model, "int64[] 15 -> float32[2] 0 6");
}

static void test_onnx_gather_blocks_reads_bytes(void **state) {
    OnnxNodeProto *node;
    (void)state;
    onnx_model_expect(
        model_of("uint8[1,8] 169 136 136 136 136 136 136 136", "float32[1,1] 2", &node),
        "int64[1] 0 -> float32[1,16] 2 4 0 0 0 0 0 0 0 0 0 0 0 0 0 0");
}

static void test_onnx_gather_blocks_refuses_shapes_that_do_not_fit(void **state) {
    OnnxNodeProto *node;
    OnnxModel *model;
    (void)state;
    onnx_model_refused(
        INVALID, "scales of [2, 2], not [2, 1]", model_of(ROWS, "float32[2,2] 2 3 4 5", &node));
    model = model_of(ROWS, "float32[2,1] 2 3", &node);
    onnx_set_int(node, "quantize_axis", 2);
    onnx_model_refused(INVALID, "quantize_axis", model);
    model = model_of("uint8[1,8] 1 2 3 4 5 6 7 8", "float32[1,1] 2", &node);
    onnx_set_int(node, "bits", 3);
    onnx_model_refused(INVALID, "bits is 3, not 2, 4 or 8", model);
}

int test_onnx_gather_blocks(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_onnx_gather_blocks_dequantizes_what_it_takes),
        cmocka_unit_test(test_onnx_gather_blocks_reads_bytes),
        cmocka_unit_test(test_onnx_gather_blocks_refuses_shapes_that_do_not_fit),
    };
    return cmocka_run_group_tests_name("onnx_gather_blocks", tests, NULL, NULL);
}
