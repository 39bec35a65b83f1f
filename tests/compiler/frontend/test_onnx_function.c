#include <stdio.h>
#include <stdlib.h>

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

static OnnxFunction *add_pair(OnnxModel *model, const char *name, const char *calls) {
    OnnxFunction *function = onnx_add_function(model, "own", name, "a", "c");
    const char *domain = strcmp(calls, "Neg") == 0 ? "" : "own";
    onnx_node_set_domain(onnx_function_add_node(function, calls, "a", "b"), domain);
    onnx_node_set_domain(onnx_function_add_node(function, calls, "b", "c"), domain);
    return function;
}

static void test_onnx_function_expands_local_functions(void **state) {
    (void)state;
    OnnxNodeProto *node;
    OnnxModel *model = one_node("Outer", "own", &node);
    add_pair(model, "Outer", "Inner");
    OnnxFunction *inner = onnx_add_function(model, "own", "Inner", "v", "w");
    onnx_function_add_node(inner, "Add", "v,v", "w");
    onnx_model_expect(model, "float32[2] 1 2 -> float32[2] 4 8");
}

/* A function may be named like an operator, and then stands for it. */
static void test_onnx_function_prefers_local_functions_to_operators(void **state) {
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

static void test_onnx_function_refuses_functions_there_twice(void **state) {
    (void)state;
    OnnxNodeProto *node;
    OnnxModel *model = one_node("F", "own", &node);
    add_pair(model, "F", "Neg");
    add_pair(model, "F", "Neg");
    onnx_model_refused(INVALID, "function own:F is there twice", model);
}

static void test_onnx_function_refuses_calls_with_more_than_the_function_has(void **state) {
    (void)state;
    OnnxModel *model = onnx_model_make(13);
    onnx_add_input(model->graph, "x", "float32[2]");
    onnx_add_output(model->graph, "y", "float32");
    add_pair(model, "F", "Neg");
    onnx_node_set_domain(onnx_add_node(model->graph, "F", "x,x", "y"), "own");
    onnx_model_refused(
        INVALID, "node y (F): 2 inputs and 1 outputs for a function of 1 and 1", model);
}

/* What a call leaves out is left out where the function uses it, and in calls of its own. */
static void test_onnx_function_passes_on_that_an_input_is_left_out(void **state) {
    (void)state;
    static const struct {
        const char *inputs, *result;
    } rows[] = {{"x,,high", "-5 2"}, {"x,low", "-1 5"}, {"x", "-5 5"}, {"x,low,high", "-1 2"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char signature[64];
        OnnxModel *model = onnx_model_make(13);
        onnx_add_input(model->graph, "x", "float32[2]");
        onnx_add_output(model->graph, "y", "float32");
        onnx_add_initializer(model->graph, "low", "float32[] -1");
        onnx_add_initializer(model->graph, "high", "float32[] 2");
        onnx_node_set_domain(onnx_add_node(model->graph, "Outer", rows[i].inputs, "y"), "own");
        OnnxFunction *outer = onnx_add_function(model, "own", "Outer", "a,b,c", "d");
        onnx_node_set_domain(onnx_function_add_node(outer, "Inner", "a,b,c", "d"), "own");
        OnnxFunction *inner = onnx_add_function(model, "own", "Inner", "v,l,h", "w");
        onnx_function_add_node(inner, "Clip", "v,l,h", "w");
        (void)snprintf(
            signature, sizeof signature, "float32[2] -5 5 -> float32[2] %s", rows[i].result);
        onnx_model_expect(model, signature);
    }
}

static void test_onnx_function_refuses_to_give_what_is_left_out(void **state) {
    (void)state;
    OnnxModel *model = onnx_model_make(13);
    onnx_add_input(model->graph, "x", "float32[2]");
    onnx_add_output(model->graph, "y", "float32");
    onnx_node_set_domain(onnx_add_node(model->graph, "F", "x", "y"), "own");
    OnnxFunction *function = onnx_add_function(model, "own", "F", "a,b", "b");
    onnx_function_add_node(function, "Neg", "a", "c");
    onnx_model_refused(INVALID, "node y (F): the function's input b is left out", model);
}

/* A function's body is read by the opset that the function imports. */
static void test_onnx_function_reads_functions_by_their_own_opset(void **state) {
    (void)state;
    static const struct {
        int64_t opset;
        const char *signature;
    } rows[] = {
        {11, "float32[1,2,2] 0 0 0 0 -> float32[1,2,2] 0.25 0.25 0.25 0.25"},
        {13, "float32[1,2,2] 0 0 0 0 -> float32[1,2,2] 0.5 0.5 0.5 0.5"},
        {29, NULL},
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

/* The field of a schema later than the one read: FunctionProto.attribute_proto. */
static void add_default(OnnxFunction *function, const uint8_t *attribute, size_t size) {
    size_t count = function->base.n_unknown_fields;
    function->base.unknown_fields =
        realloc(function->base.unknown_fields, (count + 1) * sizeof(ProtobufCMessageUnknownField));
    ProtobufCMessageUnknownField *field = &function->base.unknown_fields[count];
    *field = (ProtobufCMessageUnknownField){.tag = 11,
        .wire_type = PROTOBUF_C_WIRE_TYPE_LENGTH_PREFIXED,
        .len = size + 1,
        .data = calloc(1, size + 1)};
    assert_true(size < 128);
    field->data[0] = (uint8_t)size;
    memcpy(field->data + 1, attribute, size);
    function->base.n_unknown_fields = (unsigned)count + 1;
}

static void add_default_int(OnnxFunction *function, const char *name, int64_t value) {
    uint8_t bytes[128];
    OnnxAttribute attribute = ONNX__ATTRIBUTE_PROTO__INIT;
    attribute.name = (char *)(uintptr_t)name;
    attribute.has_type = attribute.has_i = 1;
    attribute.type = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INT;
    attribute.i = value;
    assert_true(onnx__attribute_proto__get_packed_size(&attribute) <= sizeof bytes);
    add_default(function, bytes, onnx__attribute_proto__pack(&attribute, bytes));
}

/* F(v): Transposed or flattened at the axis that the call gives, 2 where it does not. */
static OnnxModel *default_model(OnnxNodeProto **out_call) {
    OnnxModel *model = onnx_model_make(13);
    onnx_add_input(model->graph, "x", "float32[1,2,3]");
    onnx_add_output(model->graph, "y", "float32");
    *out_call = onnx_add_node(model->graph, "F", "x", "y");
    onnx_node_set_domain(*out_call, "own");
    OnnxFunction *function = onnx_add_function(model, "own", "F", "v", "w");
    onnx_set_reference(onnx_function_add_node(function, "Flatten", "v", "w"), "axis", "at");
    add_default_int(function, "other", 0);
    add_default_int(function, "at", 2);
    return model;
}

static void test_onnx_function_attributes_have_default_values(void **state) {
    (void)state;
    OnnxNodeProto *call;
    onnx_model_expect(
        default_model(&call), "float32[1,2,3] 1 2 3 4 5 6 -> float32[2,3] 1 2 3 4 5 6");
    OnnxModel *model = default_model(&call);
    onnx_set_int(call, "at", 3);
    onnx_model_expect(model, "float32[1,2,3] 1 2 3 4 5 6 -> float32[6,1] 1 2 3 4 5 6");
}

/* Outer's attribute goes to F; where nobody gives it, Outer's default value counts, else F's. */
static void test_onnx_function_default_values_go_inwards(void **state) {
    (void)state;
    for (int i = 0; i < 2; i++) {
        OnnxNodeProto *call;
        OnnxModel *model = default_model(&call);
        free(call->op_type);
        call->op_type = onnx_text("Outer");
        OnnxFunction *outer = onnx_add_function(model, "own", "Outer", "v", "w");
        OnnxNodeProto *inner = onnx_function_add_node(outer, "F", "v", "w");
        onnx_node_set_domain(inner, "own");
        onnx_set_reference(inner, "at", "place");
        if (i) add_default_int(outer, "place", 1);
        onnx_model_expect(model, i ? "float32[1,2,3] 1 2 3 4 5 6 -> float32[1,6] 1 2 3 4 5 6"
                                   : "float32[1,2,3] 1 2 3 4 5 6 -> float32[2,3] 1 2 3 4 5 6");
    }
}

static void test_onnx_function_refuses_default_values_that_are_none(void **state) {
    (void)state;
    static const struct {
        uint8_t bytes[8];
        size_t size;
        ErrorCode code;
        const char *says;
    } rows[] = {
        {{0x0a, 9, 'a'}, 3, ERROR_CORRUPT, "ends behind its message"},
        {{0x18, 1}, 2, ERROR_INVALID, "a default value without a name"},
        {{0x0a, 1, 'a', 0xaa, 1, 1, 'b'}, 7, ERROR_INVALID, "that refers to another attribute"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        OnnxNodeProto *node;
        OnnxModel *model = one_node("F", "own", &node);
        add_default(add_pair(model, "F", "Neg"), rows[i].bytes, rows[i].size);
        onnx_model_check_refused(model, rows[i].code, rows[i].says, __FILE__, __LINE__);
    }
    OnnxNodeProto *node;
    OnnxModel *model = one_node("F", "own", &node);
    OnnxFunction *function = add_pair(model, "F", "Neg");
    add_default_int(function, "a", 1);
    function->base.unknown_fields[0].wire_type = PROTOBUF_C_WIRE_TYPE_VARINT;
    function->base.unknown_fields[0].len = 1;
    onnx_model_refused(CORRUPT, "function own:F: a default value that is none", model);
}

static OnnxFunction *add_overload(
    OnnxModel *model, const char *name, const char *overload, const char *op_type) {
    OnnxFunction *function = onnx_add_function(model, "own", name, "a", "b");
    if (overload[0]) onnx_function_set_overload(function, overload);
    onnx_function_add_node(function, op_type, "a", "b");
    return function;
}

/* Three of one name, called from the graph and from a function. */
static OnnxModel *overloads_model(const char *first, const char *second) {
    OnnxModel *model = onnx_model_make(13);
    onnx_add_input(model->graph, "x", "float32[2]");
    onnx_add_output(model->graph, "y", "float32");
    onnx_add_output(model->graph, "z", "float32");
    OnnxNodeProto *node = onnx_add_node(model->graph, "F", "x", "y");
    onnx_node_set_domain(node, "own");
    onnx_node_set_overload(node, first);
    node = onnx_add_node(model->graph, "G", "y", "z");
    onnx_node_set_domain(node, "own");
    add_overload(model, "F", "", "Exp");
    add_overload(model, "F", "negate", "Neg");
    add_overload(model, "F", "size", "Abs");
    OnnxFunction *calls = onnx_add_function(model, "own", "G", "a", "c");
    node = onnx_function_add_node(calls, "F", "a", "b");
    onnx_node_set_domain(node, "own");
    onnx_node_set_overload(node, second);
    onnx_node_set_domain(onnx_function_add_node(calls, "F", "b", "c"), "own");
    return model;
}

static void test_onnx_function_is_found_by_its_overload(void **state) {
    (void)state;
    onnx_model_expect(overloads_model("negate", "size"),
        "float32[2] 1 2 -> float32[2] -1 -2; float32[2] 2.71828 7.38906");
    onnx_model_expect(overloads_model("size", "negate"),
        "float32[2] 1 2 -> float32[2] 1 2; float32[2] 0.367879 0.135335");
    onnx_model_expect(
        overloads_model("", ""), "float32[2] 0 0 -> float32[2] 1 1; float32[2] 15.1543 15.1543");
}

static void test_onnx_function_refuses_overloads_that_are_not_there(void **state) {
    (void)state;
    onnx_model_refused(INVALID, "node y (F): the model has no function own:F:other",
        overloads_model("other", "size"));
    onnx_model_refused(
        INVALID, "the model has no function own:F:other", overloads_model("size", "other"));
    OnnxNodeProto *node;
    OnnxModel *model = one_node("Neg", "", &node);
    onnx_node_set_overload(node, "fast");
    onnx_model_refused(INVALID, "node y (Neg): the model has no function :Neg:fast", model);
    model = overloads_model("size", "size");
    add_overload(model, "F", "size", "Neg");
    onnx_model_refused(INVALID, "function own:F:size is there twice", model);
    model = overloads_model("size", "size");
    onnx_function_set_overload(add_overload(model, "H", "", "Neg"), "\xff");
    onnx_model_refused(CORRUPT, "function H: an overload that is no text", model);
}

/* The overload b of a:F is not the function a of F:b's domain. */
static void test_onnx_function_keeps_names_with_colons_apart(void **state) {
    (void)state;
    OnnxNodeProto *node;
    OnnxModel *model = one_node("F", "own", &node);
    onnx_node_set_overload(node, "b");
    add_overload(model, "F:b", "", "Abs");
    add_overload(model, "F", "b", "Neg");
    onnx_model_expect(model, "float32[2] 1 2 -> float32[2] -1 -2");
}

static void test_onnx_function_refuses_functions_that_call_themselves(void **state) {
    (void)state;
    OnnxNodeProto *node;
    OnnxModel *model = one_node("F", "own", &node);
    add_pair(model, "F", "F");
    onnx_model_refused(INVALID, "node y (F): node b (F): function own:F calls itself", model);
    model = one_node("F", "own", &node);
    add_pair(model, "F", "G");
    add_pair(model, "G", "F");
    onnx_model_refused(INVALID, "function own:F calls itself", model);
}

/* Some hundred bytes that would be 2^40 nodes; counted before the first is made. */
static void test_onnx_function_refuses_functions_that_explode(void **state) {
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
static void test_onnx_function_holds_a_functions_constants_once(void **state) {
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

int test_onnx_function(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_onnx_function_expands_local_functions),
        cmocka_unit_test(test_onnx_function_prefers_local_functions_to_operators),
        cmocka_unit_test(test_onnx_function_refuses_functions_there_twice),
        cmocka_unit_test(test_onnx_function_refuses_calls_with_more_than_the_function_has),
        cmocka_unit_test(test_onnx_function_passes_on_that_an_input_is_left_out),
        cmocka_unit_test(test_onnx_function_refuses_to_give_what_is_left_out),
        cmocka_unit_test(test_onnx_function_reads_functions_by_their_own_opset),
        cmocka_unit_test(test_onnx_function_attributes_have_default_values),
        cmocka_unit_test(test_onnx_function_default_values_go_inwards),
        cmocka_unit_test(test_onnx_function_refuses_default_values_that_are_none),
        cmocka_unit_test(test_onnx_function_is_found_by_its_overload),
        cmocka_unit_test(test_onnx_function_refuses_overloads_that_are_not_there),
        cmocka_unit_test(test_onnx_function_keeps_names_with_colons_apart),
        cmocka_unit_test(test_onnx_function_refuses_functions_that_call_themselves),
        cmocka_unit_test(test_onnx_function_refuses_functions_that_explode),
        cmocka_unit_test(test_onnx_function_holds_a_functions_constants_once),
    };
    return cmocka_run_group_tests_name("onnx_function", tests, NULL, NULL);
}
