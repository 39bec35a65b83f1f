#include <stdio.h>

#include "tests/compiler/compiler_fixtures.h"
#include "tests/compiler/onnx_run.h"

static void test_list_lengths_gives_what_its_golden_files_say(void **state) {
    (void)state;
    golden_check("list_lengths");
}

/* Loop(n, , x): v' = OPERATOR(v, v), each v is scanned out, declared as `declared`. */
static OnnxModel *loop_model(const char *x, const char *op_type, const char *declared) {
    OnnxModel *model = onnx_model_make(21);
    onnx_add_input(model->graph, "n", "int64[]");
    onnx_add_input(model->graph, "x", x);
    onnx_add_output(model->graph, "last", "");
    onnx_add_output(model->graph, "all", "");
    for (int i = 0; i < 2; i++) model->graph->output[i]->type = NULL;
    OnnxGraph *body = onnx_graph_make();
    onnx_add_input(body, "i", "int64[]");
    onnx_add_input(body, "c", "bool[]");
    onnx_add_input(body, "v", x);
    OnnxNodeProto *step = onnx_add_node(body, op_type, "v,v", "next");
    if (strcmp(op_type, "Concat") == 0) onnx_set_int(step, "axis", 0);
    onnx_add_node(body, "Identity", "v", "row");
    onnx_add_output(body, "c", "bool[]");
    onnx_add_output(body, "next", x);
    onnx_add_output(body, "row", declared);
    onnx_set_graph(onnx_add_node(model->graph, "Loop", "n,,x", "last,all"), "body", body);
    return model;
}

/* What a loop without a turn scans out: its own shape, the declared one, the state's, else 0. */
static void test_list_lengths_of_loops_without_a_turn(void **state) {
    (void)state;
    static const struct {
        const char *x, *op_type, *declared, *signature;
    } rows[] = {
        {"float32[3]", "Add", "float32", "float32[3] 1 2 3 -> float32[3] 1 2 3; float32[0,3]"},
        {"float32[a]", "Add", "float32[3]", "float32[3] 1 2 3 -> float32[3] 1 2 3; float32[0,3]"},
        {"float32[a]", "Add", "float32", "float32[3] 1 2 3 -> float32[3] 1 2 3; float32[0,3]"},
        {"float32[a]", "Add", "float32[q]", "float32[2] 1 2 -> float32[2] 1 2; float32[0,2]"},
        {"float32[?,b]", "Add", "float32[?,?]",
            "float32[1,2] 1 2 -> float32[1,2] 1 2; float32[0,1,2]"},
        /* the state grows: nothing is known of the first round */
        {"float32[a]", "Concat", "float32", "float32[2] 1 2 -> float32[2] 1 2; float32[0,0]"},
        {"float32[a]", "Concat", "float32[5]", "float32[2] 1 2 -> float32[2] 1 2; float32[0,5]"},
        {"float32[a,b]", "Concat", "float32",
            "float32[1,2] 1 2 -> float32[1,2] 1 2; float32[0,0,2]"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char signature[200];
        (void)snprintf(signature, sizeof signature, "int64[] 0; %s", rows[i].signature);
        onnx_model_expect(loop_model(rows[i].x, rows[i].op_type, rows[i].declared), signature);
    }
    onnx_model_expect(loop_model("float32[a]", "Add", "float32"),
        "int64[] 2; float32[2] 1 2 -> float32[2] 4 8; float32[2,2] 1 2 2 4");
}

/* Scan(s, x): s' = s + e, scanned out as it is and turned, along the axis, forwards or back. */
static OnnxModel *scan_model(const char *axes, const char *directions) {
    OnnxModel *model = onnx_model_make(21);
    onnx_add_input(model->graph, "s", "float32[a,b]");
    onnx_add_input(model->graph, "x", "float32[n,a,b]");
    onnx_add_output(model->graph, "last", "float32");
    onnx_add_output(model->graph, "all", "float32");
    onnx_add_output(model->graph, "turned", "float32");
    OnnxGraph *body = onnx_graph_make();
    onnx_add_input(body, "v", "float32");
    onnx_add_input(body, "e", "float32");
    onnx_add_node(body, "Add", "v,e", "next");
    onnx_add_node(body, "Identity", "next", "row");
    onnx_add_node(body, "Transpose", "next", "column");
    onnx_add_output(body, "next", "float32");
    onnx_add_output(body, "row", "float32");
    onnx_add_output(body, "column", "float32");
    OnnxNodeProto *node = onnx_add_node(model->graph, "Scan", "s,x", "last,all,turned");
    onnx_set_int(node, "num_scan_inputs", 1);
    onnx_set_graph(node, "body", body);
    onnx_set_ints(node, "scan_output_axes", axes);
    onnx_set_ints(node, "scan_output_directions", directions);
    return model;
}

static void test_list_lengths_of_scans_without_a_turn(void **state) {
    (void)state;
    static const char input[] = "float32[1,2] 1 2; float32[0,1,2] -> float32[1,2] 1 2; ";
    static const struct {
        const char *axes, *directions, *results;
    } rows[] = {
        {"0 0", "0 0", "float32[0,1,2]; float32[0,2,1]"},
        {"1 -1", "1 0", "float32[1,0,2]; float32[2,1,0]"},
        {"2 1", "0 1", "float32[1,2,0]; float32[2,0,1]"},
        {"-3 -2", "1 1", "float32[0,1,2]; float32[2,0,1]"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char signature[200];
        (void)snprintf(signature, sizeof signature, "%s%s", input, rows[i].results);
        onnx_model_expect(scan_model(rows[i].axes, rows[i].directions), signature);
    }
}

/* The outer loop has turns, the inner one has none in the first. */
static void test_list_lengths_of_loops_in_loops(void **state) {
    (void)state;
    OnnxModel *model = onnx_model_make(21);
    onnx_add_input(model->graph, "n", "int64[]");
    onnx_add_input(model->graph, "x", "float32[a]");
    onnx_add_output(model->graph, "all", "float32");
    onnx_add_initializer(model->graph, "one", "int64[1] 1");
    OnnxGraph *inner = onnx_graph_make(), *outer = onnx_graph_make();
    onnx_add_input(inner, "k", "int64[]");
    onnx_add_input(inner, "d", "bool[]");
    onnx_add_node(inner, "Neg", "x", "minus");
    onnx_add_output(inner, "d", "bool[]");
    onnx_add_output(inner, "minus", "float32");
    onnx_add_input(outer, "i", "int64[]");
    onnx_add_input(outer, "c", "bool[]");
    onnx_add_input(outer, "v", "float32");
    onnx_set_graph(onnx_add_node(outer, "Loop", "i,", "rows"), "body", inner);
    onnx_set_int(onnx_add_node(outer, "Concat", "v,rows", "next"), "axis", 0);
    onnx_add_output(outer, "c", "bool[]");
    onnx_add_output(outer, "next", "float32");
    onnx_add_node(model->graph, "Reshape", "x,shape", "start");
    onnx_add_initializer(model->graph, "shape", "int64[2] 1 -1");
    onnx_set_graph(onnx_add_node(model->graph, "Loop", "n,,start", "all"), "body", outer);
    onnx_model_expect(model, "int64[] 3; float32[2] 1 2 -> float32[4,2] 1 2 -1 -2 -1 -2 -1 -2");
}

int test_list_lengths(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_list_lengths_gives_what_its_golden_files_say),
        cmocka_unit_test(test_list_lengths_of_loops_without_a_turn),
        cmocka_unit_test(test_list_lengths_of_scans_without_a_turn),
        cmocka_unit_test(test_list_lengths_of_loops_in_loops),
    };
    return cmocka_run_group_tests_name("list_lengths", tests, NULL, NULL);
}
