#include "compiler/frontend/nodes/onnx_scan.h"
#include "tests/compiler/onnx_run.h"

/* Scan(start, x): next = sum + slice · w, which is scanned out, too. matrix: of w; NULL: the body
 * has its own. */
static OnnxModel *product_model(const char *matrix, const char *slice_type, OnnxNodeProto **out) {
    OnnxModel *model = onnx_model_make(13);
    const bool vectors = strcmp(slice_type, "float32[2]") == 0;
    onnx_add_input(model->graph, "start", vectors ? "float32[1]" : "float32");
    onnx_add_input(model->graph, "x", vectors ? "float32[n,2]" : "float32");
    onnx_add_output(model->graph, "last", "float32");
    onnx_add_output(model->graph, "all", "float32");
    OnnxGraph *body = onnx_graph_make();
    onnx_add_input(body, "sum", "float32");
    onnx_add_input(body, "slice", slice_type);
    onnx_add_initializer(matrix ? model->graph : body, "w", matrix ? matrix : "float32[2,1] 1 1");
    onnx_add_node(body, "MatMul", "slice,w", "product");
    onnx_add_node(body, "Add", "sum,product", "next");
    onnx_add_node(body, "Identity", "next", "kept");
    onnx_add_output(body, "next", "float32");
    onnx_add_output(body, "kept", "float32");
    *out = onnx_add_node(model->graph, "Scan", "start,x", "last,all");
    onnx_set_graph(*out, "body", body);
    onnx_set_int(*out, "num_scan_inputs", 1);
    return model;
}

/* Products in main, where the loop's function has none. */
static uint32_t count_outside(OnnxModel *owned_model) {
    IrModule *module;
    uint32_t count = 0;
    assert_ok(onnx_model_import(owned_model, &module));
    const IrFunction *main = ir_module_find_function(module, "main");
    for (const IrBinding *binding = main->body->first; binding; binding = binding->next)
        count += binding->kind == IR_OPERATOR && binding->operator_info->id == OPERATOR_MATMUL;
    ir_module_release(module);
    return count;
}

static void test_onnx_scan_multiplies_all_slices_before_the_loop(void **state) {
    (void)state;
    OnnxNodeProto *node;
    const char *w = "float32[2,1] 10 1";
    assert_int_equal(count_outside(product_model(w, "float32[2]", &node)), 1);
    onnx_model_expect(product_model(w, "float32[2]", &node),
        "float32[1] 0; float32[3,2] 1 2 3 4 5 6 -> float32[1] 102; float32[3,1] 12 46 102");
    onnx_model_expect(product_model(w, "float32[2]", &node),
        "float32[1] 7; float32[0,2] -> float32[1] 7; float32[0,1]");
    OnnxModel *model = product_model(w, "float32[2]", &node);
    onnx_set_ints(node, "scan_input_directions", "1");
    onnx_model_expect(
        model, "float32[1] 0; float32[3,2] 1 2 3 4 5 6 -> float32[1] 102; float32[3,1] 56 90 102");
    onnx_model_expect(product_model(w, "float32[n,2]", &node),
        "float32[2,1] 0 0; float32[2,2,2] 1 2 3 4 5 6 7 8 -> float32[2,1] 68 112; "
        "float32[2,2,1] 12 34 68 112");
}

/* A matrix of the body's own, slices of unknown rank or along another axis, a wide matrix. */
static void test_onnx_scan_leaves_other_products_in_the_loop(void **state) {
    (void)state;
    OnnxNodeProto *node;
    assert_int_equal(count_outside(product_model(NULL, "float32[2]", &node)), 0);
    assert_int_equal(count_outside(product_model("float32[2,1] 1 1", "float32", &node)), 0);
    assert_int_equal(count_outside(product_model("float32[2] 1 1", "float32[2]", &node)), 0);
    OnnxModel *model = product_model("float32[2,1] 10 1", "float32[2]", &node);
    onnx_set_ints(node, "scan_input_axes", "1");
    assert_int_equal(count_outside(model), 0);
    assert_int_equal(count_outside(product_model(
                         "float32[1,17] 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1", "float32[1]", &node)),
        0);
    onnx_model_expect(product_model(NULL, "float32[2]", &node),
        "float32[1] 0; float32[2,2] 1 2 3 4 -> float32[1] 10; float32[2,1] 3 10");
}

/* A function of the model may be called MatMul, and is what the body means then. */
static void test_onnx_scan_leaves_functions_named_like_a_product(void **state) {
    (void)state;
    OnnxNodeProto *node;
    OnnxModel *model = product_model("float32[2,1] 10 1", "float32[2]", &node);
    OnnxFunction *function = onnx_add_function(model, "", "MatMul", "a,b", "c");
    onnx_set_int(onnx_function_add_node(function, "Constant", "", "zero"), "value_int", 0);
    onnx_function_add_node(function, "Gather", "b,zero", "c");
    onnx_model_expect(
        model, "float32[1] 0; float32[2,2] 1 2 3 4 -> float32[1] 20; float32[2,1] 10 20");
}

int test_onnx_scan_products(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_onnx_scan_multiplies_all_slices_before_the_loop),
        cmocka_unit_test(test_onnx_scan_leaves_other_products_in_the_loop),
        cmocka_unit_test(test_onnx_scan_leaves_functions_named_like_a_product),
    };
    return cmocka_run_group_tests_name("onnx_scan_products", tests, NULL, NULL);
}
