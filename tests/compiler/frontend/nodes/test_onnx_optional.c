#include "tests/compiler/onnx_run.h"

static OnnxModel *one_input(const char *op_type, const char *type, const char *out_type) {
    OnnxModel *model = onnx_model_make(18);
    onnx_add_input(model->graph, "x", type);
    onnx_add_output(model->graph, "y", out_type);
    onnx_add_node(model->graph, op_type, "x", "y");
    return model;
}

static void test_onnx_optional_goes_in_and_out(void **state) {
    (void)state;
    static const char type[] = "optional float32[n]";
    onnx_model_expect(one_input("Identity", type, type), "none -> none");
    onnx_model_expect(one_input("Identity", type, type), "float32[2] 1 2 -> float32[2] 1 2");
    static const char list[] = "optional list float32";
    onnx_model_expect(one_input("Identity", list, list), "list -> list");
    onnx_model_expect(one_input("Identity", list, list),
        "list float32[1] 1 | float32[2] 2 3 -> list float32[1] 1 | float32[2] 2 3");
    onnx_model_expect_failure(
        one_input("Identity", type, type), "int8[1] 1", "input x is int8, not float32");
    onnx_model_expect_failure(
        one_input("Identity", type, type), "list", "input x is a list, not a tensor");
    onnx_model_expect_failure(
        one_input("Identity", list, list), "float32[1] 1", "input x is a tensor, not a list");
}

static void test_onnx_optional_says_whether_it_has_an_element(void **state) {
    (void)state;
    static const char *const types[] = {"optional float32", "float32", "list float32"};
    static const char *const values[] = {"float32[1] 1", "float32[1] 1", "list"};
    for (size_t i = 0; i < 3; i++) {
        TextBuilder OWN_TEXT(signature) = {0};
        text_appendf(&signature, "%s -> bool[] 1", values[i]);
        onnx_model_expect(
            one_input("OptionalHasElement", types[i], "bool[]"), text_builder_get(&signature));
    }
    onnx_model_expect(
        one_input("OptionalHasElement", "optional float32", "bool[]"), "none -> bool[] 0");
    OnnxModel *model = onnx_model_make(18);
    onnx_add_output(model->graph, "y", "bool[]");
    onnx_add_node(model->graph, "OptionalHasElement", "", "y");
    onnx_model_expect(model, "-> bool[] 0");
}

static void test_onnx_optional_gives_its_element_or_fails(void **state) {
    (void)state;
    static const char *const types[] = {"optional float32", "float32"};
    for (size_t i = 0; i < 2; i++)
        onnx_model_expect(one_input("OptionalGetElement", types[i], "float32"),
            "float32[2] 3 4 -> float32[2] 3 4");
    onnx_model_expect(one_input("OptionalGetElement", "optional list int8", "list int8"),
        "list int8[1] 7 -> list int8[1] 7");
    onnx_model_expect_failure(one_input("OptionalGetElement", "optional float32", "float32"),
        "none", "the optional is empty");
    OnnxModel *model = onnx_model_make(18);
    onnx_add_output(model->graph, "y", "float32");
    onnx_add_node(model->graph, "OptionalGetElement", "", "y");
    onnx_model_refused(INVALID, "input 0 is missing", model);
    model = onnx_model_make(18);
    onnx_add_output(model->graph, "y", "float32");
    onnx_add_node(model->graph, "Identity", "", "y");
    onnx_model_refused(INVALID, "input 0 is missing", model);
}

/* If(c) { Optional(x) } else { Optional() } */
static void test_onnx_optional_comes_out_of_branches(void **state) {
    (void)state;
    for (int i = 0; i < 2; i++) {
        OnnxModel *model = onnx_model_make(18);
        onnx_add_input(model->graph, "c", "bool[]");
        onnx_add_input(model->graph, "x", "float32[2]");
        onnx_add_output(model->graph, "y", "optional float32[2]");
        OnnxGraph *with = onnx_graph_make(), *without = onnx_graph_make();
        onnx_add_node(with, "Optional", "x", "some");
        onnx_add_output(with, "some", "");
        onnx_add_node(without, "Optional", "", "no");
        onnx_add_output(without, "no", "");
        OnnxNodeProto *node = onnx_add_node(model->graph, "If", "c", "y");
        onnx_set_graph(node, "then_branch", with);
        onnx_set_graph(node, "else_branch", without);
        onnx_model_expect(model,
            i ? "bool[] 1; float32[2] 1 2 -> float32[2] 1 2" : "bool[] 0; float32[2] 1 2 -> none");
    }
}

/* A loop begins without a list and appends to it as soon as there is one. */
static void test_onnx_optional_is_filled_by_a_loop(void **state) {
    (void)state;
    for (int i = 0; i < 2; i++) {
        OnnxModel *model = onnx_model_make(16);
        onnx_add_input(model->graph, "n", "int64[]");
        onnx_add_input(model->graph, "start", "optional list int64");
        onnx_add_output(model->graph, "all", "list int64");
        OnnxGraph *body = onnx_graph_make(), *with = onnx_graph_make(),
                  *without = onnx_graph_make();
        onnx_add_input(body, "i", "int64[]");
        onnx_add_input(body, "go", "bool[]");
        onnx_add_input(body, "before", "optional list int64");
        onnx_add_node(body, "Identity", "go", "again");
        onnx_add_node(body, "OptionalHasElement", "before", "has");
        onnx_add_node(with, "OptionalGetElement", "before", "list");
        onnx_add_output(with, "list", "");
        onnx_add_node(without, "SequenceConstruct", "i", "first");
        onnx_add_output(without, "first", "");
        OnnxNodeProto *choice = onnx_add_node(body, "If", "has", "base");
        onnx_set_graph(choice, "then_branch", with);
        onnx_set_graph(choice, "else_branch", without);
        onnx_add_node(body, "SequenceInsert", "base,i", "longer");
        onnx_add_output(body, "again", "bool[]");
        onnx_add_output(body, "longer", "");
        OnnxNodeProto *loop = onnx_add_node(model->graph, "Loop", "n,,start", "all");
        onnx_set_graph(loop, "body", body);
        onnx_model_expect(model, i ? "int64[] 2; none -> list int64[] 0 | int64[] 0 | int64[] 1"
                                   : "int64[] 1; list int64[] 9 -> list int64[] 9 | int64[] 0");
    }
}

int test_onnx_optional(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_onnx_optional_goes_in_and_out),
        cmocka_unit_test(test_onnx_optional_says_whether_it_has_an_element),
        cmocka_unit_test(test_onnx_optional_gives_its_element_or_fails),
        cmocka_unit_test(test_onnx_optional_comes_out_of_branches),
        cmocka_unit_test(test_onnx_optional_is_filled_by_a_loop),
    };
    return cmocka_run_group_tests_name("onnx_optional", tests, NULL, NULL);
}
