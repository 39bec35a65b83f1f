#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/frontend/base/onnx_internal.h"
#include "tests/compiler/onnx_run.h"

static OnnxModel *one_node(const char *op_type, const char *domain, OnnxNodeProto **out_node) {
    OnnxModel *model = onnx_model_make(13);
    onnx_add_input(model->graph, "x", "float32[2]");
    onnx_add_output(model->graph, "y", "float32");
    *out_node = onnx_add_node(model->graph, op_type, "x", "y");
    if (domain[0]) onnx_node_set_domain(*out_node, domain);
    return model;
}

static void test_onnx_node_names_what_is_not_supported(void **state) {
    (void)state;
    OnnxNodeProto *node;
    OnnxModel *model = one_node("Scatterbrain", "", &node);
    onnx_node_set_name(node, "layer/7");
    onnx_model_refused(
        UNSUPPORTED, "node layer/7 (Scatterbrain): this operator is not there", model);
    onnx_model_refused(UNSUPPORTED, "node y (AlignAxes): this operator is not there",
        one_node("AlignAxes", "", &node));
    onnx_model_refused(UNSUPPORTED, "node y (Secret): com.microsoft's Secret is not built",
        one_node("Secret", "com.microsoft", &node));
    onnx_model_refused(UNSUPPORTED,
        "node y (Secret): there is no operator Secret of domain elsewhere",
        one_node("Secret", "elsewhere", &node));
    onnx_model_refused(UNSUPPORTED, "node y (Conv): the file was optimized for the memory layout",
        one_node("Conv", "com.microsoft.nchwc", &node));
    onnx_model_refused(UNSUPPORTED, "node y (EPContext): the model was compiled for one vendor",
        one_node("EPContext", "com.microsoft", &node));
    model = one_node("Nothing", "", &node);
    node->n_output = 0;
    free(node->output[0]);
    onnx_model_refused(UNSUPPORTED, "node without a name (Nothing)", model);
}

/* Fused operators are the compiler's own, not for models. */
static void test_onnx_node_does_not_take_operators_of_the_compiler(void **state) {
    (void)state;
    OnnxNodeProto *node;
    for (uint32_t id = OPERATOR_NONE + 1; id < OPERATOR_COUNT; id++) {
        const OperatorInfo *info = operator_get((OperatorId)id);
        if (!operator_is_own(info)) continue;
        onnx_model_refused(UNSUPPORTED, "is not there", one_node(info->name, "", &node));
    }
}

static void test_onnx_node_needs_an_op_type(void **state) {
    (void)state;
    OnnxNodeProto *node;
    onnx_model_refused(INVALID, "node y has no op_type", one_node("", "", &node));
}

static void test_onnx_node_takes_both_names_of_the_default_domain(void **state) {
    (void)state;
    OnnxNodeProto *node;
    onnx_model_expect(one_node("Neg", "ai.onnx", &node), "float32[2] 1 2 -> float32[2] -1 -2");
}

static void test_onnx_node_checks_how_many_inputs_there_are(void **state) {
    (void)state;
    OnnxModel *model = onnx_model_make(13);
    onnx_add_input(model->graph, "x", "float32[2]");
    onnx_add_output(model->graph, "y", "float32");
    onnx_add_node(model->graph, "Add", "x", "y");
    onnx_model_refused(INVALID, "node y (Add)", model);
    model = onnx_model_make(13);
    onnx_add_input(model->graph, "x", "float32[2]");
    onnx_add_output(model->graph, "y", "float32");
    onnx_add_node(model->graph, "Add", ",x", "y");
    onnx_model_refused(INVALID, "node y (Add)", model);
}

/* A node that reads x often, and z once at the end. */
static OnnxModel *wide_node(const char *op_type, int inputs) {
    TextBuilder OWN_TEXT(names) = {0};
    for (int i = 1; i < inputs; i++) text_append(&names, "x,");
    text_append(&names, "z");
    OnnxModel *model = onnx_model_make(13);
    onnx_add_input(model->graph, "x", "float32[1]");
    onnx_add_input(model->graph, "z", "float32[1]");
    onnx_add_output(model->graph, "y", "float32");
    OnnxNodeProto *node = onnx_add_node(model->graph, op_type, text_builder_get(&names), "w");
    if (strcmp(op_type, "Concat") == 0) (void)onnx_set_int(node, "axis", 0);
    return model;
}

/* More than a kernel takes, and more than the kernel's number of them. */
static void test_onnx_node_joins_any_number_of_inputs(void **state) {
    (void)state;
    static const int inputs[] = {255, 256, 257, 511, 70000};
    for (size_t i = 0; i < sizeof inputs / sizeof inputs[0]; i++) {
        char runs[96];
        OnnxModel *model = wide_node("Sum", inputs[i]);
        onnx_add_node(model->graph, "Identity", "w", "y");
        (void)snprintf(runs, sizeof runs, "float32[1] 2; float32[1] 1 -> float32[1] %d",
            2 * (inputs[i] - 1) + 1);
        onnx_model_expect(model, runs);
        model = wide_node("Max", inputs[i]);
        onnx_add_node(model->graph, "Identity", "w", "y");
        onnx_model_expect(model, "float32[1] 2; float32[1] 7 -> float32[1] 7");
        model = wide_node("Concat", inputs[i]);
        (void)snprintf(runs, sizeof runs, "int64[2] %d %d", inputs[i] - 2, inputs[i] - 1);
        (void)onnx_add_initializer(model->graph, "at", runs);
        onnx_add_node(model->graph, "Gather", "w,at", "y");
        onnx_model_expect(model, "float32[1] 2; float32[1] 7 -> float32[2] 2 7");
    }
}

int test_onnx_node(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_onnx_node_names_what_is_not_supported),
        cmocka_unit_test(test_onnx_node_does_not_take_operators_of_the_compiler),
        cmocka_unit_test(test_onnx_node_needs_an_op_type),
        cmocka_unit_test(test_onnx_node_takes_both_names_of_the_default_domain),
        cmocka_unit_test(test_onnx_node_checks_how_many_inputs_there_are),
        cmocka_unit_test(test_onnx_node_joins_any_number_of_inputs),
    };
    return cmocka_run_group_tests_name("onnx_node", tests, NULL, NULL);
}
