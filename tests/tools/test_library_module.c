/* Functions and modules of liblayover as a user sees them: nothing but its header. Their whole
 * breadth is in tests/end_to_end/commands/test_library_modules.py. */
#include "tests/tools/test_library_module.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "include/layover.h"
#include "tests/tools/library_checks.h"

enum { ROWS = 1, WIDTH = 2 };

/* A producer's tensor, one row of two; live ones are counted. */
typedef struct Produced {
    DLManagedTensor managed;
    int64_t shape[2];
    float data[ROWS * WIDTH];
} Produced;

static int live;

static void delete_produced(DLManagedTensor *managed) {
    free(managed->manager_ctx);
    live--;
}

static LayoverValue produce(int rank, float first) {
    Produced *produced = calloc(1, sizeof *produced);
    assert_non_null(produced);
    live++;
    produced->shape[0] = rank == 2 ? ROWS : WIDTH;
    produced->shape[1] = WIDTH;
    for (int i = 0; i < WIDTH; i++) produced->data[i] = first + (float)i;
    produced->managed = (DLManagedTensor){.manager_ctx = produced, .deleter = delete_produced};
    produced->managed.dl_tensor = (DLTensor){.data = produced->data,
        .device = {kDLCPU, 0},
        .ndim = rank,
        .dtype = {kDLFloat, 32, 1},
        .shape = produced->shape};
    return (LayoverValue){.kind = LAYOVER_TENSOR, .tensor = &produced->managed};
}

static float element(const LayoverValue *value, int64_t rows, int64_t index) {
    assert_int_equal(value->kind, LAYOVER_TENSOR);
    const DLTensor *tensor = &value->tensor->dl_tensor;
    assert_int_equal(tensor->shape[0], rows);
    return ((const float *)((const char *)tensor->data + tensor->byte_offset))[index];
}

static LayoverFunction *function_of(LayoverModule *module, const char *name) {
    LayoverFunction *function = NULL;
    ok(layover_module_get_function(module, name, &function));
    return function;
}

/* x times the integer behind it. */
static const char *scale(
    void *context, const LayoverValue *arguments, uint32_t count, LayoverValue *out_result) {
    ++*(int *)context;
    if (count != 2 || arguments[1].kind != LAYOVER_INT) return "scale wants a tensor and an int";
    *out_result = produce(1, 0);
    for (int i = 0; i < WIDTH; i++)
        ((float *)out_result->tensor->dl_tensor.data)[i] =
            element(&arguments[0], WIDTH, i) * (float)arguments[1].integer;
    return NULL;
}

/* Fills a tensor, or the last field of a tuple, with sevens. */
static const char *fill(
    void *context, const LayoverValue *arguments, uint32_t count, LayoverValue *out_result) {
    (void)context, (void)count, (void)out_result;
    const LayoverValue *to = &arguments[0];
    if (to->kind == LAYOVER_TUPLE) to = &to->tuple->fields[to->tuple->count - 1];
    if (to->kind != LAYOVER_TENSOR) return "fill wants a tensor";
    const DLTensor *tensor = &to->tensor->dl_tensor;
    for (int i = 0; i < WIDTH; i++) ((float *)((char *)tensor->data + tensor->byte_offset))[i] = 7;
    return NULL;
}

static void count_release(void *context) { *(int *)context += 1000; }

static LayoverModule *load(const char *device, int *calls) {
    LayoverModule *module = NULL;
    ok(layover_module_load(LIBRARY_MODULE, device, &module));
    ok(layover_module_add_function(module, "host.scale", 2, scale, calls, count_release));
    ok(layover_module_add_function(module, "host.fill", 1, fill, NULL, NULL));
    return module;
}

static void test_library_module_keeps_state_that_the_host_holds(void **state) {
    (void)state;
    int calls = 0;
    LayoverModule *module = load("cpu", &calls), *other = load("cpu", &calls);
    LayoverFunction *make = function_of(module, "make"), *append = function_of(module, "append");
    LayoverFunction *view = function_of(module, "view"), *foreign = function_of(other, "view");
    LayoverValue first = produce(2, 1), cache, result;
    ok(layover_function_call(make, &first, 1, &cache));
    assert_int_equal(cache.kind, LAYOVER_OBJECT);
    for (int i = 0; i < 3; i++) {
        LayoverValue arguments[] = {cache, produce(2, 10 * (float)(i + 1))};
        ok(layover_function_call(append, arguments, 2, &result));
        layover_value_release(&cache);
        cache = result;
    }
    ok(layover_function_call(view, &cache, 1, &result));
    assert_true(element(&result, 4, 0) == 1 && element(&result, 4, 7) == 31);
    layover_value_release(&result);
    fails("UNSUPPORTED", "argument 0: an object is of another model",
        layover_function_call(foreign, &cache, 1, &result));
    layover_value_release(&cache);
    layover_function_release(make);
    layover_function_release(append);
    layover_function_release(view);
    layover_function_release(foreign);
    layover_module_release(module);
    layover_module_release(other);
    assert_int_equal(live, 0);
    assert_int_equal(calls, 2000);
}

static void test_library_module_calls_its_host_on_all_devices(void **state) {
    (void)state;
    static const char *const devices[] = {"cpu", "sim:0"};
    for (size_t i = 0; i < 2; i++) {
        int calls = 0;
        LayoverModule *module = load(devices[i], &calls);
        LayoverFunction *scaled = function_of(module, "scaled");
        LayoverValue x = produce(1, 1), result;
        layover_module_release(module); /* the function keeps what it needs */
        ok(layover_function_call(scaled, &x, 1, &result));
        assert_true(element(&result, WIDTH, 0) == 3 && element(&result, WIDTH, 1) == 6);
        layover_value_release(&result);
        assert_int_equal(calls, 1);
        layover_function_release(scaled);
        assert_int_equal(calls, 1001);
        assert_int_equal(live, 0);
    }
}

static void test_library_module_functions_cross_the_border(void **state) {
    (void)state;
    int calls = 0;
    LayoverModule *module = load("cpu", &calls);
    LayoverFunction *bind = function_of(module, "bind"), *call = function_of(module, "call");
    LayoverFunction *host = function_of(module, "host.scale");
    LayoverValue closure, result, bound = {.kind = LAYOVER_STRING, .text = "bound"};
    ok(layover_function_call(bind, &bound, 1, &closure));
    assert_int_equal(closure.kind, LAYOVER_FUNCTION);
    assert_string_equal(layover_function_name(closure.function), "");
    LayoverValue arguments[] = {closure, produce(1, 5)};
    ok(layover_function_call(call, arguments, 2, &result));
    assert_int_equal(result.tuple->count, 2);
    assert_string_equal(result.tuple->fields[1].text, "bound");
    layover_value_release(&result);
    LayoverValue given = {.kind = LAYOVER_INT, .integer = 4};
    ok(layover_function_call(closure.function, &given, 1, &result));
    assert_int_equal(result.tuple->fields[0].integer, 4);
    layover_value_release(&result);
    fails("INVALID", "", layover_function_call(closure.function, NULL, 0, &result));
    LayoverValue wrong[] = {{.kind = LAYOVER_FUNCTION, .function = host}, {.kind = LAYOVER_NIL}};
    fails("INVALID", "host.scale takes 2 arguments, not 1",
        layover_function_call(call, wrong, 2, &result));
    LayoverValue text[] = {bound, bound};
    fails(
        "FAILED", "scale wants a tensor and an int", layover_function_call(host, text, 2, &result));
    layover_value_release(&closure);
    layover_function_release(bind);
    layover_function_release(call);
    layover_function_release(host);
    layover_module_release(module);
    assert_int_equal(live, 0);
}

static void test_library_module_takes_tensors_also_when_a_call_fails(void **state) {
    (void)state;
    int calls = 0;
    LayoverModule *module = load("cpu", &calls);
    LayoverFunction *pair = function_of(module, "call");
    LayoverValue fields[] = {produce(1, 1), {.kind = (LayoverKind)99}, produce(1, 2)};
    const LayoverTuple tuple = {3, fields};
    LayoverValue result = {.kind = LAYOVER_NIL};
    LayoverValue arguments[] = {{.kind = LAYOVER_TUPLE, .tuple = &tuple}, produce(1, 3)};
    fails("INVALID", "argument 0: a value of kind 99",
        layover_function_call(pair, arguments, 2, &result));
    assert_int_equal(live, 0);
    fields[0] = produce(1, 1);
    fields[1] = produce(1, 1);
    fields[2] = produce(1, 1);
    LayoverValue none[] = {{.kind = LAYOVER_TUPLE, .tuple = &tuple}, {.kind = LAYOVER_NIL}};
    fails("INVALID", "not a closure", layover_function_call(pair, none, 2, &result));
    assert_int_equal(result.kind, LAYOVER_NIL);
    assert_int_equal(live, 0);
    layover_function_release(pair);
    layover_module_release(module);
}

static void test_library_module_hosts_write_tensors_but_no_constants(void **state) {
    (void)state;
    static const char *const devices[] = {"cpu", "sim:0"};
    static const char *const spoilers[] = {"spoiled", "spoiled_in_a_tuple"};
    for (size_t i = 0; i < 2; i++) {
        int calls = 0;
        LayoverValue result;
        LayoverModule *module = load(devices[i], &calls);
        LayoverFunction *filled = function_of(module, "filled"),
                        *kept = function_of(module, "kept");
        ok(layover_function_call(filled, NULL, 0, &result));
        assert_true(element(&result, WIDTH, 0) == 7 && element(&result, WIDTH, 1) == 7);
        layover_value_release(&result);
        for (size_t k = 0; k < 2; k++) {
            LayoverFunction *spoiled = function_of(module, spoilers[k]);
            fails("INVALID", "host.fill: argument 0 is a constant of the model",
                layover_function_call(spoiled, NULL, 0, &result));
            layover_function_release(spoiled);
        }
        ok(layover_function_call(kept, NULL, 0, &result));
        assert_true(element(&result, WIDTH, 0) == 1 && element(&result, WIDTH, 1) == 1);
        layover_value_release(&result);
        layover_function_release(filled);
        layover_function_release(kept);
        layover_module_release(module);
    }
}

int test_library_module(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_library_module_keeps_state_that_the_host_holds),
        cmocka_unit_test(test_library_module_calls_its_host_on_all_devices),
        cmocka_unit_test(test_library_module_functions_cross_the_border),
        cmocka_unit_test(test_library_module_takes_tensors_also_when_a_call_fails),
        cmocka_unit_test(test_library_module_hosts_write_tensors_but_no_constants),
    };
    return cmocka_run_group_tests_name("library_module", tests, NULL, NULL);
}
