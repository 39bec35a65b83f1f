/* rank(x) and dim(x, 1) of compositions, by rows of the table that ask for them. */
#include "compiler/frontend/nodes/onnx_composition.h"

#include "tests/compiler/onnx_run.h"

/* RotaryEmbedding of one row of positions: a vector of one is where the rows begin. */
static OnnxModel *rotary(const char *type, const char *positions) {
    OnnxModel *model = onnx_model_make(20);
    onnx_model_import_domain(model, "com.microsoft", 1);
    onnx_add_input(model->graph, "x", type);
    onnx_add_input(model->graph, "p", positions);
    onnx_add_initializer(model->graph, "c", "float32[2,1] 1 0");
    onnx_add_initializer(model->graph, "s", "float32[2,1] 0 1");
    onnx_add_output(model->graph, "y", "float32");
    onnx_node_set_domain(
        onnx_add_node(model->graph, "RotaryEmbedding", "x,p,c,s", "y"), "com.microsoft");
    return model;
}

static void test_onnx_composition_asks_for_ranks(void **state) {
    (void)state;
    onnx_model_expect(rotary("float32[1,2,2]", "int64[1]"),
        "float32[1,2,2] 1 2 3 4; int64[1] 0 -> float32[1,2,2] 1 2 -4 3");
    onnx_model_expect(rotary("float32[1,2,2]", "int64[1,2]"),
        "float32[1,2,2] 1 2 3 4; int64[1,2] 1 0 -> float32[1,2,2] -2 1 3 4");
    onnx_model_expect(rotary("float32[1,1,2,2]", "int64[1]"),
        "float32[1,1,2,2] 1 2 3 4; int64[1] 0 -> float32[1,1,2,2] 1 2 -4 3");
}

/* The rank of a computed value comes from what made it: here, the length of a constant shape. */
static void test_onnx_composition_follows_computed_values(void **state) {
    (void)state;
    OnnxModel *model = onnx_model_make(20);
    onnx_model_import_domain(model, "com.microsoft", 1);
    onnx_add_input(model->graph, "x", "float32[2,2]");
    onnx_add_input(model->graph, "p", "int64[1]");
    onnx_add_initializer(model->graph, "four", "int64[4] 1 1 2 2");
    onnx_add_initializer(model->graph, "c", "float32[2,1] 1 0");
    onnx_add_initializer(model->graph, "s", "float32[2,1] 0 1");
    onnx_add_output(model->graph, "y", "float32");
    onnx_add_node(model->graph, "Reshape", "x,four", "r");
    onnx_add_node(model->graph, "Neg", "r", "n");
    onnx_node_set_domain(
        onnx_add_node(model->graph, "RotaryEmbedding", "n,p,c,s", "y"), "com.microsoft");
    onnx_model_expect(model, "float32[2,2] 1 2 3 4; int64[1] 0 -> float32[1,1,2,2] -1 -2 4 -3");
}

static void test_onnx_composition_refuses_ranks_that_nothing_tells(void **state) {
    (void)state;
    OnnxModel *model = onnx_model_make(20);
    onnx_model_import_domain(model, "com.microsoft", 1);
    onnx_add_input(model->graph, "x", "float32[2,2]");
    onnx_add_input(model->graph, "shape", "int64");
    onnx_add_initializer(model->graph, "c", "float32[2,1] 1 0");
    onnx_add_output(model->graph, "y", "float32");
    onnx_add_node(model->graph, "Reshape", "x,shape", "r");
    onnx_node_set_domain(
        onnx_add_node(model->graph, "RotaryEmbedding", "r,shape,c,c", "y"), "com.microsoft");
    onnx_model_refused(UNSUPPORTED, "an input of unknown rank", model);
}

int test_onnx_composition_shape(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_onnx_composition_asks_for_ranks),
        cmocka_unit_test(test_onnx_composition_follows_computed_values),
        cmocka_unit_test(test_onnx_composition_refuses_ranks_that_nothing_tells),
    };
    return cmocka_run_group_tests_name("onnx_composition_shape", tests, NULL, NULL);
}
