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
        if (!info->expansion[0]) continue;
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

static OnnxFunction *add_pair(OnnxModel *model, const char *name, const char *calls) {
    OnnxFunction *function = onnx_add_function(model, "own", name, "a", "c");
    const char *domain = strcmp(calls, "Neg") == 0 ? "" : "own";
    onnx_node_set_domain(onnx_function_add_node(function, calls, "a", "b"), domain);
    onnx_node_set_domain(onnx_function_add_node(function, calls, "b", "c"), domain);
    return function;
}

static void test_onnx_node_expands_local_functions(void **state) {
    (void)state;
    OnnxNodeProto *node;
    OnnxModel *model = one_node("Outer", "own", &node);
    add_pair(model, "Outer", "Inner");
    OnnxFunction *inner = onnx_add_function(model, "own", "Inner", "v", "w");
    onnx_function_add_node(inner, "Add", "v,v", "w");
    onnx_model_expect(model, "float32[2] 1 2 -> float32[2] 4 8");
}

/* A function may be named like an operator, and then stands for it. */
static void test_onnx_node_prefers_local_functions_to_operators(void **state) {
    (void)state;
    static const char *const domains[] = {"", "ai.onnx"};
    for (size_t i = 0; i < 2; i++) {
        OnnxNodeProto *node;
        OnnxModel *model = one_node("Relu", "", &node);
        OnnxFunction *function = onnx_add_function(model, domains[i], "Relu", "v", "w");
        onnx_function_add_node(function, "Neg", "v", "w");
        onnx_model_expect(model, "float32[2] 1 2 -> float32[2] -1 -2");
    }
}

static void test_onnx_node_refuses_functions_there_twice(void **state) {
    (void)state;
    OnnxNodeProto *node;
    OnnxModel *model = one_node("F", "own", &node);
    add_pair(model, "F", "Neg");
    add_pair(model, "F", "Neg");
    onnx_model_refused(INVALID, "function own:F is there twice", model);
}

static void test_onnx_node_refuses_calls_with_more_than_the_function_has(void **state) {
    (void)state;
    OnnxModel *model = onnx_model_make(13);
    onnx_add_input(model->graph, "x", "float32[2]");
    onnx_add_output(model->graph, "y", "float32");
    add_pair(model, "F", "Neg");
    onnx_node_set_domain(onnx_add_node(model->graph, "F", "x,x", "y"), "own");
    onnx_model_refused(
        INVALID, "node y (F): 2 inputs and 1 outputs for a function of 1 and 1", model);
}

/* A function's body is read by the opset that the function imports. */
static void test_onnx_node_reads_functions_by_their_own_opset(void **state) {
    (void)state;
    static const struct {
        int64_t opset;
        const char *signature;
    } rows[] = {
        {11, "float32[1,2,2] 0 0 0 0 -> float32[1,2,2] 0.25 0.25 0.25 0.25"},
        {13, "float32[1,2,2] 0 0 0 0 -> float32[1,2,2] 0.5 0.5 0.5 0.5"},
        {6, NULL},
        {99, NULL},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        OnnxModel *model = onnx_model_make(13);
        onnx_add_input(model->graph, "x", "float32[1,2,2]");
        onnx_add_output(model->graph, "y", "float32");
        onnx_node_set_domain(onnx_add_node(model->graph, "F", "x", "y"), "own");
        OnnxFunction *function = onnx_add_function(model, "own", "F", "v", "w");
        onnx_set_int(onnx_function_add_node(function, "Softmax", "v", "w"), "axis", 1);
        Onnx__OperatorSetIdProto *import = calloc(1, sizeof *import);
        onnx__operator_set_id_proto__init(import);
        import->has_version = 1;
        import->version = rows[i].opset;
        function->opset_import = calloc(1, sizeof import);
        function->opset_import[function->n_opset_import++] = import;
        if (rows[i].signature)
            onnx_model_expect(model, rows[i].signature);
        else
            onnx_model_refused(UNSUPPORTED, "ONNX opset", model);
    }
}

/* A schema later than the one read has such defaults; ignored, they would compute something else.
 */
static void test_onnx_node_refuses_functions_with_default_attributes(void **state) {
    (void)state;
    static uint8_t attribute[] = {0x0a, 1, 'a'};
    OnnxNodeProto *node;
    OnnxModel *model = one_node("F", "own", &node);
    OnnxFunction *function = add_pair(model, "F", "Neg");
    ProtobufCMessageUnknownField *field = calloc(1, sizeof *field);
    field->tag = 11;
    field->wire_type = PROTOBUF_C_WIRE_TYPE_LENGTH_PREFIXED;
    field->len = sizeof attribute + 1;
    field->data = calloc(1, field->len);
    field->data[0] = sizeof attribute;
    memcpy(field->data + 1, attribute, sizeof attribute);
    function->base.n_unknown_fields = 1;
    function->base.unknown_fields = field;
    onnx_model_refused(UNSUPPORTED, "default values of attributes", model);
}

static void test_onnx_node_refuses_functions_that_call_themselves(void **state) {
    (void)state;
    OnnxNodeProto *node;
    OnnxModel *model = one_node("F", "own", &node);
    add_pair(model, "F", "F");
    onnx_model_refused(UNSUPPORTED, "nested deeper than 64", model);
}

/* Some hundred bytes that would be 2^40 nodes. */
static void test_onnx_node_refuses_functions_that_explode(void **state) {
    (void)state;
    enum { LEVELS = 40 };
    OnnxNodeProto *node;
    OnnxModel *model = one_node("F0", "own", &node);
    for (int i = 0; i < LEVELS; i++) {
        char name[16], calls[16];
        (void)snprintf(name, sizeof name, "F%d", i);
        (void)snprintf(calls, sizeof calls, "F%d", i + 1);
        add_pair(model, name, i + 1 < LEVELS ? calls : "Neg");
    }
    OWN(IrModule, module) = NULL;
    assert_fails_saying(
        UNSUPPORTED, "nodes with functions expanded", onnx_model_import(model, &module));
}

/* 2^12 expansions of a megabyte. */
static void test_onnx_node_holds_a_functions_constants_once(void **state) {
    (void)state;
    enum { LEVELS = 13, COUNT = 1 << 18 };
    OnnxNodeProto *node;
    OnnxModel *model = one_node("F0", "own", &node);
    for (int i = 0; i + 1 < LEVELS; i++) {
        char name[16], calls[16];
        (void)snprintf(name, sizeof name, "F%d", i);
        (void)snprintf(calls, sizeof calls, "F%d", i + 1);
        add_pair(model, name, calls);
    }
    OnnxFunction *last = onnx_add_function(model, "own", "F12", "a", "c");
    onnx_function_add_node(last, "Neg", "a", "c");
    OnnxNodeProto *constant = onnx_function_add_node(last, "Constant", "", "w");
    OnnxTensor *tensor = onnx_set_tensor(constant, "value", "float32[262144]")->t;
    tensor->has_raw_data = 1;
    tensor->raw_data.len = COUNT * sizeof(float);
    tensor->raw_data.data = calloc(COUNT, sizeof(float));
    OWN(IrModule, module) = NULL;
    assert_ok(onnx_model_import(model, &module));
    uint64_t bytes = 0;
    for (size_t i = 0; i < module->constant_count; i++)
        bytes += tensor_bytes(ir_variable_tensor(module->constants[i]));
    assert_int_equal(bytes, COUNT * sizeof(float));
}

int test_onnx_node(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_onnx_node_names_what_is_not_supported),
        cmocka_unit_test(test_onnx_node_does_not_take_operators_of_the_compiler),
        cmocka_unit_test(test_onnx_node_needs_an_op_type),
        cmocka_unit_test(test_onnx_node_takes_both_names_of_the_default_domain),
        cmocka_unit_test(test_onnx_node_checks_how_many_inputs_there_are),
        cmocka_unit_test(test_onnx_node_expands_local_functions),
        cmocka_unit_test(test_onnx_node_prefers_local_functions_to_operators),
        cmocka_unit_test(test_onnx_node_refuses_functions_there_twice),
        cmocka_unit_test(test_onnx_node_refuses_calls_with_more_than_the_function_has),
        cmocka_unit_test(test_onnx_node_reads_functions_by_their_own_opset),
        cmocka_unit_test(test_onnx_node_refuses_functions_with_default_attributes),
        cmocka_unit_test(test_onnx_node_refuses_functions_that_call_themselves),
        cmocka_unit_test(test_onnx_node_refuses_functions_that_explode),
        cmocka_unit_test(test_onnx_node_holds_a_functions_constants_once),
    };
    return cmocka_run_group_tests_name("onnx_node", tests, NULL, NULL);
}
