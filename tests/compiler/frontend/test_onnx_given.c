/* Inputs that have an initializer. */
#include "compiler/frontend/onnx_given.h"

#include <stdlib.h>

#include "compiler/frontend/onnx_import.h"
#include "tests/compiler/onnx_run.h"

static OnnxModel *add_model(int64_t ir_version) {
    OnnxModel *model = onnx_model_make(20);
    model->ir_version = ir_version;
    onnx_add_input(model->graph, "x", "float32[2]");
    onnx_add_input(model->graph, "w", "float32[2]");
    onnx_add_initializer(model->graph, "w", "float32[2] 3 4");
    onnx_add_output(model->graph, "y", "float32[2]");
    onnx_add_node(model->graph, "Add", "x,w", "y");
    return model;
}

static void import(int64_t ir_version, bool *inout_given, IrModule **out) {
    bool shared;
    size_t size;
    uint8_t *bytes = onnx_model_pack(add_model(ir_version), &size);
    assert_ok(onnx_import_names(bytes, size, NULL, ONNX_NAMES_BIND, inout_given, &shared, out));
    free(bytes);
}

static void test_onnx_given_makes_a_second_function(void **state) {
    (void)state;
    OWN(IrModule, module) = NULL;
    bool given = true;
    import(GIVEN_IR_MIN, &given, &module);
    assert_true(given);
    assert_int_equal(module->function_count, 2);
    assert_string_equal(module->functions[1]->name, GIVEN_NAME);
    onnx_model_expect(add_model(GIVEN_IR_MIN), "float32[2] 1 2 -> float32[2] 4 6");
}

static void test_onnx_given_leaves_older_files_alone(void **state) {
    (void)state;
    OWN(IrModule, module) = NULL;
    bool given = true;
    import(GIVEN_IR_MIN - 1, &given, &module);
    assert_false(given);
    assert_int_equal(module->function_count, 1);
}

static void refuse(const char *declared, const char *said) {
    OnnxModel *model = onnx_model_make(20);
    onnx_add_input(model->graph, "x", "float32[2]");
    onnx_add_input(model->graph, "w", declared);
    onnx_add_initializer(model->graph, "w", "float32[2] 3 4");
    onnx_add_output(model->graph, "y", "float32[2]");
    onnx_add_node(model->graph, "Add", "x,w", "y");
    onnx_model_refused(INVALID, said, model);
}

static void test_onnx_given_refuses_another_type_than_the_declared_one(void **state) {
    (void)state;
    refuse("float64[2]", "initializer w: its elements are float32, and it is declared as float64");
    refuse("float32[1]", "initializer w: its shape is not the declared one");
    refuse("float32[1,2]", "initializer w: its shape is not the declared one");
}

int test_onnx_given(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_onnx_given_makes_a_second_function),
        cmocka_unit_test(test_onnx_given_leaves_older_files_alone),
        cmocka_unit_test(test_onnx_given_refuses_another_type_than_the_declared_one),
    };
    return cmocka_run_group_tests_name("onnx_given", tests, NULL, NULL);
}
