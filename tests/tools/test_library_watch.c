/* Instruments, profiles and timings of liblayover: nothing but its header. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "include/layover.h"
#include "tests/tools/library_checks.h"
#include "tests/tools/test_library_watch.h"

enum { LENGTH = 3, ADDS = 100 };

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

static float first_of(const LayoverValue *value) {
    assert_int_equal(value->kind, LAYOVER_TENSOR);
    const DLTensor *tensor = &value->tensor->dl_tensor;
    return *(const float *)((const char *)tensor->data + tensor->byte_offset);
}

static LayoverModel *open_model(const char *device) {
    LayoverModel *model = NULL;
    ok(layover_model_open(LIBRARY_MODEL, device, &model));
    return model;
}

static LayoverExecution *start(LayoverModel *model, const char *function) {
    LayoverExecution *execution = NULL;
    const uint32_t count = strcmp(function, "pair") == 0 ? 2 : 1;
    const LayoverValue arguments[] = {give(1), count == 2 ? give(10) : (LayoverValue){0}};
    ok(layover_execution_start_values(model, function, arguments, count, &execution));
    return execution;
}

static void finish(LayoverExecution *execution) {
    LayoverState state;
    ok(layover_execution_run(execution, 0, &state));
    assert_int_equal(state, LAYOVER_FINISHED);
}

typedef struct Seen {
    uint32_t before, after;
    float sum; /* of the first element of the last result */
    int skip;
    const char *error;
    LayoverModel *model; /* not NULL: the instrument tries to run it */
    LayoverValue kept;   /* of the first argument, if keep is set */
    int keep;
} Seen;

static const char *watch(void *context, LayoverCall *call, int *inout_skip) {
    Seen *seen = context;
    assert_string_equal(call->name, "Add");
    assert_int_equal(call->argument_count, 2);
    assert_int_equal(call->result_count, !call->is_before);
    (void)first_of(&call->arguments[1]);
    if (call->is_before) {
        seen->before++;
        assert_string_equal(call->kernel, "");
    } else {
        seen->after++;
        assert_true(strlen(call->kernel) > 0);
        seen->sum = first_of(&call->results[0]);
    }
    if (seen->keep && call->is_before) {
        seen->kept = call->arguments[0];
        call->arguments[0] = (LayoverValue){LAYOVER_NIL, {0}};
    }
    *inout_skip = seen->skip;
    if (seen->model) {
        LayoverExecution *inner = start(seen->model, "pair");
        LayoverState state;
        fails("CONFLICT", "must not run a model", layover_execution_run(inner, 0, &state));
        layover_execution_free(inner);
    }
    return seen->error;
}

static void test_library_watch_sees_each_call(void **state) {
    (void)state;
    static const char *const devices[] = {"cpu", "sim:0"};
    for (size_t i = 0; i < 2; i++) {
        Seen seen = {0};
        LayoverState reached;
        LayoverModel *model = open_model(devices[i]);
        LayoverExecution *execution = start(model, "main");
        ok(layover_execution_set_instrument(execution, watch, &seen));
        ok(layover_execution_run(execution, 1, &reached));
        assert_int_equal(seen.before, 1);
        ok(layover_execution_run(execution, 150, &reached));
        ok(layover_execution_set_instrument(execution, NULL, NULL));
        const uint32_t half = seen.after;
        finish(execution);
        assert_int_equal(seen.after, half);
        assert_int_equal(seen.before, half);
        assert_true(half > 1 && half < ADDS && seen.sum == (float)half + 1);
        layover_execution_free(execution);
        layover_model_close(model);
    }
}

static void test_library_watch_skips_a_call(void **state) {
    (void)state;
    Seen seen = {.skip = 1};
    LayoverValue result;
    LayoverModel *model = open_model("cpu");
    LayoverExecution *execution = start(model, "pair");
    ok(layover_execution_set_instrument(execution, watch, &seen));
    finish(execution);
    assert_true(seen.before == 1 && seen.after == 0);
    ok(layover_execution_get_output(execution, NULL, 0, &result));
    assert_int_equal(result.tuple->fields[0].kind, LAYOVER_NIL);
    assert_float_equal(first_of(&result.tuple->fields[1]), 1, 0);
    layover_value_release(&result);
    layover_execution_free(execution);
    layover_model_close(model);
}

static void test_library_watch_fails_keeps_and_runs_no_model(void **state) {
    (void)state;
    LayoverState reached;
    LayoverModel *model = open_model("cpu");
    Seen seen = {.error = "enough"};
    LayoverExecution *execution = start(model, "pair");
    ok(layover_execution_set_instrument(execution, watch, &seen));
    fails("FAILED", "enough", layover_execution_run(execution, 0, &reached));
    layover_execution_free(execution);
    seen = (Seen){.model = model, .keep = 1};
    execution = start(model, "pair");
    ok(layover_execution_set_instrument(execution, watch, &seen));
    finish(execution);
    assert_int_equal(seen.after, 1);
    layover_execution_free(execution);
    layover_model_close(model);
    assert_float_equal(first_of(&seen.kept), 1, 0);
    layover_value_release(&seen.kept);
}

static void test_library_watch_profiles_each_call(void **state) {
    (void)state;
    Seen seen = {0};
    LayoverState reached;
    LayoverProfile *profile;
    LayoverModel *model = open_model("sim:0");
    LayoverExecution *execution = start(model, "main");
    fails("CONFLICT", "no profile", layover_execution_take_profile(execution, &profile));
    ok(layover_execution_set_instrument(execution, watch, &seen));
    fails("CONFLICT", "has an instrument", layover_execution_start_profile(execution));
    ok(layover_execution_set_instrument(execution, NULL, NULL));
    ok(layover_execution_start_profile(execution));
    fails("CONFLICT", "a profile", layover_execution_start_profile(execution));
    fails("CONFLICT", "a profile", layover_execution_set_instrument(execution, watch, &seen));
    ok(layover_execution_run(execution, 10, &reached));
    finish(execution);
    ok(layover_execution_take_profile(execution, &profile));
    layover_execution_free(execution);
    layover_model_close(model);
    assert_int_equal(profile->row_count, ADDS);
    assert_string_equal(profile->device, "sim:0");
    uint64_t last = 0;
    for (uint32_t i = 0; i < profile->row_count; i++) {
        const LayoverProfileRow *row = &profile->rows[i];
        assert_string_equal(row->name, "Add");
        assert_string_equal(row->shapes, "float32[3], float32[3]");
        assert_true(strlen(row->kernel) > 0 && row->start_ns >= last);
        last = row->start_ns + row->ns;
    }
    assert_true(last > 0 && last <= profile->ns);
    layover_profile_free(profile);
    layover_profile_free(NULL);
    model = open_model("cpu");
    execution = start(model, "main"); /* a profile that is not taken is freed */
    ok(layover_execution_start_profile(execution));
    finish(execution);
    layover_execution_free(execution);
    layover_model_close(model);
}

static void test_library_watch_times_a_function(void **state) {
    (void)state;
    LayoverTiming timing;
    double seconds[4] = {0};
    LayoverModel *model = open_model("cpu");
    const LayoverTimeOptions options = {.repeat = 4, .number = 2};
    LayoverValue x = give(1);
    ok(layover_model_time_evaluator(model, "main", &x, 1, &options, &timing, seconds));
    assert_true(timing.repeat == 4 && timing.number == 2);
    double least = seconds[0], sum = 0;
    for (uint32_t i = 0; i < 4; i++) {
        least = seconds[i] < least ? seconds[i] : least;
        sum += seconds[i];
    }
    assert_true(least > 0 && timing.min_s == least && timing.max_s >= timing.median_s);
    assert_float_equal(timing.mean_s, sum / 4, 1e-6);
    const LayoverTimeOptions longer = {.repeat = 1, .number = 1, .min_repeat_ms = 2};
    x = give(1);
    ok(layover_model_time_evaluator(model, "main", &x, 1, &longer, &timing, NULL));
    assert_true(timing.number > 1 || timing.min_s > 0.001);
    const LayoverTimeOptions many = {.repeat = 20000};
    x = give(1);
    fails("INVALID", "20000",
        layover_model_time_evaluator(model, "main", &x, 1, &many, &timing, NULL));
    x = give(1);
    fails("NOT_FOUND", "nothing",
        layover_model_time_evaluator(model, "nothing", &x, 1, NULL, &timing, NULL));
    layover_model_close(model);
}

int test_library_watch(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_library_watch_sees_each_call),
        cmocka_unit_test(test_library_watch_skips_a_call),
        cmocka_unit_test(test_library_watch_fails_keeps_and_runs_no_model),
        cmocka_unit_test(test_library_watch_profiles_each_call),
        cmocka_unit_test(test_library_watch_times_a_function),
    };
    return cmocka_run_group_tests_name("library_watch", tests, NULL, NULL);
}
