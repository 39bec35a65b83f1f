#include <stdlib.h>

#include "compiler/frontend/base/onnx_internal.h"
#include "tests/compiler/onnx_run.h"

static OnnxModel *neg_model(const char *input_type, const char *output_type) {
    OnnxModel *model = onnx_model_make(13);
    onnx_add_input(model->graph, "x", input_type);
    onnx_add_output(model->graph, "y", output_type);
    onnx_add_node(model->graph, "Neg", "x", "y");
    return model;
}

static IrType type_of(const char *type) {
    OWN(IrModule, module) = NULL;
    assert_ok(onnx_model_import(neg_model(type, ""), &module));
    return ir_module_find_function(module, "main")->body->parameters[0]->type;
}

static void test_onnx_graph_types_of_ports(void **state) {
    (void)state;
    IrType type = type_of("int64[2,n,?,n,m]");
    assert_int_equal(type.kind, IR_TYPE_TENSOR);
    assert_int_equal(type.dtype, DTYPE_INT64);
    assert_true(type.rank_known);
    assert_int_equal(type.rank, 5);
    assert_int_equal(type.dims[0], 2);
    assert_true(ir_dim_is_symbol(type.dims[1]));
    assert_int_equal(type.dims[2], IR_DIM_UNKNOWN);
    assert_int_equal(type.dims[3], IR_DIM_UNKNOWN); /* a name counts once in a shape */
    assert_true(ir_dim_is_symbol(type.dims[4]) && type.dims[4] != type.dims[1]);
    type = type_of("float16");
    assert_int_equal(type.dtype, DTYPE_FLOAT16);
    assert_false(type.rank_known);
    type = type_of("bool[]");
    assert_true(type.rank_known);
    assert_int_equal(type.rank, 0);
    type = type_of("");
    assert_int_equal(type.kind, IR_TYPE_TENSOR);
    assert_int_equal(type.dtype, DTYPE_NONE);
    /* written by some exporters for "not known" */
    type = type_of("float32[-1,3]");
    assert_int_equal(type.dims[0], IR_DIM_UNKNOWN);
}

static void test_onnx_graph_refuses_types_that_are_no_tensors_of_numbers(void **state) {
    (void)state;
    OnnxModel *model = neg_model("float32[2]", "");
    Onnx__TypeProto *type = model->graph->input[0]->type;
    type->tensor_type->elem_type = 14;
    onnx_model_refused(UNSUPPORTED, "input x: element type 14", model);
    model = neg_model("float32[2]", "");
    model->graph->input[0]->type->tensor_type->elem_type = 15;
    onnx_model_refused(UNSUPPORTED, "input x: element type 15", model);
    onnx_model_refused(
        UNSUPPORTED, "input x: rank 9; at most 8", neg_model("float32[1,1,1,1,1,1,1,1,1]", ""));
    onnx_model_refused(UNSUPPORTED, "output y: rank 9; at most 8",
        neg_model("float32[1]", "float32[1,1,1,1,1,1,1,1,1]"));
}

static void test_onnx_graph_refuses_maps_of_other_keys(void **state) {
    (void)state;
    OnnxModel *model = neg_model("", "");
    Onnx__TypeProto *type = calloc(1, sizeof *type);
    onnx__type_proto__init(type);
    type->value_case = ONNX__TYPE_PROTO__VALUE_MAP_TYPE;
    type->map_type = calloc(1, sizeof *type->map_type);
    onnx__type_proto__map__init(type->map_type);
    type->map_type->has_key_type = 1;
    type->map_type->key_type = 6;
    model->graph->input[0]->type = type;
    onnx_model_refused(UNSUPPORTED, "input x: a map with keys of int32", model);
}

static void test_onnx_graph_names_the_initializer_that_is_wrong(void **state) {
    (void)state;
    OnnxModel *model = neg_model("float32[2]", "");
    onnx_add_initializer(model->graph, "layer.weight", "float32[3]");
    onnx_model_refused(INVALID, "initializer layer.weight: 0 elements of data", model);
}

/* An output may be an input or an initializer. */
static void test_onnx_graph_outputs_may_be_any_value(void **state) {
    (void)state;
    OnnxModel *model = neg_model("float32[2]", "float32[2]");
    onnx_add_initializer(model->graph, "w", "int64[1] 9");
    onnx_add_output(model->graph, "x", "float32[2]");
    onnx_add_output(model->graph, "w", "int64[1]");
    onnx_model_expect(model, "float32[2] 1 2 -> float32[2] -1 -2; float32[2] 1 2; int64[1] 9");
}

int test_onnx_graph(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_onnx_graph_types_of_ports),
        cmocka_unit_test(test_onnx_graph_refuses_types_that_are_no_tensors_of_numbers),
        cmocka_unit_test(test_onnx_graph_refuses_maps_of_other_keys),
        cmocka_unit_test(test_onnx_graph_names_the_initializer_that_is_wrong),
        cmocka_unit_test(test_onnx_graph_outputs_may_be_any_value),
    };
    return cmocka_run_group_tests_name("onnx_graph", tests, NULL, NULL);
}
