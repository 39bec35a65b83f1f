#include "tests/compiler/onnx_run.h"

static OnnxModel *model_of(const char *output) {
    OnnxModel *model = onnx_model_make(13);
    onnx_add_input(model->graph, "x", "float32[2]");
    onnx_add_output(model->graph, output, "float32");
    return model;
}

static void test_onnx_scope_refuses_a_value_made_twice(void **state) {
    (void)state;
    OnnxModel *model = model_of("y");
    onnx_add_node(model->graph, "Neg", "x", "y");
    onnx_add_node(model->graph, "Abs", "x", "y");
    onnx_model_refused(INVALID, "the value y is made twice", model);
    model = model_of("y");
    onnx_add_node(model->graph, "Neg", "x", "x");
    onnx_model_refused(INVALID, "the value x is made twice", model);
    model = model_of("y");
    onnx_add_input(model->graph, "x", "float32[2]");
    onnx_model_refused(INVALID, "the value x is made twice", model);
    model = model_of("a");
    onnx_add_node(model->graph, "Split", "x", "a,a");
    onnx_model_refused(INVALID, "the value a is made twice", model);
}

static void test_onnx_scope_takes_the_last_initializer_of_a_name(void **state) {
    (void)state;
    OnnxModel *model = model_of("y");
    onnx_add_initializer(model->graph, "w", "float32[1] 1");
    onnx_add_initializer(model->graph, "w", "float32[1] 2");
    onnx_add_node(model->graph, "Add", "x,w", "y");
    onnx_model_expect(model, "float32[2] 3 4 -> float32[2] 5 6");
}

static void test_onnx_scope_refuses_a_value_that_is_missing(void **state) {
    (void)state;
    OnnxModel *model = model_of("y");
    onnx_add_node(model->graph, "Neg", "gone", "y");
    onnx_model_refused(INVALID, "node y (Neg): there is no value gone", model);
    onnx_model_refused(INVALID, "output y: there is no value y", model_of("y"));
}

static OnnxModel *branches(OnnxGraph *then_branch, OnnxGraph *else_branch) {
    OnnxModel *model = model_of("y");
    onnx_add_input(model->graph, "c", "bool[]");
    onnx_add_node(model->graph, "Abs", "x", "positive");
    OnnxNodeProto *node = onnx_add_node(model->graph, "If", "c", "y");
    onnx_set_graph(node, "then_branch", then_branch);
    onnx_set_graph(node, "else_branch", else_branch);
    return model;
}

/* Graphs see what is around them, and may give the same name to a value of theirs. */
static void test_onnx_scope_of_a_branch_shadows_the_outer_one(void **state) {
    (void)state;
    for (int yes = 0; yes < 2; yes++) {
        OnnxGraph *then_branch = onnx_graph_make(), *else_branch = onnx_graph_make();
        onnx_add_initializer(then_branch, "x", "float32[2] 100 200");
        onnx_add_node(then_branch, "Add", "x,positive", "sum");
        onnx_add_output(then_branch, "sum", "float32");
        onnx_add_node(else_branch, "Neg", "positive", "sum");
        onnx_add_output(else_branch, "sum", "float32");
        onnx_model_expect(branches(then_branch, else_branch),
            yes ? "float32[2] -1 2; bool[] 1 -> float32[2] 101 202"
                : "float32[2] -1 2; bool[] 0 -> float32[2] -1 -2");
    }
}

/* What a branch makes is not seen behind it, nor by the other one. */
static void test_onnx_scope_of_a_branch_ends_with_it(void **state) {
    (void)state;
    OnnxGraph *then_branch = onnx_graph_make(), *else_branch = onnx_graph_make();
    onnx_add_node(then_branch, "Neg", "x", "inner");
    onnx_add_output(then_branch, "inner", "float32");
    onnx_add_node(else_branch, "Neg", "inner", "other");
    onnx_add_output(else_branch, "other", "float32");
    onnx_model_refused(INVALID, "there is no value inner", branches(then_branch, else_branch));
}

/* Only its inputs reach a local function. */
static void test_onnx_scope_of_a_function_sees_only_its_inputs(void **state) {
    (void)state;
    OnnxModel *model = model_of("y");
    OnnxFunction *function = onnx_add_function(model, "own", "F", "a", "b");
    onnx_function_add_node(function, "Add", "a,x", "b");
    onnx_node_set_domain(onnx_add_node(model->graph, "F", "x", "y"), "own");
    onnx_model_refused(INVALID, "node y (F): node b (Add): there is no value x", model);
}

int test_onnx_scope(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_onnx_scope_refuses_a_value_made_twice),
        cmocka_unit_test(test_onnx_scope_takes_the_last_initializer_of_a_name),
        cmocka_unit_test(test_onnx_scope_refuses_a_value_that_is_missing),
        cmocka_unit_test(test_onnx_scope_of_a_branch_shadows_the_outer_one),
        cmocka_unit_test(test_onnx_scope_of_a_branch_ends_with_it),
        cmocka_unit_test(test_onnx_scope_of_a_function_sees_only_its_inputs),
    };
    return cmocka_run_group_tests_name("onnx_scope", tests, NULL, NULL);
}
