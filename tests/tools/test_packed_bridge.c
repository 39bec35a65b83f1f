#include "tools/library/packed_bridge.h"

#include <stdlib.h>

#include "tests/tools/tools_fixtures.h"

static const char program[] =
    "constant @half = float 0.5\n"
    "constant @yes = bool true\n"
    "constant @text = string \"no\"\n"
    "constant @x = float32[2] {3, 4}\n"
    "packed test.square(1)\n"
    "packed test.count(2)\n"
    "packed test.kinds(2)\n"
    "function squares() exported {\n Call &test.square, 12 -> r0\n Ret r0\n}\n"
    "function square_of_float() exported {\n Call &test.square, @half -> r0\n Ret r0\n}\n"
    "function counts() exported {\n Call &test.count, 1, @x -> r0\n Ret r0\n}\n"
    "function kinds() exported {\n Call &test.kinds, @half, @yes -> r0\n Ret r0\n}\n"
    "function tensor_and_text() exported {\n Call &test.kinds, @x, @text -> r0\n Ret r0\n}\n";

static const char *count(void *context, const LayoverValue *arguments, uint32_t argument_count,
    LayoverValue *out_result) {
    int *calls = context;
    assert_int_equal(argument_count, 2);
    assert_int_equal(arguments[1].kind, LAYOVER_TENSOR);
    const DLTensor *x = &arguments[1].tensor->dl_tensor;
    assert_int_equal(x->shape[0], 2);
    assert_true(((const float *)((const char *)x->data + x->byte_offset))[1] == 4.0f);
    *out_result = (LayoverValue){.kind = LAYOVER_INT, .integer = ++*calls};
    return NULL;
}

/* Writes to the model's constant. */
static const char *spoil(void *context, const LayoverValue *arguments, uint32_t argument_count,
    LayoverValue *out_result) {
    const DLTensor *x = &arguments[1].tensor->dl_tensor;
    ((float *)((char *)x->data + x->byte_offset))[0] = 9;
    return count(context, arguments, argument_count, out_result);
}

static const char *kinds(void *context, const LayoverValue *arguments, uint32_t argument_count,
    LayoverValue *out_result) {
    (void)context, (void)argument_count;
    if (arguments[0].kind != LAYOVER_FLOAT || arguments[1].kind != LAYOVER_BOOL) return "kinds";
    *out_result = (LayoverValue){
        .kind = LAYOVER_FLOAT, .real = arguments[0].real + (double)arguments[1].integer};
    return NULL;
}

static const char *nothing(void *context, const LayoverValue *arguments, uint32_t argument_count,
    LayoverValue *out_result) {
    (void)context, (void)arguments, (void)argument_count, (void)out_result;
    return NULL;
}

static const char *nonsense(void *context, const LayoverValue *arguments, uint32_t argument_count,
    LayoverValue *out_result) {
    (void)context, (void)arguments, (void)argument_count;
    out_result->kind = (LayoverKind)99;
    return NULL;
}

static void count_release(void *context) { ++*(int *)context; }

/* A run with the library loaded and functions for the other names. */
static void open_run(ToolsRun *run, LayoverPackedFunction *of_count, int *calls) {
    tools_run_open(program, run);
    assert_ok(packed_bridge_load(run->options.packed, PACKED_SQUARE));
    assert_ok(packed_bridge_add(run->options.packed, "test.count", 2, of_count, calls, NULL));
    assert_ok(packed_bridge_add(run->options.packed, "test.kinds", -1, kinds, NULL, NULL));
}

static void test_packed_bridge_calls_a_loaded_library(void **state) {
    (void)state;
    ToolsRun OWN_RUN(run) = {0};
    OWN(Execution, execution) = NULL;
    open_run(&run, count, &(int){0});
    assert_ok(tools_run_function(&run, "squares", &execution));
    const Value *result = execution_get_result(execution);
    assert_int_equal(result->tag, VALUE_INT);
    assert_int_equal(result->integer, 144);
}

static void test_packed_bridge_protects_constants(void **state) {
    (void)state;
    int calls = 0;
    ToolsRun OWN_RUN(run) = {0};
    OWN(Execution, execution) = NULL;
    open_run(&run, spoil, &calls);
    for (int i = 1; i <= 2; i++) {
        assert_fails_saying(INVALID, "test.count: argument 1 is a constant of the model",
            tools_run_function(&run, "counts", &execution));
        assert_int_equal(calls, i);
        execution_release(TAKE(execution));
    }
}

static void test_packed_bridge_says_what_the_function_says(void **state) {
    (void)state;
    ToolsRun OWN_RUN(run) = {0};
    OWN(Execution, execution) = NULL;
    open_run(&run, count, &(int){0});
    assert_fails_saying(
        FAILED, "square wants an integer", tools_run_function(&run, "square_of_float", &execution));
}

static void test_packed_bridge_hands_over_tensors_and_scalars(void **state) {
    (void)state;
    int calls = 0;
    ToolsRun OWN_RUN(run) = {0};
    OWN(Execution, counting) = NULL;
    OWN(Execution, adding) = NULL;
    open_run(&run, count, &calls);
    assert_ok(tools_run_function(&run, "counts", &counting));
    assert_int_equal(calls, 1);
    assert_int_equal(execution_get_result(counting)->integer, 1);
    assert_ok(tools_run_function(&run, "kinds", &adding));
    assert_int_equal(execution_get_result(adding)->tag, VALUE_FLOAT);
    assert_true(execution_get_result(adding)->real == 1.5);
}

/* And gives back the tensors before it. */
static void test_packed_bridge_refuses_values_without_a_public_form(void **state) {
    (void)state;
    ToolsRun OWN_RUN(run) = {0};
    OWN(Execution, execution) = NULL;
    open_run(&run, count, &(int){0});
    assert_fails_saying(INVALID, "argument 1 is no scalar and no tensor",
        tools_run_function(&run, "tensor_and_text", &execution));
}

static void test_packed_bridge_gives_nil_for_no_answer_and_refuses_nonsense(void **state) {
    (void)state;
    ToolsRun OWN_RUN(run) = {0};
    ToolsRun OWN_RUN(other) = {0};
    OWN(Execution, execution) = NULL;
    OWN(Execution, failing) = NULL;
    open_run(&run, nothing, NULL);
    assert_ok(tools_run_function(&run, "counts", &execution));
    assert_int_equal(execution_get_result(execution)->tag, VALUE_NIL);
    open_run(&other, nonsense, NULL);
    assert_fails_saying(
        INVALID, "a value of kind 99", tools_run_function(&other, "counts", &failing));
}

/* Known before anything runs. */
static void test_packed_bridge_functions_must_be_there_with_their_arity(void **state) {
    (void)state;
    ToolsRun OWN_RUN(run) = {0};
    ToolsRun OWN_RUN(other) = {0};
    OWN(Execution, execution) = NULL;
    tools_run_open(program, &run);
    assert_fails_saying(NOT_FOUND, "test.square", tools_run_function(&run, "squares", &execution));
    tools_run_open(program, &other);
    assert_ok(packed_bridge_add(other.options.packed, "test.square", 3, nothing, NULL, NULL));
    assert_ok(packed_bridge_add(other.options.packed, "test.count", 2, nothing, NULL, NULL));
    assert_ok(packed_bridge_add(other.options.packed, "test.kinds", 2, nothing, NULL, NULL));
    Error *error = tools_run_function(&other, "squares", &execution);
    assert_non_null(error);
    assert_non_null(strstr(error_message(error), "test.square"));
    error_free(error);
}

static void test_packed_bridge_releases_contexts_with_the_registry(void **state) {
    (void)state;
    int released = 0, kept = 0;
    PackedRegistry *registry;
    assert_ok(packed_registry_create(&registry));
    assert_ok(packed_bridge_add(registry, "own.f", 0, nothing, &released, count_release));
    /* a context that was not taken stays the caller's */
    assert_fails(CONFLICT, packed_bridge_add(registry, "own.f", 0, nothing, &kept, count_release));
    assert_fails(INVALID, packed_bridge_add(registry, NULL, 0, nothing, &kept, count_release));
    assert_fails(INVALID, packed_bridge_add(registry, "own.g", 0, NULL, &kept, count_release));
    assert_int_equal(released, 0);
    packed_registry_release(registry);
    assert_int_equal(released, 1);
    assert_int_equal(kept, 0);
}

static void test_packed_bridge_refuses_libraries_that_are_none(void **state) {
    (void)state;
    OWN(PackedRegistry, registry) = NULL;
    assert_ok(packed_registry_create(&registry));
    assert_fails_saying(NOT_FOUND, "gone.so", packed_bridge_load(registry, "/tmp/gone.so"));
    assert_fails_saying(NOT_FOUND, "--packed", packed_bridge_load(registry, "/etc/passwd"));
    assert_fails_saying(INVALID, "it exports no layover_packed_library",
        packed_bridge_load(registry, PACKED_NOTHING));
    assert_ok(packed_bridge_load(registry, PACKED_SQUARE));
    assert_fails_saying(INVALID, "test.square", packed_bridge_load(registry, PACKED_SQUARE));
}

int test_packed_bridge(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_packed_bridge_calls_a_loaded_library),
        cmocka_unit_test(test_packed_bridge_protects_constants),
        cmocka_unit_test(test_packed_bridge_says_what_the_function_says),
        cmocka_unit_test(test_packed_bridge_hands_over_tensors_and_scalars),
        cmocka_unit_test(test_packed_bridge_refuses_values_without_a_public_form),
        cmocka_unit_test(test_packed_bridge_gives_nil_for_no_answer_and_refuses_nonsense),
        cmocka_unit_test(test_packed_bridge_functions_must_be_there_with_their_arity),
        cmocka_unit_test(test_packed_bridge_releases_contexts_with_the_registry),
        cmocka_unit_test(test_packed_bridge_refuses_libraries_that_are_none),
    };
    return cmocka_run_group_tests_name("packed_bridge", tests, NULL, NULL);
}
