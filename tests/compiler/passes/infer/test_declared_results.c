#include <stdlib.h>

#include "compiler/compile.h"
#include "tests/compiler/onnx_run.h"

static OnnxModel *shape_model(const char *input, const char *output) {
    OnnxModel *model = onnx_model_make(21);
    onnx_add_input(model->graph, "x", input);
    onnx_add_output(model->graph, "y", output);
    onnx_add_node(model->graph, "Shape", "x", "y");
    return model;
}

static OnnxModel *neg_model(const char *input, const char *output) {
    OnnxModel *model = onnx_model_make(21);
    onnx_add_input(model->graph, "x", input);
    onnx_add_output(model->graph, "y", output);
    onnx_add_node(model->graph, "Neg", "x", "y");
    return model;
}

static void test_declared_results_refuses_another_element_type(void **state) {
    (void)state;
    onnx_model_refused(INVALID, "output y is declared as float32, but the graph makes int64",
        shape_model("float32[2]", "float32[1]"));
    onnx_model_expect(shape_model("float32[2]", ""), "float32[2] 0 0 -> int64[1] 2");
}

static void check_warning(OnnxModel *model, const char *wanted) {
    size_t size;
    uint8_t *bytes = onnx_model_pack(model, &size);
    TextBuilder OWN_TEXT(warnings) = {0};
    CompileOptions options = {.folder = NULL, .warnings = &warnings};
    OWN(Executable, executable) = NULL;
    assert_ok(compile_source("onnx", bytes, size, &options, &executable));
    assert_string_equal(text_builder_get(&warnings), wanted);
    free(bytes);
}

static void test_declared_results_corrects_another_shape(void **state) {
    (void)state;
    check_warning(neg_model("float32[2,n]", "float32[2,n]"), "");
    check_warning(neg_model("float32[2,n]", "float32[2,7]"), "");
    check_warning(neg_model("float32[2,n]", "float32[3,n]"),
        "output y is declared as float32[3, n]; the graph makes float32[2, n], which counts\n");
    check_warning(neg_model("float32[2]", "float32[2,1]"),
        "output y is declared as float32[2, 1]; the graph makes float32[2], which counts\n");
    onnx_model_expect(
        neg_model("float32[2]", "float32[2,1]"), "float32[2] 1 2 -> float32[2] -1 -2");
}

int test_declared_results(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_declared_results_refuses_another_element_type),
        cmocka_unit_test(test_declared_results_corrects_another_shape),
    };
    return cmocka_run_group_tests_name("declared_results", tests, NULL, NULL);
}
