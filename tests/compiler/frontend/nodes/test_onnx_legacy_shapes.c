#include "tests/compiler/onnx_run.h"

static OnnxModel *one_node(
    int64_t opset, const char *op_type, const char *inputs, OnnxNodeProto **out_node) {
    OnnxModel *model = onnx_model_make(opset);
    onnx_add_input(model->graph, "x", "float32");
    onnx_add_output(model->graph, "y", "");
    *out_node = onnx_add_node(model->graph, op_type, inputs, "y");
    return model;
}

static void test_onnx_legacy_shapes_reshape_has_an_attribute(void **state) {
    (void)state;
    OnnxNodeProto *node;
    OnnxModel *model = one_node(4, "Reshape", "x", &node);
    onnx_set_ints(node, "shape", "0 -1");
    onnx_model_expect(model, "float32[1,2,1] 1 2 -> float32[1,2] 1 2");
    onnx_model_refused(INVALID, "attribute shape is missing", one_node(4, "Reshape", "x", &node));
    model = one_node(5, "Reshape", "x", &node);
    onnx_set_ints(node, "shape", "0 -1");
    onnx_model_refused(UNSUPPORTED, "attribute shape", model);
}

static void test_onnx_legacy_shapes_concat_joins_axis_1(void **state) {
    (void)state;
    OnnxNodeProto *node;
    onnx_model_expect(
        one_node(3, "Concat", "x,x", &node), "float32[2,1] 1 2 -> float32[2,2] 1 1 2 2");
    OnnxModel *model = one_node(3, "Concat", "x,x", &node);
    onnx_set_int(node, "axis", 0);
    onnx_model_expect(model, "float32[2,1] 1 2 -> float32[4,1] 1 2 1 2");
    onnx_model_refused(INVALID, "axis", one_node(4, "Concat", "x,x", &node));
}

static void test_onnx_legacy_shapes_cast_names_its_type(void **state) {
    (void)state;
    OnnxNodeProto *node;
    OnnxModel *model = one_node(5, "Cast", "x", &node);
    onnx_set_text(node, "to", "INT32");
    onnx_model_expect(model, "float32[2] 1.5 2 -> int32[2] 1 2");
    static const char *const wrong[] = {"int32", "", "A_NAME_LONGER_THAN_ALL_ELEMENT_TYPES_HAVE"};
    for (size_t i = 0; i < 3; i++) {
        model = one_node(5, "Cast", "x", &node);
        onnx_set_text(node, "to", wrong[i]);
        onnx_model_refused(INVALID, "attribute to is no element type", model);
    }
    model = one_node(5, "Cast", "x", &node);
    onnx_set_text(node, "to", "COMPLEX64");
    onnx_model_refused(UNSUPPORTED, "attribute to", model);
    model = one_node(6, "Cast", "x", &node);
    onnx_set_text(node, "to", "INT32");
    onnx_model_refused(INVALID, "attribute to has the wrong type", model);
}

static void test_onnx_legacy_shapes_tile_repeats_one_axis(void **state) {
    (void)state;
    static const char *const signatures[] = {"float32[2,1] 1 2 -> float32[6,1] 1 2 1 2 1 2",
        "float32[2,1] 1 2 -> float32[2,3] 1 1 1 2 2 2"};
    static const char *const axes[] = {"float32[] 0", "float32[1] 1"};
    for (size_t i = 0; i < 2; i++) {
        OnnxNodeProto *node;
        OnnxModel *model = one_node(1, "Tile", "x,tiles,axis", &node);
        onnx_add_initializer(model->graph, "tiles", "float32[1] 3");
        onnx_add_initializer(model->graph, "axis", axes[i]);
        onnx_model_expect(model, signatures[i]);
    }
    OnnxNodeProto *node;
    onnx_model_refused(INVALID, "input 1 is missing", one_node(1, "Tile", "x", &node));
}

static void test_onnx_legacy_shapes_pad_and_split_had_other_names(void **state) {
    (void)state;
    OnnxNodeProto *node;
    OnnxModel *model = one_node(1, "Pad", "x", &node);
    onnx_set_ints(node, "paddings", "1 0");
    onnx_set_float(node, "value", 7);
    onnx_model_expect(model, "float32[2] 1 2 -> float32[3] 7 1 2");
    model = onnx_model_make(1);
    onnx_add_input(model->graph, "x", "float32[3]");
    onnx_add_initializer(model->graph, "lengths", "float32[2] 1 2");
    onnx_add_output(model->graph, "y", "");
    onnx_add_output(model->graph, "z", "");
    onnx_add_node(model->graph, "Split", "x,lengths", "y,z");
    onnx_model_expect(model, "float32[3] 1 2 3 -> float32[1] 1; float32[2] 2 3");
}

int test_onnx_legacy_shapes(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_onnx_legacy_shapes_reshape_has_an_attribute),
        cmocka_unit_test(test_onnx_legacy_shapes_concat_joins_axis_1),
        cmocka_unit_test(test_onnx_legacy_shapes_cast_names_its_type),
        cmocka_unit_test(test_onnx_legacy_shapes_tile_repeats_one_axis),
        cmocka_unit_test(test_onnx_legacy_shapes_pad_and_split_had_other_names),
    };
    return cmocka_run_group_tests_name("onnx_legacy_shapes", tests, NULL, NULL);
}
