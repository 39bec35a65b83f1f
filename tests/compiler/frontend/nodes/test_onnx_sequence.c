#include "tests/compiler/onnx_run.h"

/* op(s, …) of a sequence and perhaps a position and a value. */
static OnnxModel *list_model(const char *op_type, const char *inputs, const char *out_type) {
    OnnxModel *model = onnx_model_make(17);
    onnx_add_input(model->graph, "s", "list int64");
    onnx_add_input(model->graph, "at", "int64");
    onnx_add_output(model->graph, "y", out_type);
    onnx_add_node(model->graph, op_type, inputs, "y");
    return model;
}

static const char list_type[] = "list int64";

static void test_onnx_sequence_at_counts_from_both_ends(void **state) {
    (void)state;
    static const char *const rows[] = {
        "0 -> int64[1] 1", "2 -> int64[1] 3", "-1 -> int64[1] 3", "-3 -> int64[1] 1"};
    static const char s[] = "list int64[1] 1 | int64[1] 2 | int64[1] 3; int64[] ";
    for (size_t i = 0; i < 4; i++) {
        TextBuilder OWN_TEXT(signature) = {0};
        text_appendf(&signature, "%s%s", s, rows[i]);
        onnx_model_expect(list_model("SequenceAt", "s,at", "int64"), text_builder_get(&signature));
    }
    onnx_model_expect_failure(list_model("SequenceAt", "s,at", "int64"),
        "list int64[1] 1; int64[] 1", "position 1 of a sequence of 1");
    onnx_model_expect_failure(list_model("SequenceAt", "s,at", "int64"),
        "list int64[1] 1; int64[] -2", "position -2 of a sequence of 1");
    onnx_model_expect_failure(list_model("SequenceAt", "s,at", "int64"),
        "list; int64[] -9223372036854775808", "of a sequence of 0");
    onnx_model_refused(INVALID, "input 1 is missing", list_model("SequenceAt", "s", "int64"));
}

static void test_onnx_sequence_insert_puts_before_or_behind(void **state) {
    (void)state;
    static const char *const with[] = {
        "list int64[] 7 | int64[] 8; int64[] 0 -> list int64[] 0 | int64[] 7 | int64[] 8",
        "list int64[] 7 | int64[] 8; int64[] 2 -> list int64[] 7 | int64[] 8 | int64[] 2",
        "list int64[] 7 | int64[] 8; int64[] -1 -> list int64[] 7 | int64[] -1 | int64[] 8"};
    for (size_t i = 0; i < 3; i++)
        onnx_model_expect(list_model("SequenceInsert", "s,at,at", list_type), with[i]);
    onnx_model_expect(
        list_model("SequenceInsert", "s,at", list_type), "list; int64[] 5 -> list int64[] 5");
    onnx_model_expect_failure(list_model("SequenceInsert", "s,at,at", list_type), "list; int64[] 1",
        "position 1 of a sequence of 0");
    onnx_model_refused(INVALID, "input 1 is missing", list_model("SequenceInsert", "s", list_type));
}

static void test_onnx_sequence_erase_and_length(void **state) {
    (void)state;
    static const char s[] = "list int64[] 1 | int64[] 2; int64[] ";
    TextBuilder OWN_TEXT(first) = {0};
    text_appendf(&first, "%s0 -> list int64[] 2", s);
    onnx_model_expect(list_model("SequenceErase", "s,at", list_type), text_builder_get(&first));
    TextBuilder OWN_TEXT(last) = {0};
    text_appendf(&last, "%s0 -> list int64[] 1", s);
    onnx_model_expect(list_model("SequenceErase", "s", list_type), text_builder_get(&last));
    onnx_model_expect_failure(list_model("SequenceErase", "s,at", list_type), "list; int64[] 0",
        "position 0 of a sequence of 0");
    TextBuilder OWN_TEXT(length) = {0};
    text_appendf(&length, "%s0 -> int64[] 2", s);
    onnx_model_expect(list_model("SequenceLength", "s", "int64[]"), text_builder_get(&length));
}

static void test_onnx_sequence_is_made_of_tensors(void **state) {
    (void)state;
    OnnxModel *model = onnx_model_make(17);
    onnx_add_input(model->graph, "a", "float32[?]");
    onnx_add_input(model->graph, "b", "float32[?]");
    onnx_add_output(model->graph, "s", "list float32");
    onnx_add_output(model->graph, "none", "list int8");
    onnx_add_node(model->graph, "SequenceConstruct", "a,b,a", "s");
    onnx_set_int(onnx_add_node(model->graph, "SequenceEmpty", "", "none"), "dtype", DTYPE_INT8);
    onnx_model_expect(model, "float32[1] 1; float32[2] 2 3 -> "
                             "list float32[1] 1 | float32[2] 2 3 | float32[1] 1; list");
    model = onnx_model_make(17);
    onnx_add_output(model->graph, "s", "list float32");
    onnx_set_int(onnx_add_node(model->graph, "SequenceEmpty", "", "s"), "dtype", 99);
    onnx_model_refused(UNSUPPORTED, "attribute dtype", model);
}

static OnnxModel *join_model(int64_t axis, int64_t new_axis) {
    OnnxModel *model = onnx_model_make(17);
    onnx_add_input(model->graph, "s", "list float32");
    onnx_add_output(model->graph, "y", "float32");
    OnnxNodeProto *node = onnx_add_node(model->graph, "ConcatFromSequence", "s", "y");
    onnx_set_int(node, "axis", axis);
    onnx_set_int(node, "new_axis", new_axis);
    return model;
}

static void test_onnx_sequence_joins(void **state) {
    (void)state;
    onnx_model_expect(join_model(0, 0),
        "list float32[1,2] 1 2 | float32[2,2] 3 4 5 6 -> float32[3,2] 1 2 3 4 5 6");
    onnx_model_expect(
        join_model(-1, 0), "list float32[1,1] 1 | float32[1,2] 3 4 -> float32[1,3] 1 3 4");
    onnx_model_expect(
        join_model(-1, 1), "list float32[2] 1 2 | float32[2] 3 4 -> float32[2,2] 1 3 2 4");
    onnx_model_expect_failure(join_model(0, 0), "list", "an empty list");
    onnx_model_expect_failure(join_model(2, 0), "list float32[2] 1 2", "axis 2");
    onnx_model_refused(INVALID, "attribute new_axis is 2", join_model(0, 2));
    OnnxModel *model = onnx_model_make(17);
    onnx_add_input(model->graph, "s", "list float32");
    onnx_add_output(model->graph, "y", "float32");
    onnx_add_node(model->graph, "ConcatFromSequence", "s", "y");
    onnx_model_refused(INVALID, "attribute axis is missing", model);
}

static OnnxModel *split_model(const char *split_type, const char *axis, int64_t keep_dims) {
    OnnxModel *model = onnx_model_make(17);
    int64_t number;
    onnx_add_input(model->graph, "x", "float32[?,?]");
    if (split_type) onnx_add_input(model->graph, "split", split_type);
    onnx_add_output(model->graph, "y", "list float32");
    OnnxNodeProto *node =
        onnx_add_node(model->graph, "SplitToSequence", split_type ? "x,split" : "x", "y");
    if (axis && text_parse_i64(axis, &number)) onnx_set_int(node, "axis", number);
    onnx_set_int(node, "keepdims", keep_dims);
    return model;
}

static void test_onnx_sequence_splits(void **state) {
    (void)state;
    onnx_model_expect(split_model("int64[]", NULL, 1),
        "float32[3,1] 1 2 3; int64[] 2 -> list float32[2,1] 1 2 | float32[1,1] 3");
    onnx_model_expect(split_model("int64[2]", "-1", 0),
        "float32[1,3] 1 2 3; int64[2] 1 2 -> list float32[1,1] 1 | float32[1,2] 2 3");
    /* which of both it is shows at run time */
    onnx_model_expect(
        split_model("int32", "1", 1), "float32[1,2] 1 2; int32[1] 2 -> list float32[1,2] 1 2");
    onnx_model_expect(
        split_model(NULL, "1", 1), "float32[1,2] 1 2 -> list float32[1,1] 1 | float32[1,1] 2");
    onnx_model_expect(
        split_model(NULL, "1", 0), "float32[1,2] 1 2 -> list float32[1] 1 | float32[1] 2");
    onnx_model_expect(split_model(NULL, "0", 1), "float32[0,2] -> list");
    onnx_model_expect_failure(
        split_model("int64[]", NULL, 1), "float32[3,1] 1 2 3; int64[] 0", "pieces of 0");
    onnx_model_expect_failure(split_model("int64[?]", NULL, 1), "float32[3,1] 1 2 3; int64[1] 2",
        "splits of 2 together for a dimension of 3");
    onnx_model_refused(INVALID, "attribute keepdims is 2", split_model(NULL, NULL, 2));
}

/* Carried by a loop that makes it longer, of a length that nobody knows before. */
static void test_onnx_sequence_goes_through_a_loop(void **state) {
    (void)state;
    OnnxModel *model = onnx_model_make(17);
    onnx_add_input(model->graph, "n", "int64[]");
    onnx_add_input(model->graph, "s", "list int64");
    onnx_add_output(model->graph, "all", "list int64");
    onnx_add_output(model->graph, "lengths", "int64");
    OnnxGraph *body = onnx_graph_make();
    onnx_add_input(body, "i", "int64[]");
    onnx_add_input(body, "go", "bool[]");
    onnx_add_input(body, "before", "list int64");
    onnx_add_node(body, "Identity", "go", "again");
    onnx_add_node(body, "SequenceInsert", "before,i,i", "after");
    onnx_add_node(body, "SequenceLength", "after", "length");
    onnx_add_output(body, "again", "bool[]");
    onnx_add_output(body, "after", "list int64");
    onnx_add_output(body, "length", "int64[]");
    onnx_set_graph(onnx_add_node(model->graph, "Loop", "n,,s", "all,lengths"), "body", body);
    onnx_model_expect(model, "int64[] 2; list int64[] 7 -> "
                             "list int64[] 0 | int64[] 1 | int64[] 7; int64[2] 2 3");
}

static void test_onnx_sequence_of_anything_but_tensors_is_refused(void **state) {
    (void)state;
    static const char *const types[] = {
        "list list int8", "list optional int8", "optional optional int8"};
    for (size_t i = 0; i < 3; i++) {
        OnnxModel *model = onnx_model_make(17);
        onnx_add_input(model->graph, "s", types[i]);
        onnx_add_output(model->graph, "y", "int64[]");
        onnx_add_node(model->graph, "SequenceLength", "s", "y");
        onnx_model_refused(UNSUPPORTED, "s is a sequence of sequences or optionals", model);
    }
}

int test_onnx_sequence(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_onnx_sequence_at_counts_from_both_ends),
        cmocka_unit_test(test_onnx_sequence_insert_puts_before_or_behind),
        cmocka_unit_test(test_onnx_sequence_erase_and_length),
        cmocka_unit_test(test_onnx_sequence_is_made_of_tensors),
        cmocka_unit_test(test_onnx_sequence_joins),
        cmocka_unit_test(test_onnx_sequence_splits),
        cmocka_unit_test(test_onnx_sequence_goes_through_a_loop),
        cmocka_unit_test(test_onnx_sequence_of_anything_but_tensors_is_refused),
    };
    return cmocka_run_group_tests_name("onnx_sequence", tests, NULL, NULL);
}
