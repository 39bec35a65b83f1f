#include <stdlib.h>

#include "compiler/frontend/onnx_import.h"
#include "compiler/frontend/base/onnx_internal.h"
#include "tests/compiler/onnx_run.h"

/* y = a + b, of types with these shapes; warnings are compared. */
static OnnxModel *add_model(const char *a, const char *b) {
    OnnxModel *model = onnx_model_make(21);
    onnx_add_input(model->graph, "a", a);
    onnx_add_input(model->graph, "b", b);
    onnx_add_output(model->graph, "y", "float32");
    onnx_add_node(model->graph, "Add", "a,b", "y");
    return model;
}

static void check_warnings(OnnxModel *owned_model, const char *wanted) {
    OWN(IrModule, module) = NULL;
    assert_ok(onnx_model_import(owned_model, &module));
    assert_string_equal(text_builder_get(&module->warnings), wanted);
}

static void test_onnx_dimensions_without_a_name_bind_nothing(void **state) {
    (void)state;
    OnnxModel *model = add_model("float32[u,u]", "float32[u]");
    for (int i = 0; i < 2; i++) {
        Onnx__TensorShapeProto *shape = model->graph->input[i]->type->tensor_type->shape;
        for (size_t d = 0; d < shape->n_dim; d++) shape->dim[d]->dim_param[0] = '?';
    }
    onnx_model_expect(model, "float32[2,3] 1 2 3 4 5 6; float32[1] 1 -> float32[2,3] 2 3 4 5 6 7");
    model = add_model("float32[u,v]", "float32[u]");
    model->graph->input[1]->type->tensor_type->shape->dim[0]->dim_param[0] = 0;
    onnx_model_expect(model, "float32[2,3] 1 2 3 4 5 6; float32[1] 1 -> float32[2,3] 2 3 4 5 6 7");
}

/* y = Reshape(b, Shape(a)): nothing is left of it where both have the same shape. */
static OnnxModel *reshape_model(void) {
    OnnxModel *model = onnx_model_make(21);
    onnx_add_input(model->graph, "a", "float32[n]");
    onnx_add_input(model->graph, "b", "float32[n]");
    onnx_add_output(model->graph, "y", "float32");
    onnx_add_node(model->graph, "Shape", "a", "shape");
    onnx_add_node(model->graph, "Reshape", "b,shape", "y");
    return model;
}

/* Where the compiler has relied on a name that inputs share, their sizes are checked. */
static void test_onnx_dimensions_of_several_inputs_are_checked_where_they_are_used(void **state) {
    (void)state;
    check_warnings(reshape_model(), "");
    onnx_model_expect(reshape_model(), "float32[2] 1 2; float32[2] 3 4 -> float32[2] 3 4");
    onnx_model_expect_failure(reshape_model(), "float32[2] 1 2; float32[1] 1",
        "dimension 0 (n) is 1, but input a has 2 for it");
}

/* Else they may differ: what cannot take them says so. */
static void test_onnx_dimensions_of_several_inputs_may_differ_where_they_are_not_used(
    void **state) {
    (void)state;
    onnx_model_expect(add_model("float32[n,m]", "float32[n,m]"),
        "float32[2,1] 1 2; float32[1,1] 1 -> float32[2,1] 2 3");
    onnx_model_expect_failure(
        add_model("float32[n,m]", "float32[n,m]"), "float32[2,1] 1 2; float32[3,1] 1 2 3", "Add");
    bool shared = false, given = false;
    OWN(IrModule, module) = NULL;
    size_t size;
    uint8_t *bytes = onnx_model_pack(add_model("float32[n,m]", "float32[n,m]"), &size);
    assert_ok(onnx_import_names(bytes, size, NULL, ONNX_NAMES_APART, &given, &shared, &module));
    free(bytes);
    assert_true(shared);
    assert_string_equal(text_builder_get(&module->warnings),
        "inputs a and b: both have a dimension named n; nothing depends on it, so their sizes may "
        "differ\n"
        "inputs a and b: both have a dimension named m; nothing depends on it, so their sizes may "
        "differ\n");
}

/* A square, perhaps: nothing holds of the second. */
static void test_onnx_dimensions_named_twice_are_independent(void **state) {
    (void)state;
    check_warnings(add_model("float32[b,s,s]", "float32[s,1]"),
        "input a: s names 2 of its dimensions; they are taken to be independent of each other\n");
    onnx_model_expect(add_model("float32[b,s,s]", "float32[s,1]"),
        "float32[1,1,2] 1 2; float32[1,1] 1 -> float32[1,1,2] 2 3");
    onnx_model_expect(add_model("float32[b,s,s]", "float32[s,1]"),
        "float32[1,1,2] 1 2; float32[2,1] 1 1 -> float32[1,2,2] 2 3 2 3");
}

/* One name for whatever is not known, as some exporters write. */
static void test_onnx_dimensions_with_one_name_for_all_are_free(void **state) {
    (void)state;
    check_warnings(add_model("float32[x,3,x,x]", "float32[x]"),
        "input a: x names 3 of its dimensions; they are taken to be independent of each other\n");
    onnx_model_expect(add_model("float32[x,3,x,x]", "float32[x]"),
        "float32[1,3,1,2] 1 2 3 4 5 6; float32[2] 1 2 -> float32[1,3,1,2] 2 4 4 6 6 8");
    onnx_model_expect(add_model("float32[x,x]", "float32[x]"),
        "float32[1,2] 1 2; float32[2] 1 2 -> float32[1,2] 2 4");
}

int test_onnx_dimensions(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_onnx_dimensions_without_a_name_bind_nothing),
        cmocka_unit_test(test_onnx_dimensions_of_several_inputs_are_checked_where_they_are_used),
        cmocka_unit_test(test_onnx_dimensions_of_several_inputs_may_differ_where_they_are_not_used),
        cmocka_unit_test(test_onnx_dimensions_named_twice_are_independent),
        cmocka_unit_test(test_onnx_dimensions_with_one_name_for_all_are_free),
    };
    return cmocka_run_group_tests_name("onnx_dimensions", tests, NULL, NULL);
}
