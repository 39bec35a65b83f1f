#include <stdio.h>
#include <stdlib.h>

#include "compiler/frontend/onnx_internal.h"
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
    onnx_model_refused(UNSUPPORTED, "node y (FusedConv): operators of domain com.microsoft",
        one_node("FusedConv", "com.microsoft", &node));
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

int test_onnx_node(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_onnx_node_names_what_is_not_supported),
        cmocka_unit_test(test_onnx_node_does_not_take_operators_of_the_compiler),
        cmocka_unit_test(test_onnx_node_needs_an_op_type),
        cmocka_unit_test(test_onnx_node_takes_both_names_of_the_default_domain),
        cmocka_unit_test(test_onnx_node_checks_how_many_inputs_there_are),
    };
    return cmocka_run_group_tests_name("onnx_node", tests, NULL, NULL);
}
