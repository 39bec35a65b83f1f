/* Where an execution stands, what it yields, and its checkpoints in memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "include/layover.h"
#include "tests/tools/library_checks.h"
#include "tests/tools/test_library_inspect.h"

enum { LENGTH = 3, YIELDS_MAX = 1024 };

typedef struct Given {
    DLManagedTensor managed;
    int64_t shape[1];
    float data[LENGTH];
} Given;

static void delete_given(DLManagedTensor *managed) { free(managed->manager_ctx); }

static LayoverValue give(float first) {
    Given *given = calloc(1, sizeof *given);
    assert_non_null(given);
    for (int i = 0; i < LENGTH; i++) given->data[i] = first + (float)i;
    given->shape[0] = LENGTH;
    given->managed.dl_tensor = (DLTensor){.data = given->data,
        .device = {kDLCPU, 0},
        .ndim = 1,
        .dtype = {kDLFloat, 32, 1},
        .shape = given->shape};
    given->managed.manager_ctx = given;
    given->managed.deleter = delete_given;
    return (LayoverValue){LAYOVER_TENSOR, {.tensor = &given->managed}};
}

static LayoverModel *open_model(const char *device) {
    LayoverModel *model = NULL;
    ok(layover_model_open(LIBRARY_MODEL, device, &model));
    return model;
}

static LayoverExecution *start(LayoverModel *model, const char *function, int64_t count) {
    LayoverExecution *execution = NULL;
    const LayoverValue arguments[] = {give(1), {LAYOVER_INT, {.integer = count}}};
    ok(layover_execution_start_values(
        model, function, arguments, strcmp(function, "steps") == 0 ? 2 : 1, &execution));
    return execution;
}

static float first_of(const LayoverValue *value) {
    assert_int_equal(value->kind, LAYOVER_TENSOR);
    const DLTensor *tensor = &value->tensor->dl_tensor;
    return *(const float *)((const char *)tensor->data + tensor->byte_offset);
}

/* Takes a value, which is `expected` times x. */
static void take(LayoverExecution *execution, float expected) {
    LayoverValue value;
    int found;
    ok(layover_execution_take_yield(execution, &value, &found));
    assert_true(found);
    assert_float_equal(first_of(&value), expected, 0);
    layover_value_release(&value);
}

static void check_result(LayoverExecution *execution, float expected) {
    LayoverValue value;
    ok(layover_execution_get_output(execution, NULL, 0, &value));
    assert_float_equal(first_of(&value), expected, 0);
    layover_value_release(&value);
}

/* At each instruction: the registers name live values, the pc moves, and the counter counts. */
static void test_library_inspects_every_instruction(void **state) {
    (void)state;
    LayoverModel *model = open_model("cpu");
    LayoverExecution *execution = start(model, "outer", 0);
    LayoverInspection *seen = NULL;
    LayoverState reached = LAYOVER_SUSPENDED;
    uint64_t stops = 0, inner = 0;
    while (reached != LAYOVER_FINISHED) {
        ok(layover_execution_inspect(execution, &seen));
        assert_int_equal(seen->instructions, stops++);
        assert_in_range(seen->frame_count, 1, 2);
        assert_string_equal(seen->frames[0].function, "outer");
        for (uint32_t i = 0; i < seen->register_count; i++) {
            const LayoverRegister *live = &seen->registers[i];
            assert_in_range(live->frame, 0, seen->frame_count - 1);
            const bool tensor = strcmp(live->kind, "tensor") == 0;
            assert_int_equal(live->rank, tensor ? 1 : -1);
            assert_string_equal(live->dtype, tensor ? "float32" : "");
            if (tensor) assert_int_equal(live->dims[0], LENGTH);
            assert_int_equal(
                live->bytes, tensor || strcmp(live->kind, "int") ? LENGTH * sizeof(float) : 0);
        }
        if (seen->frame_count == 2) {
            inner++;
            assert_string_equal(seen->frames[1].function, "steps");
            assert_non_null(strstr(seen->frames[0].instruction, "Invoke"));
        }
        layover_inspection_free(seen);
        ok(layover_execution_run(execution, 1, &reached));
    }
    assert_true(inner > 10);
    ok(layover_execution_inspect(execution, &seen));
    assert_int_equal(seen->frame_count + seen->register_count, 0);
    assert_int_equal(seen->yields, 3);
    layover_inspection_free(seen);
    layover_inspection_free(NULL);
    layover_execution_free(execution);
    layover_model_close(model);
}

static void test_library_stops_at_each_yield(void **state) {
    (void)state;
    LayoverState reached;
    LayoverValue none;
    int found;
    LayoverModel *model = open_model("sim:0");
    LayoverExecution *execution = start(model, "steps", 5);
    for (int i = 0; i < 5; i++) {
        LayoverInspection *seen;
        ok(layover_execution_run_to_yield(execution, 0, &reached));
        assert_int_equal(reached, LAYOVER_YIELDED);
        ok(layover_execution_run_to_yield(execution, 0, &reached)); /* still there: nothing runs */
        ok(layover_execution_inspect(execution, &seen));
        assert_int_equal(seen->yields, i + 1);
        layover_inspection_free(seen);
        take(execution, (float)(i + 2));
    }
    ok(layover_execution_take_yield(execution, &none, &found));
    assert_false(found);
    ok(layover_execution_run_to_yield(execution, 0, &reached));
    assert_int_equal(reached, LAYOVER_FINISHED);
    check_result(execution, 7);
    layover_execution_free(execution);
    layover_model_close(model);
}

/* A full queue stops a run that takes nothing; the run goes on where it stood. */
static void test_library_queues_yields_up_to_a_limit(void **state) {
    (void)state;
    LayoverState reached;
    LayoverModel *model = open_model("cpu");
    LayoverExecution *execution = start(model, "steps", YIELDS_MAX + 5);
    fails("EXHAUSTED", "were not taken", layover_execution_run(execution, 0, &reached));
    for (int i = 0; i < YIELDS_MAX; i++) take(execution, (float)(i + 2));
    ok(layover_execution_run(execution, 0, &reached));
    assert_int_equal(reached, LAYOVER_FINISHED);
    for (int i = YIELDS_MAX; i < YIELDS_MAX + 5; i++) take(execution, (float)(i + 2));
    layover_execution_free(execution);
    layover_model_close(model);
}

/* Through bytes at every instruction and on two devices, yields in the queue included. */
static void test_library_goes_on_from_bytes(void **state) {
    (void)state;
    LayoverState reached;
    LayoverModel *models[] = {open_model("cpu"), open_model("sim:0")};
    LayoverExecution *execution = start(models[0], "steps", 4);
    for (int i = 1;; i++) {
        void *bytes;
        size_t size;
        LayoverExecution *other = NULL;
        ok(layover_execution_run(execution, 1, &reached));
        ok(layover_execution_checkpoint_bytes(execution, &bytes, &size));
        fails("CORRUPT", "half a file",
            layover_execution_resume_bytes(models[0], bytes, size / 2, "half a file", &other));
        ok(layover_execution_resume_bytes(models[i % 2], bytes, size, "the bytes", &other));
        layover_bytes_free(bytes);
        layover_execution_free(execution);
        execution = other;
        if (reached == LAYOVER_FINISHED) break;
    }
    for (int i = 0; i < 4; i++) take(execution, (float)(i + 2));
    check_result(execution, 6);
    layover_execution_free(execution);
    for (int i = 0; i < 2; i++) layover_model_close(models[i]);
}

int test_library_inspect(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_library_inspects_every_instruction),
        cmocka_unit_test(test_library_stops_at_each_yield),
        cmocka_unit_test(test_library_queues_yields_up_to_a_limit),
        cmocka_unit_test(test_library_goes_on_from_bytes),
    };
    return cmocka_run_group_tests_name("library_inspect", tests, NULL, NULL);
}
