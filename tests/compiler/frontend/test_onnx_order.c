#include <stdio.h>

#include "tests/compiler/onnx_run.h"

static OnnxModel *model_of(const char *result) {
    OnnxModel *model = onnx_model_make(21);
    onnx_add_input(model->graph, "x", "float32[2]");
    onnx_add_output(model->graph, result, "float32");
    return model;
}

static const char doubled[] = "float32[2] 1 2 -> float32[2] -2 -4";

static void test_onnx_order_sorts_nodes(void **state) {
    (void)state;
    OnnxModel *model = model_of("d");
    onnx_add_node(model->graph, "Neg", "c", "d");
    onnx_add_node(model->graph, "Add", "a,b", "c");
    onnx_add_node(model->graph, "Abs", "a", "b");
    onnx_add_node(model->graph, "Abs", "x", "a");
    onnx_model_expect(model, doubled);
}

/* What a branch takes from around it counts, however deep it stands; what the branch makes itself
 * does not, though a later node outside has the same name. */
static void test_onnx_order_counts_what_graphs_use(void **state) {
    (void)state;
    OnnxModel *model = model_of("y");
    onnx_add_input(model->graph, "yes", "bool[]");
    OnnxNodeProto *node = onnx_add_node(model->graph, "If", "yes", "y");
    for (int i = 0; i < 2; i++) {
        OnnxGraph *branch = onnx_graph_make(), *inner[2];
        OnnxNodeProto *deep = onnx_add_node(branch, "If", "yes", "z");
        for (int k = 0; k < 2; k++) {
            inner[k] = onnx_graph_make();
            onnx_add_node(inner[k], "Add", "later,own", "s");
            onnx_add_node(inner[k], "Neg", "x", "own");
            onnx_add_output(inner[k], "s", "float32");
            onnx_set_graph(deep, k ? "else_branch" : "then_branch", inner[k]);
        }
        onnx_add_output(branch, "z", "float32");
        onnx_set_graph(node, i ? "else_branch" : "then_branch", branch);
    }
    onnx_add_node(model->graph, "Add", "minus,minus", "twice");
    onnx_add_node(model->graph, "Add", "twice,x", "later");
    onnx_add_node(model->graph, "Neg", "x", "minus");
    onnx_add_node(model->graph, "Exp", "y", "own");
    onnx_model_expect(model, "float32[2] 1 2; bool[] 1 -> float32[2] -2 -4");
}

/* A branch gives a value from around it as it is. */
static void test_onnx_order_counts_outputs_of_graphs(void **state) {
    (void)state;
    OnnxModel *model = model_of("y");
    onnx_add_input(model->graph, "yes", "bool[]");
    OnnxNodeProto *node = onnx_add_node(model->graph, "If", "yes", "y");
    for (int i = 0; i < 2; i++) {
        OnnxGraph *branch = onnx_graph_make();
        onnx_add_output(branch, i ? "x" : "later", "float32");
        onnx_set_graph(node, i ? "else_branch" : "then_branch", branch);
    }
    onnx_add_node(model->graph, "Neg", "x", "later");
    onnx_model_expect(model, "float32[2] 1 2; bool[] 1 -> float32[2] -1 -2");
}

static void test_onnx_order_sorts_bodies_of_loops_and_functions(void **state) {
    (void)state;
    OnnxModel *model = model_of("y");
    OnnxFunction *function = onnx_add_function(model, "own", "F", "a", "c");
    onnx_function_add_node(function, "Neg", "b", "c");
    onnx_function_add_node(function, "Add", "a,a", "b");
    onnx_add_initializer(model->graph, "two", "int64[] 2");
    OnnxGraph *body = onnx_graph_make();
    onnx_add_input(body, "i", "int64[]");
    onnx_add_input(body, "go", "bool[]");
    onnx_add_input(body, "v", "float32");
    onnx_add_node(body, "Add", "half,w", "next");
    onnx_add_node(body, "Neg", "w", "half");
    onnx_node_set_domain(onnx_add_node(body, "F", "v", "w"), "own");
    onnx_add_output(body, "go", "bool[]");
    onnx_add_output(body, "next", "float32");
    OnnxNodeProto *node = onnx_add_node(model->graph, "Loop", "two,,start", "last");
    onnx_set_graph(node, "body", body);
    onnx_add_node(model->graph, "Sub", "last,x", "y");
    onnx_add_node(model->graph, "Identity", "x", "start");
    onnx_model_expect(model, "float32[2] 1 2 -> float32[2] -1 -2");
}

static void test_onnx_order_names_cycles(void **state) {
    (void)state;
    OnnxModel *model = model_of("y");
    onnx_node_set_name(onnx_add_node(model->graph, "Neg", "x", "a"), "before");
    onnx_node_set_name(onnx_add_node(model->graph, "Add", "a,d", "b"), "one");
    onnx_node_set_name(onnx_add_node(model->graph, "Abs", "b", "c"), "two");
    onnx_add_node(model->graph, "Neg", "c", "d");
    onnx_add_node(model->graph, "Exp", "d", "y");
    onnx_model_refused(INVALID,
        "nodes in a cycle, each needs an output of the next and the last of the first: one (Add), "
        "d (Neg), two (Abs)",
        model);
    model = model_of("y");
    onnx_add_node(model->graph, "Add", "x,y", "y");
    onnx_model_refused(INVALID, "node y (Add) needs its own output", model);
    model = model_of("y");
    onnx_add_node(model->graph, "Add", "x,v0", "y");
    for (int i = 0; i < 20; i++) {
        char from[8], to[8];
        (void)snprintf(from, sizeof from, "v%d", (i + 1) % 20);
        (void)snprintf(to, sizeof to, "v%d", i);
        onnx_add_node(model->graph, "Neg", from, to);
    }
    onnx_model_refused(INVALID, "v7 (Neg) and 12 more", model);
}

/* A cycle through a branch: it takes what only the If's own result leads to. */
static void test_onnx_order_names_cycles_through_graphs(void **state) {
    (void)state;
    OnnxModel *model = model_of("y");
    onnx_add_input(model->graph, "yes", "bool[]");
    OnnxNodeProto *node = onnx_add_node(model->graph, "If", "yes", "y");
    for (int i = 0; i < 2; i++) {
        OnnxGraph *branch = onnx_graph_make();
        onnx_add_node(branch, "Neg", "after", "z");
        onnx_add_output(branch, "z", "float32");
        onnx_set_graph(node, i ? "else_branch" : "then_branch", branch);
    }
    onnx_add_node(model->graph, "Exp", "y", "after");
    onnx_model_refused(INVALID, "the first: y (If), after (Exp)", model);
}

/* Backwards, and deeper than any stack. */
static void test_onnx_order_takes_long_chains(void **state) {
    (void)state;
    enum { COUNT = 50000 };
    OnnxModel *model = model_of("v0");
    for (int i = 0; i < COUNT; i++) {
        char from[16], to[16];
        (void)snprintf(from, sizeof from, "v%d", i + 1);
        (void)snprintf(to, sizeof to, "v%d", i);
        onnx_add_node(model->graph, "Neg", i + 1 < COUNT ? from : "x", to);
    }
    OWN(IrModule, module) = NULL;
    assert_ok(onnx_model_import(model, &module));
    const IrBinding *first = ir_module_find_function(module, "main")->body->first;
    assert_string_equal(first->results[0]->name, "v49999");
}

int test_onnx_order(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_onnx_order_sorts_nodes),
        cmocka_unit_test(test_onnx_order_counts_what_graphs_use),
        cmocka_unit_test(test_onnx_order_counts_outputs_of_graphs),
        cmocka_unit_test(test_onnx_order_sorts_bodies_of_loops_and_functions),
        cmocka_unit_test(test_onnx_order_names_cycles),
        cmocka_unit_test(test_onnx_order_names_cycles_through_graphs),
        cmocka_unit_test(test_onnx_order_takes_long_chains),
    };
    return cmocka_run_group_tests_name("onnx_order", tests, NULL, NULL);
}
