#include "compiler/nnvm/graph_plan.h"

#include <string.h>

#include "base/allocator.h"
#include "tests/compiler/graph_run.h"
#include "tests/support/test_support.h"

static const char simple[] = "null 3@0; scale 0 -> 3@1";

static void test_graph_plan_numbers_the_results(void **state) {
    (void)state;
    TextBuilder OWN_TEXT(json) = {0};
    OWN(NnvmGraph, graph) = NULL;
    OWN(GraphPlan, plan) = NULL;
    graph_write("null 3,2@0; both 0 -> 3,2@1 s@2; scale 1:1 -> s@4", &json);
    assert_ok(nnvm_graph_read((const uint8_t *)text_builder_get(&json), json.size, &graph));
    assert_ok(graph_plan_read(graph, &plan));
    assert_int_equal(plan->result_count, 4);
    assert_int_equal(plan->argument_count, 1);
    assert_int_equal(plan->nodes[2].first_result, 3);
    assert_string_equal(plan->nodes[1].function, "both");
    assert_int_equal(plan->results[1].bytes, 24);
    assert_int_equal(plan->results[2].shape.rank, 0);
    assert_int_equal(plan->results[3].storage, 4);
    assert_int_equal(plan->results[2].node, 1);
}

static void test_graph_plan_refuses_wrong_orders(void **state) {
    (void)state;
    graph_refused(INVALID, "node 1: n1: input 0 is the node's own result: a cycle",
        "null 3@0; scale 1 -> 3@1");
    graph_refused(INVALID, "node 1: n1: input 0 is a result of node 2, which comes later",
        "null 3@0; scale 2 -> 3@1; scale 1 -> 3@2");
    graph_refused(INVALID, "node 1: n1 (scale): input 0 is result 7 of node 0 (n0), which has 1",
        "null 3@0; scale 0:7 -> 3@1");
    graph_refused(INVALID, "head 0: result 1 of node 1 (n1), which has 1",
        "null 3@0; scale 0 -> 3@1; heads 1:1");
    graph_changed(INVALID, "node 1: n1: control_deps has node 1, which does not come before",
        simple, "\"attrs\": {\"func", "\"control_deps\": [0, 1], \"attrs\": {\"func");
}

static void test_graph_plan_refuses_wrong_nodes(void **state) {
    (void)state;
    graph_changed(UNSUPPORTED, "op \"relu\"", simple, "\"tvm_op\"", "\"relu\"");
    graph_changed(
        INVALID, "node 1: n1: the attribute func_name is missing", simple, "func_name", "function");
    graph_changed(
        INVALID, "func_name \"list.size\" is no name", simple, "\"scale\"", "\"list.size\"");
    graph_changed(INVALID, "num_inputs is 2, but there are 1 inputs", simple,
        "\"num_inputs\": \"1\"", "\"num_inputs\": \"2\"");
    graph_changed(INVALID, "num_outputs is \"-1\"", simple, "\"num_outputs\": \"1\"",
        "\"num_outputs\": \"-1\"");
    graph_changed(INVALID, "flatten_data is \"2\", where 0 to 1 is wanted", simple,
        "\"flatten_data\": \"0\"", "\"flatten_data\": \"2\"");
    graph_changed(INVALID, "the attribute flatten_data is missing", simple, "flatten_data", "flat");
    graph_changed(UNSUPPORTED, "node 0: n0: the key \"extra\" is not known", simple,
        "\"name\": \"n0\"", "\"name\": \"n0\", \"extra\": 1");
    graph_refused(
        INVALID, "2 inputs and 1 results; __copy has one of each", "null 3@0; __copy 0 0 -> 3@1");
}

static void test_graph_plan_refuses_wrong_rows_and_arguments(void **state) {
    (void)state;
    graph_changed(INVALID, "node_row_ptr, item 1: 2, but the nodes before have 1 results", simple,
        "[0, 1, 2]", "[0, 2, 2]");
    graph_changed(
        INVALID, "node_row_ptr: 2 items for 3 (nodes and one)", simple, "[0, 1, 2]", "[0, 1]");
    graph_changed(INVALID, "node_row_ptr, item 0: a whole number is missing", simple, "[0, 1, 2]",
        "[0.5, 1, 2]");
    graph_changed(
        INVALID, "the list \"node_row_ptr\" is missing", simple, "node_row_ptr", "metadata");
    graph_changed(INVALID, "node 0: n0: a variable that arg_nodes does not have", simple,
        "\"arg_nodes\": [0]", "\"arg_nodes\": []");
    graph_changed(INVALID, "arg_nodes, item 0: node 1 (n1) is no variable", simple,
        "\"arg_nodes\": [0]", "\"arg_nodes\": [1]");
    graph_changed(INVALID, "arg_nodes, item 1: node 0 (n0) is there twice", simple,
        "\"arg_nodes\": [0]", "\"arg_nodes\": [0, 0]");
    graph_changed(INVALID, "arg_nodes, item 0: 9, where 0 to 1 is wanted", simple,
        "\"arg_nodes\": [0]", "\"arg_nodes\": [9]");
}

static void test_graph_plan_refuses_wrong_lists(void **state) {
    (void)state;
    graph_changed(INVALID, "attrs, shape: 1 items for 2 results", simple, "[[3], [3]]", "[[3]]");
    graph_changed(INVALID, "node 1: n1 (scale): result 0: dimension 0 is -3", simple, "[[3], [3]]",
        "[[3], [-3]]");
    graph_changed(INVALID, "result 0: dimension 0 is 9223372036854775807", simple, "[[3], [3]]",
        "[[3], [99999999999999999999999]]");
    graph_changed(
        INVALID, "dimension 0 is no whole number", simple, "[[3], [3]]", "[[3], [\"3\"]]");
    graph_changed(UNSUPPORTED, "a shape of 9 dimensions", simple, "[[3], [3]]",
        "[[3], [1, 1, 1, 1, 1, 1, 1, 1, 1]]");
    graph_changed(
        TOO_LARGE, "17179869188000000 bytes", simple, "[[3], [3]]", "[[3], [1000000, 4294967297]]");
    graph_changed(UNSUPPORTED, "dltype \"int4\"", simple, "\"float32\", \"float32\"",
        "\"float32\", \"int4\"");
    graph_changed(UNSUPPORTED, "dltype \"float32x4\"", simple, "\"float32\", \"float32\"",
        "\"float32\", \"float32x4\"");
    graph_changed(INVALID, "storage_id: -1, where 0 to", simple, "[0, 1]]", "[0, -1]]");
    graph_changed(INVALID, "storage_id: 4000000000, where", simple, "[0, 1]]", "[0, 4000000000]]");
    graph_changed(INVALID, "attrs, dltype: the kind \"list_int\"; list_str is wanted", simple,
        "list_str", "list_int");
    graph_changed(INVALID, "attrs, extra: no pair of a kind and a list", simple,
        "\"dltype\":", "\"extra\": [1], \"dltype\":");
    graph_changed(UNSUPPORTED, "attrs, extra: an attribute that is not known, of kind list_str",
        simple, "\"dltype\":", "\"extra\": [\"list_str\", []], \"dltype\":");
    graph_changed(INVALID, "attrs has no storage_id", simple, "storage_id", "storage");
    graph_changed(UNSUPPORTED, "result 0: device_index is 2; native functions run in host memory",
        simple, "\"dltype\":", "\"device_index\": [\"list_int\", [1, 2]], \"dltype\":");
    graph_changed(UNSUPPORTED, "the key \"more\" is not known", simple, "\"heads\"",
        "\"more\": 1, \"heads\"");
}

static void test_graph_plan_survives_deep_brackets(void **state) {
    (void)state;
    TextBuilder OWN_TEXT(json) = {0};
    Executable *executable = NULL;
    text_append(&json, "{\"nodes\": ");
    for (uint32_t i = 0; i < 100000; i++) text_append(&json, "[");
    assert_ok(text_builder_check(&json));
    assert_fails_saying(
        CORRUPT, "of the JSON: nesting too deep", graph_make(text_builder_get(&json), &executable));
}

int test_graph_plan(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_graph_plan_numbers_the_results),
        cmocka_unit_test(test_graph_plan_refuses_wrong_orders),
        cmocka_unit_test(test_graph_plan_refuses_wrong_nodes),
        cmocka_unit_test(test_graph_plan_refuses_wrong_rows_and_arguments),
        cmocka_unit_test(test_graph_plan_refuses_wrong_lists),
        cmocka_unit_test(test_graph_plan_survives_deep_brackets),
    };
    return cmocka_run_group_tests_name("graph_plan", tests, NULL, NULL);
}
