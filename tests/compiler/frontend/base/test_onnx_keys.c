/* Encoders and mappers whose keys are sorted at import. */
#include "compiler/frontend/base/onnx_keys.h"

#include "tests/compiler/onnx_run.h"

static OnnxModel *encoder(int version, const char *from, const char *to, OnnxNodeProto **out_node) {
    OnnxModel *model = onnx_model_make(20);
    onnx_model_import_domain(model, "ai.onnx.ml", version);
    onnx_add_input(model->graph, "x", from);
    onnx_add_output(model->graph, "y", to);
    *out_node = onnx_add_node(model->graph, "LabelEncoder", "x", "y");
    onnx_node_set_domain(*out_node, "ai.onnx.ml");
    return model;
}

/* The keys stand in any order; 4 stands twice. */
static void test_of_equal_keys_the_first_counts(void **state) {
    (void)state;
    OnnxNodeProto *node;
    OnnxModel *model = encoder(4, "int64", "int64", &node);
    onnx_set_ints(node, "keys_int64s", "9 4 -2 4");
    onnx_set_ints(node, "values_int64s", "1 2 3 5");
    onnx_model_expect(model, "int64[5] 4 9 -2 0 10 -> int64[5] 2 1 3 -1 -1");
}

/* As onnxruntime reads the versions. */
static void test_a_nan_is_found_from_version_4_on(void **state) {
    (void)state;
    for (int version = 3; version <= 4; version++) {
        OnnxNodeProto *node;
        OnnxModel *model = encoder(version, "float32", "int64", &node);
        onnx_set_floats(node, "keys_floats", "nan 1 nan");
        onnx_set_ints(node, "values_int64s", "7 8 9");
        onnx_model_expect(model, version == 3 ? "float32[3] nan 1 2 -> int64[3] -1 8 -1"
                                              : "float32[3] nan 1 2 -> int64[3] 7 8 -1");
    }
}

static void test_fewer_values_than_keys_are_refused(void **state) {
    (void)state;
    OnnxNodeProto *node;
    OnnxModel *model = encoder(4, "int64", "int64", &node);
    onnx_set_ints(node, "keys_int64s", "9 4");
    onnx_set_ints(node, "values_int64s", "1");
    onnx_model_refused(UNSUPPORTED, "not as many values as keys", model);
}

int test_onnx_keys(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_of_equal_keys_the_first_counts),
        cmocka_unit_test(test_a_nan_is_found_from_version_4_on),
        cmocka_unit_test(test_fewer_values_than_keys_are_refused),
    };
    return cmocka_run_group_tests_name("onnx_keys", tests, NULL, NULL);
}
