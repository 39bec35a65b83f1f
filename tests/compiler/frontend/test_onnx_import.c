#include "compiler/frontend/onnx_import.h"

#include "tests/compiler/onnx_run.h"

static OnnxModel *neg_model(int64_t opset) {
    OnnxModel *model = onnx_model_make(opset);
    onnx_add_input(model->graph, "x", "float32[2]");
    onnx_add_output(model->graph, "y", "float32[2]");
    onnx_add_node(model->graph, "Neg", "x", "y");
    return model;
}

static const char neg_signature[] = "float32[2] 1 2 -> float32[2] -1 -2";

static void test_onnx_import_reads_every_opset_it_knows(void **state) {
    (void)state;
    for (int64_t opset = ONNX_OPSET_MIN; opset <= ONNX_OPSET_MAX; opset++) {
        OWN(IrModule, module) = NULL;
        assert_ok(onnx_model_import(neg_model(opset), &module));
    }
    onnx_model_expect(neg_model(ONNX_OPSET_MIN), neg_signature);
    onnx_model_expect(neg_model(ONNX_OPSET_MAX), neg_signature);
}

static void test_onnx_import_refuses_other_opsets(void **state) {
    (void)state;
    onnx_model_refused(UNSUPPORTED, "ONNX opset 29; 1 to 28 are read", neg_model(29));
    onnx_model_refused(UNSUPPORTED, "ONNX opset 99; 1 to 28 are read", neg_model(99));
    onnx_model_refused(UNSUPPORTED, "ONNX opset -1;", neg_model(-1));
    onnx_model_refused(UNSUPPORTED, "ONNX opset 0;", neg_model(0));
    OnnxModel *model = neg_model(13);
    onnx_model_import_domain(model, "ai.onnx", 99);
    onnx_model_refused(UNSUPPORTED, "ONNX opset 99;", model);
    model = neg_model(13);
    onnx__operator_set_id_proto__free_unpacked(model->opset_import[--model->n_opset_import], NULL);
    onnx_model_refused(CORRUPT, "it imports no operator set", model);
}

static void test_onnx_import_refuses_other_ir_versions(void **state) {
    (void)state;
    static const int64_t known[] = {3, 14}, others[] = {2, 15, -1};
    for (size_t i = 0; i < 2; i++) {
        OnnxModel *model = neg_model(13);
        model->ir_version = known[i];
        onnx_model_expect(model, neg_signature);
    }
    for (size_t i = 0; i < 3; i++) {
        OnnxModel *model = neg_model(13);
        model->ir_version = others[i];
        onnx_model_refused(UNSUPPORTED, "3 to 14 are read", model);
    }
    OnnxModel *model = neg_model(13);
    model->has_ir_version = 0;
    onnx_model_refused(CORRUPT, "it has no IR version", model);
}

/* A model of local functions alone need not import the default domain. */
static void test_onnx_import_takes_models_that_import_other_domains_only(void **state) {
    (void)state;
    OnnxModel *model = neg_model(13);
    onnx__operator_set_id_proto__free_unpacked(model->opset_import[--model->n_opset_import], NULL);
    onnx_model_import_domain(model, "own", 1);
    onnx_model_expect(model, neg_signature);
}

static void test_onnx_import_refuses_models_without_graph_or_outputs(void **state) {
    (void)state;
    OnnxModel *model = neg_model(13);
    onnx__graph_proto__free_unpacked(model->graph, NULL);
    model->graph = NULL;
    onnx_model_refused(CORRUPT, "it has no graph", model);
    model = onnx_model_make(13);
    onnx_add_input(model->graph, "x", "float32[2]");
    onnx_model_refused(INVALID, "the graph has no output", model);
}

static void test_onnx_import_refuses_what_is_no_model(void **state) {
    (void)state;
    static const uint8_t zip[] = "PK\x03\x04 and so on";
    OWN(IrModule, module) = NULL;
    assert_fails(CORRUPT, onnx_import(zip, sizeof zip, NULL, &module));
    assert_fails_saying(CORRUPT, "not an ONNX model", onnx_import(zip, 0, NULL, &module));
    assert_null(module);
}

/* Old models list their initializers among the inputs, as defaults: the initializer's value is
 * taken, and it is no input of main. */
static void test_onnx_import_takes_initializers_for_inputs_of_their_name(void **state) {
    (void)state;
    OnnxModel *model = onnx_model_make(7);
    onnx_add_input(model->graph, "w", "float32[2]");
    onnx_add_input(model->graph, "x", "float32[2]");
    onnx_add_initializer(model->graph, "w", "float32[2] 10 20");
    onnx_add_output(model->graph, "y", "float32[2]");
    onnx_add_node(model->graph, "Add", "x,w", "y");
    onnx_model_expect(model, "float32[2] 1 2 -> float32[2] 11 22");
}

/* The names that people give inputs and outputs by are those of the graph. */
static void test_onnx_import_refuses_two_outputs_of_one_name(void **state) {
    (void)state;
    OnnxModel *model = neg_model(13);
    onnx_add_output(model->graph, "x", "float32[2]");
    onnx_add_output(model->graph, "y", "float32[2]");
    onnx_model_refused(INVALID, "two outputs of the graph are named y", model);
}

static void test_onnx_import_keeps_the_names_of_ports(void **state) {
    (void)state;
    OWN(IrModule, module) = NULL;
    assert_ok(onnx_model_import(neg_model(13), &module));
    const IrFunction *function = ir_module_find_function(module, "main");
    assert_non_null(function);
    assert_true(function->exported);
    assert_int_equal(function->body->parameter_count, 1);
    assert_string_equal(function->body->parameters[0]->name, "x");
    assert_int_equal(function->result_count, 1);
    assert_string_equal(function->result_names[0], "y");
}

int test_onnx_import(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_onnx_import_reads_every_opset_it_knows),
        cmocka_unit_test(test_onnx_import_refuses_other_opsets),
        cmocka_unit_test(test_onnx_import_refuses_other_ir_versions),
        cmocka_unit_test(test_onnx_import_takes_models_that_import_other_domains_only),
        cmocka_unit_test(test_onnx_import_refuses_models_without_graph_or_outputs),
        cmocka_unit_test(test_onnx_import_refuses_what_is_no_model),
        cmocka_unit_test(test_onnx_import_takes_initializers_for_inputs_of_their_name),
        cmocka_unit_test(test_onnx_import_refuses_two_outputs_of_one_name),
        cmocka_unit_test(test_onnx_import_keeps_the_names_of_ports),
    };
    return cmocka_run_group_tests_name("onnx_import", tests, NULL, NULL);
}
