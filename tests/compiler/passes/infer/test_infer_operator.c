#include "tests/compiler/compiler_fixtures.h"
#include "tests/compiler/onnx_run.h"

static void test_infer_operator_gives_what_its_golden_files_say(void **state) {
    (void)state;
    golden_check("infer_operator");
}

/* Sizes decide nothing about a rank. */
static void test_transposes_of_another_rank_are_refused(void **state) {
    (void)state;
    static const char *const shapes[] = {"float32[2,3]", "float32[a,b]", "float32[a,3]"};
    for (size_t i = 0; i < 3; i++) {
        OnnxModel *model = onnx_model_make(21);
        onnx_add_input(model->graph, "x", shapes[i]);
        onnx_add_output(model->graph, "y", "float32");
        onnx_set_ints(onnx_add_node(model->graph, "Transpose", "x", "y"), "perm", "0 1 2");
        onnx_model_refused(INVALID, "node y: Transpose: perm has 3 elements for rank 2", model);
    }
    OnnxModel *model = onnx_model_make(21);
    onnx_add_input(model->graph, "x", "float32");
    onnx_add_output(model->graph, "y", "float32");
    onnx_set_ints(onnx_add_node(model->graph, "Transpose", "x", "y"), "perm", "0 1 2");
    onnx_model_expect_failure(
        model, "float32[1,2] 1 2", "Transpose: perm has 3 elements for rank 2");
}

int test_infer_operator(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_infer_operator_gives_what_its_golden_files_say),
        cmocka_unit_test(test_transposes_of_another_rank_are_refused),
    };
    return cmocka_run_group_tests_name("infer_operator", tests, NULL, NULL);
}
