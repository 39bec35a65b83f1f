#include "tests/compiler/onnx_run.h"

/* If(c) of two branches, each one node on x. */
static OnnxModel *if_model(const char *condition_type, OnnxNodeProto **out_node) {
    OnnxModel *model = onnx_model_make(13);
    onnx_add_input(model->graph, "c", condition_type);
    onnx_add_input(model->graph, "x", "float32[2]");
    onnx_add_output(model->graph, "y", "float32");
    *out_node = onnx_add_node(model->graph, "If", "c", "y");
    static const char *const names[] = {"then_branch", "else_branch"};
    for (int i = 0; i < 2; i++) {
        OnnxGraph *branch = onnx_graph_make();
        onnx_add_node(branch, i ? "Abs" : "Neg", "x", "z");
        onnx_add_output(branch, "z", "float32");
        onnx_set_graph(*out_node, names[i], branch);
    }
    return model;
}

static void test_onnx_control_if_runs_one_branch(void **state) {
    (void)state;
    OnnxNodeProto *node;
    onnx_model_expect(if_model("bool[]", &node), "bool[] 1; float32[2] -1 2 -> float32[2] 1 -2");
    onnx_model_expect(if_model("bool[]", &node), "bool[] 0; float32[2] -1 2 -> float32[2] 1 2");
    onnx_model_expect(if_model("bool[1]", &node), "bool[1] 1; float32[2] -1 2 -> float32[2] 1 -2");
}

static void test_onnx_control_if_needs_a_condition_and_both_branches(void **state) {
    (void)state;
    OnnxNodeProto *node;
    OnnxModel *model = if_model("bool[]", &node);
    node->input[0][0] = 0;
    onnx_model_refused(INVALID, "node y (If): the condition is missing", model);
    model = if_model("bool[]", &node);
    node->attribute[1]->name[0] = 'E';
    onnx_model_refused(INVALID, "else_branch (a graph) is missing", model);
}

static void test_onnx_control_if_needs_branches_of_the_nodes_outputs(void **state) {
    (void)state;
    OnnxNodeProto *node;
    OnnxModel *model = if_model("bool[]", &node);
    onnx_add_output(node->attribute[1]->g, "z", "float32");
    onnx_model_refused(INVALID, "else_branch: a branch with 2 outputs, the node has 1", model);
    model = if_model("bool[]", &node);
    onnx_add_input(node->attribute[0]->g, "a", "float32");
    onnx_model_refused(INVALID, "then_branch: a branch with inputs", model);
}

static void test_onnx_control_if_nests_only_so_deep(void **state) {
    (void)state;
    for (int depth = 20; depth <= 100; depth += 80) {
        OnnxNodeProto *node;
        OnnxModel *model = if_model("bool[]", &node);
        for (int i = 0; i < depth; i++) {
            OnnxGraph *outer = node->attribute[0]->g;
            outer->node[0]->output[0][0] = 'v';
            node = onnx_add_node(outer, "If", "c", "z");
            static const char *const names[] = {"then_branch", "else_branch"};
            for (int k = 0; k < 2; k++) {
                OnnxGraph *branch = onnx_graph_make();
                onnx_add_node(branch, k ? "Abs" : "Neg", "x", "z");
                onnx_add_output(branch, "z", "float32");
                onnx_set_graph(node, names[k], branch);
            }
        }
        if (depth < 64)
            onnx_model_expect(model, "bool[] 1; float32[2] -1 2 -> float32[2] 1 -2");
        else
            onnx_model_refused(CORRUPT, "nested deeper", model);
    }
}

/* Loop(count, condition, x): each round sum' = sum + x; the condition goes on while sum' < limit;
 * every sum is a scan output. */
static OnnxModel *loop_model(const char *inputs, OnnxNodeProto **out_node) {
    OnnxModel *model = onnx_model_make(13);
    onnx_add_input(model->graph, "x", "float32[]");
    onnx_add_initializer(model->graph, "five", "int64[] 5");
    onnx_add_initializer(model->graph, "none", "int64[] 0");
    onnx_add_initializer(model->graph, "yes", "bool[] 1");
    onnx_add_initializer(model->graph, "yes_in_a_list", "bool[1] 1");
    onnx_add_initializer(model->graph, "no", "bool[] 0");
    onnx_add_initializer(model->graph, "limit", "float32[] 6");
    onnx_add_initializer(model->graph, "zero", "float32[] 0");
    onnx_add_output(model->graph, "total", "float32[]");
    onnx_add_output(model->graph, "sums", "float32[n]");
    OnnxGraph *body = onnx_graph_make();
    onnx_add_input(body, "i", "int64[]");
    onnx_add_input(body, "c", "bool[]");
    onnx_add_input(body, "sum", "float32[]");
    onnx_add_node(body, "Add", "sum,x", "next");
    onnx_add_node(body, "Less", "next,limit", "again");
    onnx_add_node(body, "Identity", "next", "kept");
    onnx_add_output(body, "again", "bool[]");
    onnx_add_output(body, "next", "float32[]");
    onnx_add_output(body, "kept", "float32[]");
    *out_node = onnx_add_node(model->graph, "Loop", inputs, "total,sums");
    onnx_set_graph(*out_node, "body", body);
    return model;
}

static void test_onnx_control_loop_by_count_and_by_condition(void **state) {
    (void)state;
    static const struct {
        const char *inputs, *signature;
    } rows[] = {
        {"five,,zero", "float32[] 2 -> float32[] 10; float32[5] 2 4 6 8 10"},
        {",yes,zero", "float32[] 2 -> float32[] 6; float32[3] 2 4 6"},
        {"five,yes,zero", "float32[] 2 -> float32[] 6; float32[3] 2 4 6"},
        {"five,yes,zero", "float32[] 1 -> float32[] 5; float32[5] 1 2 3 4 5"},
        {"none,,zero", "float32[] 2 -> float32[] 0; float32[0]"},
        {"none,yes,zero", "float32[] 2 -> float32[] 0; float32[0]"},
        {"five,no,zero", "float32[] 2 -> float32[] 0; float32[0]"},
        {",no,zero", "float32[] 2 -> float32[] 0; float32[0]"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        OnnxNodeProto *node;
        onnx_model_expect(loop_model(rows[i].inputs, &node), rows[i].signature);
    }
}

/* The body's first inputs: the round, from 0, and a condition that is true. */
static void test_onnx_control_loop_gives_the_body_its_round_and_condition(void **state) {
    (void)state;
    OnnxModel *model = onnx_model_make(13);
    onnx_add_input(model->graph, "count", "int64[]");
    onnx_add_output(model->graph, "rounds", "int64[n]");
    onnx_add_output(model->graph, "conditions", "bool[n]");
    OnnxGraph *body = onnx_graph_make();
    onnx_add_input(body, "i", "int64[]");
    onnx_add_input(body, "c", "bool[]");
    onnx_add_node(body, "Identity", "c", "again");
    onnx_add_node(body, "Identity", "i", "round");
    onnx_add_output(body, "again", "bool[]");
    onnx_add_output(body, "round", "int64[]");
    onnx_add_output(body, "c", "bool[]");
    OnnxNodeProto *node = onnx_add_node(model->graph, "Loop", "count", "rounds,conditions");
    onnx_set_graph(node, "body", body);
    onnx_model_expect(model, "int64[] 3 -> int64[3] 0 1 2; bool[3] 1 1 1");
}

static void test_onnx_control_loop_refuses_a_condition_that_is_no_scalar(void **state) {
    (void)state;
    OnnxNodeProto *node;
    onnx_model_refused(INVALID,
        "node total (Loop): the loop's condition must be a scalar, it has rank 1",
        loop_model("five,yes_in_a_list,zero", &node));
    OnnxModel *model = loop_model("five,yes,zero", &node);
    OnnxGraph *body = node->attribute[0]->g;
    onnx_add_input(model->graph, "unused", "float32");
    onnx_add_output(body, "again", "bool[1]");
    Onnx__ValueInfoProto *declared = body->output[3];
    body->output[3] = body->output[0];
    body->output[0] = declared;
    onnx_model_refused(
        INVALID, "the loop's condition again must be a scalar, it has rank 1", model);
}

static void test_onnx_control_loop_refuses_wrong_counts(void **state) {
    (void)state;
    OnnxNodeProto *node;
    onnx_model_refused(
        INVALID, "the body has 3 inputs; 2 are wanted", loop_model("five,yes", &node));
    onnx_model_refused(
        INVALID, "the body has 3 inputs; 4 are wanted", loop_model("five,yes,zero,zero", &node));
    OnnxModel *model = loop_model("five,yes,zero", &node);
    onnx_add_input(node->attribute[0]->g, "more", "float32");
    onnx_model_refused(INVALID, "the body has 4 inputs; 3 are wanted", model);
    model = loop_model("five,yes,zero,,zero", &node);
    onnx_add_input(node->attribute[0]->g, "more", "float32");
    onnx_add_input(node->attribute[0]->g, "and_more", "float32");
    onnx_add_output(node->attribute[0]->g, "more", "float32");
    onnx_add_output(node->attribute[0]->g, "and_more", "float32");
    onnx_model_refused(INVALID, "input 3 is missing", model);
    model = loop_model("five,yes,zero", &node);
    OnnxGraph *body = node->attribute[0]->g;
    while (body->n_output > 1)
        onnx__value_info_proto__free_unpacked(body->output[--body->n_output], NULL);
    onnx_model_refused(INVALID, "the body has 1 outputs; at least 2 are wanted", model);
    model = loop_model("five,yes,zero", &node);
    node->attribute[0]->name[0] = 'B';
    onnx_model_refused(INVALID, "attribute body (a graph) is missing", model);
}

/* A loop of loops, whose inner body uses values of both levels around it. */
static void test_onnx_control_loops_nest(void **state) {
    (void)state;
    OnnxModel *model = onnx_model_make(13);
    onnx_add_input(model->graph, "count", "int64[]");
    onnx_add_initializer(model->graph, "start", "int64[] 100");
    onnx_add_output(model->graph, "total", "int64[]");
    OnnxGraph *inner = onnx_graph_make(), *outer = onnx_graph_make();
    onnx_add_input(inner, "k", "int64[]");
    onnx_add_input(inner, "inner_condition", "bool[]");
    onnx_add_input(inner, "b", "int64[]");
    onnx_add_node(inner, "Add", "b,i", "b_next");
    onnx_add_node(inner, "Add", "b_next,count", "b_last");
    onnx_add_output(inner, "inner_condition", "bool[]");
    onnx_add_output(inner, "b_last", "int64[]");
    onnx_add_input(outer, "i", "int64[]");
    onnx_add_input(outer, "outer_condition", "bool[]");
    onnx_add_input(outer, "a", "int64[]");
    onnx_set_graph(onnx_add_node(outer, "Loop", "i,,a", "a_next"), "body", inner);
    onnx_add_output(outer, "outer_condition", "bool[]");
    onnx_add_output(outer, "a_next", "int64[]");
    onnx_set_graph(onnx_add_node(model->graph, "Loop", "count,,start", "total"), "body", outer);
    /* rounds i of 0, 1, 2: i times + i + 3 */
    onnx_model_expect(model, "int64[] 3 -> int64[] 114");
}

int test_onnx_control(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_onnx_control_if_runs_one_branch),
        cmocka_unit_test(test_onnx_control_if_needs_a_condition_and_both_branches),
        cmocka_unit_test(test_onnx_control_if_needs_branches_of_the_nodes_outputs),
        cmocka_unit_test(test_onnx_control_if_nests_only_so_deep),
        cmocka_unit_test(test_onnx_control_loop_by_count_and_by_condition),
        cmocka_unit_test(test_onnx_control_loop_gives_the_body_its_round_and_condition),
        cmocka_unit_test(test_onnx_control_loop_refuses_a_condition_that_is_no_scalar),
        cmocka_unit_test(test_onnx_control_loop_refuses_wrong_counts),
        cmocka_unit_test(test_onnx_control_loops_nest),
    };
    return cmocka_run_group_tests_name("onnx_control", tests, NULL, NULL);
}
