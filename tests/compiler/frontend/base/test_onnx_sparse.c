#include "compiler/frontend/base/onnx_sparse.h"

#include "tests/compiler/onnx_run.h"

/* y = x, w: the dense tensor. */
static OnnxModel *sparse_model(const char *values, const char *indices, const char *dims) {
    OnnxModel *model = onnx_model_make(21);
    onnx_add_output(model->graph, "w", "");
    model->graph->output[0]->type = NULL;
    onnx_add_sparse_initializer(model->graph, onnx_sparse_make("w", values, indices, dims));
    return model;
}

static void test_onnx_sparse_takes_both_forms_of_indices(void **state) {
    (void)state;
    static const struct {
        const char *values, *indices, *dims, *signature;
    } rows[] = {
        {"float32[3] 1 2 3", "int64[3] 0 3 5", "3 2", "-> float32[3,2] 1 0 0 2 0 3"},
        {"float32[3] 1 2 3", "int64[3,2] 0 0 1 1 2 1", "3 2", "-> float32[3,2] 1 0 0 2 0 3"},
        {"int64[2] 7 8", "int64[2] 1 3", "4", "-> int64[4] 0 7 0 8"},
        {"int64[2] 7 8", "int64[2,1] 1 3", "4", "-> int64[4] 0 7 0 8"},
        {"uint8[1] 255", "int64[1,3] 1 0 1", "2 1 2", "-> uint8[2,1,2] 0 0 0 255"},
        {"bool[1] 1", "int64[1] 2", "3", "-> bool[3] 0 0 1"},
        {"float64[1] 0.5", "int64[1] 0", "2", "-> float64[2] 0.5 0"},
        {"float16[1] 0.5", "int64[1] 1", "2", "-> float16[2] 0 0.5"},
        {"int4[3] 1 -2 7", "int64[3] 1 2 4", "5", "-> int4[5] 0 1 -2 0 7"},
        {"float32[0]", "int64[0]", "2 2", "-> float32[2,2] 0 0 0 0"},
        {"float32[0]", "int64[0,2]", "2 2", "-> float32[2,2] 0 0 0 0"},
        {"float32[0]", NULL, "2", "-> float32[2] 0 0"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        onnx_model_expect(
            sparse_model(rows[i].values, rows[i].indices, rows[i].dims), rows[i].signature);
}

static void test_onnx_sparse_refuses_what_is_none(void **state) {
    (void)state;
    static const struct {
        const char *values, *indices, *dims, *says;
    } rows[] = {
        {"float32[1] 1", "int64[1] 4", "2 2", "initializer w: index 0 is 4 in 4 elements"},
        {"float32[1] 1", "int64[1] -1", "2 2", "index 0 is -1 in 4 elements"},
        {"float32[1] 1", "int64[1,2] 0 2", "2 2", "index 0 is 2 in dimension 1 of 2"},
        {"float32[1] 1", "int64[1,2] -1 0", "2 2", "index 0 is -1 in dimension 0 of 2"},
        {"float32[2] 1 1", "int64[2] 2 1", "2 2", "index 1 is not in rising order"},
        {"float32[2] 1 1", "int64[2] 1 1", "2 2", "index 1 is there twice"},
        {"float32[2] 1 1", "int64[2,2] 1 0 0 1", "2 2", "index 1 is not in rising order"},
        {"float32[2] 1 1", "int64[2,2] 1 0 1 0", "2 2", "index 1 is there twice"},
        {"float32[1] 1", "int32[1] 0", "2 2", "indices are int32, not int64"},
        {"float32[2] 1 1", "int64[1] 0", "2 2", "1 indices for 2 values"},
        {"float32[1] 1", "int64[1,3] 0 0 0", "2 2", "indices are neither [values] nor [values, 2]"},
        {"float32[1] 1", "int64[] 0", "2 2", "indices are neither"},
        {"float32[1] 1", NULL, "2 2", "a sparse tensor without indices"},
        {"float32[1,1] 1", "int64[1] 0", "2 2", "values have rank 2, not 1"},
        {"float32[1] 1", "int64[1] 0", "", "a sparse tensor without dimensions"},
        {"float32[1] 1", "int64[1] 0", "2 -2", "dimension 1 is -2"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        onnx_model_check_refused(sparse_model(rows[i].values, rows[i].indices, rows[i].dims),
            ERROR_INVALID, rows[i].says, __FILE__, __LINE__);
}

/* The same one in a function that is called twice counts once. */
static void test_onnx_sparse_bounds_what_is_unpacked(void **state) {
    (void)state;
    onnx_model_refused(UNSUPPORTED, "more than 1073741824 bytes when unpacked",
        sparse_model("float32[1] 1", "int64[1] 0", "268435457"));
    onnx_model_refused(UNSUPPORTED, "more than 1073741824 bytes when unpacked",
        sparse_model("float64[1] 1", "int64[1,2] 0 0", "1048576 1048576"));
    const Onnx__SparseTensorProto *empty = onnx_sparse_make("w", "uint8[1] 1", "int64[1] 9", "16");
    uint64_t left = 20;
    OWN(Tensor, made) = NULL;
    OWN(Tensor, more) = NULL;
    assert_ok(onnx_sparse_read(empty, NULL, device_host(), &left, &made));
    assert_int_equal(left, 4);
    assert_int_equal(((const uint8_t *)tensor_data(made))[9], 1);
    assert_fails(UNSUPPORTED, onnx_sparse_read(empty, NULL, device_host(), &left, &more));
    onnx__sparse_tensor_proto__free_unpacked((Onnx__SparseTensorProto *)(uintptr_t)empty, NULL);
}

/* Constants, in the graph, in both branches of an If and in a function that is called twice. */
static void test_onnx_sparse_constants_stand_anywhere(void **state) {
    (void)state;
    OnnxModel *model = onnx_model_make(21);
    onnx_add_input(model->graph, "yes", "bool[]");
    onnx_add_output(model->graph, "y", "float32");
    OnnxNodeProto *node = onnx_add_node(model->graph, "If", "yes", "a");
    OnnxGraph *branch = onnx_graph_make();
    onnx_set_sparse(onnx_add_node(branch, "Constant", "", "c"), "sparse_value",
        onnx_sparse_make("", "float32[1] 4", "int64[1] 1", "2"));
    onnx_add_output(branch, "c", "float32");
    onnx_set_graph(node, "then_branch", branch);
    branch = onnx_graph_make();
    onnx_add_sparse_initializer(branch, onnx_sparse_make("c", "float32[1] 5", "int64[1,1] 0", "2"));
    onnx_add_output(branch, "c", "float32");
    onnx_set_graph(node, "else_branch", branch);
    OnnxFunction *function = onnx_add_function(model, "own", "F", "v", "w");
    onnx_set_sparse(onnx_function_add_node(function, "Constant", "", "s"), "sparse_value",
        onnx_sparse_make("", "float32[1] 10", "int64[1] 1", "2"));
    onnx_function_add_node(function, "Add", "v,s", "w");
    onnx_node_set_domain(onnx_add_node(model->graph, "F", "a", "b"), "own");
    onnx_node_set_domain(onnx_add_node(model->graph, "F", "b", "y"), "own");
    onnx_model_expect(model, "bool[] 1 -> float32[2] 0 24");
}

/* An initializer of a graph input's name gives its value, dense or not. */
static void test_onnx_sparse_initializers_are_values_of_inputs(void **state) {
    (void)state;
    OnnxModel *model = sparse_model("float32[1] 1", "int64[1] 0", "2");
    onnx_add_input(model->graph, "w", "float32[2]");
    onnx_model_expect(model, "-> float32[2] 1 0");
    model = sparse_model("float32[1] 1", "int64[1] 0", "2");
    onnx_add_initializer(model->graph, "w", "float32[2] 1 1");
    onnx_model_refused(INVALID, "the value w is made twice", model);
    model = sparse_model("float32[1] 1", "int64[1] 0", "2");
    onnx_add_sparse_initializer(model->graph, onnx_sparse_make(NULL, NULL, NULL, "2"));
    onnx_model_refused(INVALID, "a sparse initializer whose values have no name", model);
}

int test_onnx_sparse(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_onnx_sparse_takes_both_forms_of_indices),
        cmocka_unit_test(test_onnx_sparse_refuses_what_is_none),
        cmocka_unit_test(test_onnx_sparse_bounds_what_is_unpacked),
        cmocka_unit_test(test_onnx_sparse_constants_stand_anywhere),
        cmocka_unit_test(test_onnx_sparse_initializers_are_values_of_inputs),
    };
    return cmocka_run_group_tests_name("onnx_sparse", tests, NULL, NULL);
}
