/* liblayover as a user sees it: nothing but its header, linked against the shared library. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "include/layover.h"
#include "tests/tools/library_checks.h"
#include "tests/tools/test_library_home.h"
#include "tests/tools/test_library_inspect.h"
#include "tests/tools/test_library_module.h"
#include "tests/tools/test_library_watch.h"

enum { LENGTH = 3 };

/* A producer's tensor: how often its deleter was called is counted. */
typedef struct Produced {
    DLManagedTensor managed;
    int64_t shape[1];
    float data[LENGTH];
    int *deleted;
} Produced;

static void delete_produced(DLManagedTensor *managed) {
    Produced *produced = managed->manager_ctx;
    ++*produced->deleted;
    free(produced);
}

static DLManagedTensor *produce(float first, int *deleted) {
    Produced *produced = calloc(1, sizeof *produced);
    assert_non_null(produced);
    for (int i = 0; i < LENGTH; i++) produced->data[i] = first + (float)i;
    produced->shape[0] = LENGTH;
    produced->deleted = deleted;
    produced->managed.dl_tensor = (DLTensor){
        .data = produced->data,
        .device = {kDLCPU, 0},
        .ndim = 1,
        .dtype = {kDLFloat, 32, 1},
        .shape = produced->shape,
    };
    produced->managed.manager_ctx = produced;
    produced->managed.deleter = delete_produced;
    return &produced->managed;
}

/* The bits of an output. */
static void take_output(LayoverExecution *execution, uint32_t index, float out[LENGTH]) {
    DLManagedTensor *output;
    ok(layover_execution_output(execution, index, &output));
    assert_int_equal(output->dl_tensor.ndim, 1);
    assert_int_equal(output->dl_tensor.shape[0], LENGTH);
    assert_int_equal(output->dl_tensor.dtype.code, kDLFloat);
    assert_int_equal(output->dl_tensor.device.device_type, kDLCPU);
    memcpy(
        out, (char *)output->dl_tensor.data + output->dl_tensor.byte_offset, LENGTH * sizeof *out);
    output->deleter(output);
}

static LayoverModel *open_path(const char *path, const char *device) {
    LayoverModel *model = NULL;
    ok(layover_model_open(path, device, &model));
    return model;
}

static LayoverModel *open_model(const char *device) { return open_path(LIBRARY_MODEL, device); }

/* main of 0.1, 1.1, 2.1: sums that round. */
static LayoverExecution *start_main(LayoverModel *model, int *deleted) {
    LayoverExecution *execution = NULL;
    DLManagedTensor *input = produce(0.1f, deleted);
    ok(layover_execution_start(model, "main", &input, 1, &execution));
    return execution;
}

static void run_straight(const char *device, float out[LENGTH]) {
    int deleted = 0;
    LayoverState state;
    LayoverModel *model = open_model(device);
    LayoverExecution *execution = start_main(model, &deleted);
    ok(layover_execution_run(execution, 0, &state));
    assert_int_equal(state, LAYOVER_FINISHED);
    take_output(execution, 0, out);
    layover_execution_free(execution);
    layover_model_close(model);
    assert_int_equal(deleted, 1);
}

static void test_library_runs_a_model(void **state) {
    (void)state;
    float out[LENGTH], expected[LENGTH];
    run_straight("cpu", out);
    for (int i = 0; i < LENGTH; i++) {
        float x = 0.1f + (float)i;
        expected[i] = x + x;
        for (int k = 1; k < 100; k++) expected[i] += x;
    }
    assert_memory_equal(out, expected, sizeof out);
}

static void test_library_gives_the_same_bits_on_other_devices_and_threads(void **state) {
    (void)state;
    float cpu[LENGTH], sim[LENGTH];
    run_straight("cpu", cpu);
    run_straight("sim:0,memory=64MiB", sim);
    assert_memory_equal(cpu, sim, sizeof cpu);
    int deleted = 0;
    LayoverState finished;
    LayoverModel *model = open_model("cpu");
    layover_model_set_threads(model, 4);
    LayoverExecution *execution = start_main(model, &deleted);
    ok(layover_execution_run(execution, 0, &finished));
    take_output(execution, 0, sim);
    assert_memory_equal(cpu, sim, sizeof cpu);
    layover_execution_free(execution);
    layover_model_close(model);
}

/* Stopped every few instructions, written, and taken up by a model on the other device. */
static void test_library_goes_on_elsewhere_with_the_same_bits(void **state) {
    (void)state;
    static const char *const devices[] = {"cpu", "sim:0"};
    char path[] = "/tmp/layover_library_XXXXXX";
    float straight[LENGTH], out[LENGTH];
    int descriptor = mkstemp(path), deleted = 0, stops = 0;
    assert_true(descriptor >= 0);
    assert_int_equal(close(descriptor), 0);
    run_straight("cpu", straight);
    LayoverModel *models[] = {open_model(devices[0]), open_model(devices[1])};
    LayoverExecution *execution = start_main(models[0], &deleted);
    for (;;) {
        LayoverState reached;
        ok(layover_execution_run(execution, 37, &reached));
        if (reached == LAYOVER_FINISHED) break;
        assert_int_equal(reached, LAYOVER_SUSPENDED);
        DLManagedTensor *early = NULL;
        fails("NOT_FOUND", "not finished", layover_execution_output(execution, 0, &early));
        assert_null(early);
        ok(layover_execution_checkpoint(execution, path));
        layover_execution_free(execution);
        ok(layover_execution_resume(models[++stops % 2], path, &execution));
    }
    assert_true(stops > 5);
    take_output(execution, 0, out);
    assert_memory_equal(out, straight, sizeof out);
    layover_execution_free(execution);
    layover_model_close(models[0]);
    layover_model_close(models[1]);
    assert_int_equal(deleted, 1);
    (void)remove(path);
}

static void test_library_suspends_when_it_is_asked_to(void **state) {
    (void)state;
    int deleted = 0;
    LayoverState reached;
    float straight[LENGTH], out[LENGTH];
    run_straight("cpu", straight);
    LayoverModel *model = open_model("cpu");
    LayoverExecution *execution = start_main(model, &deleted);
    layover_execution_request_suspend(execution);
    ok(layover_execution_run(execution, 0, &reached));
    assert_int_equal(reached, LAYOVER_SUSPENDED);
    ok(layover_execution_run(execution, 0, &reached));
    assert_int_equal(reached, LAYOVER_FINISHED);
    take_output(execution, 0, out);
    assert_memory_equal(out, straight, sizeof out);
    layover_execution_free(execution);
    layover_model_close(model);
}

/* Executions keep what they need of a model that was closed. */
static void test_library_executions_outlive_their_model(void **state) {
    (void)state;
    int deleted = 0;
    LayoverState reached;
    float out[LENGTH];
    LayoverModel *model = open_model("cpu");
    LayoverExecution *execution = start_main(model, &deleted);
    layover_model_close(model);
    ok(layover_execution_run(execution, 0, &reached));
    take_output(execution, 0, out);
    layover_execution_free(execution);
    assert_int_equal(deleted, 1);
}

static void test_library_has_several_inputs_and_outputs(void **state) {
    (void)state;
    int deleted = 0;
    uint32_t inputs, outputs;
    LayoverState reached;
    LayoverExecution *execution;
    float sum[LENGTH], first[LENGTH];
    LayoverModel *model = open_model("cpu");
    ok(layover_model_function(model, "pair", &inputs, &outputs));
    assert_int_equal(inputs, 2);
    assert_int_equal(outputs, 2);
    assert_string_equal(layover_model_input_name(model, "pair", 1), "b");
    assert_string_equal(layover_model_output_name(model, "pair", 0), "sum");
    assert_string_equal(layover_model_output_name(model, "pair", 2), "");
    assert_string_equal(layover_model_input_name(model, "gone", 0), "");
    DLManagedTensor *given[] = {produce(1, &deleted), produce(10, &deleted)};
    ok(layover_execution_start(model, "pair", given, 2, &execution));
    ok(layover_execution_run(execution, 0, &reached));
    take_output(execution, 0, sum);
    take_output(execution, 1, first);
    assert_memory_equal(sum, ((const float[]){11, 13, 15}), sizeof sum);
    assert_memory_equal(first, ((const float[]){1, 2, 3}), sizeof first);
    DLManagedTensor *third = NULL;
    fails("NOT_FOUND", "output 2 of 2", layover_execution_output(execution, 2, &third));
    layover_execution_free(execution);
    layover_model_close(model);
    assert_int_equal(deleted, 2);
}

/* Inputs are consumed, also when the start fails. */
/* The first half of an executable. */
static void fails_when_cut(LayoverModel **out_model) {
    char path[] = "/tmp/layover_cut_XXXXXX", bytes[1024];
    const int descriptor = mkstemp(path);
    FILE *whole = fopen(LIBRARY_MODEL, "rb");
    assert_true(descriptor >= 0 && whole);
    const size_t size = fread(bytes, 1, sizeof bytes, whole) / 2;
    assert_true(size > 0 && write(descriptor, bytes, size) == (ssize_t)size);
    (void)fclose(whole);
    (void)close(descriptor);
    fails("CORRUPT", path, layover_model_open(path, "cpu", out_model));
    (void)unlink(path);
}

static void test_library_says_what_is_wrong_by_code_and_message(void **state) {
    (void)state;
    int deleted = 0;
    uint32_t unused;
    LayoverModel *model = NULL;
    LayoverExecution *execution = NULL;
    fails("NOT_FOUND", "gone.lvx", layover_model_open("/tmp/gone.lvx", "cpu", &model));
    fails("UNSUPPORTED", "a library that TVM did not export",
        layover_model_open("/proc/self/exe", "cpu", &model));
    fails_when_cut(&model);
    fails("UNSUPPORTED", "gpu", layover_model_open(LIBRARY_MODEL, "gpu:7", &model));
    assert_null(model);
    model = open_model("cpu");
    fails("NOT_FOUND", "gone", layover_model_function(model, "gone", &unused, &unused));
    DLManagedTensor *input = produce(1, &deleted);
    fails("NOT_FOUND", "gone", layover_execution_start(model, "gone", &input, 1, &execution));
    assert_int_equal(deleted, 1);
    fails("INVALID", "", layover_execution_start(model, "main", NULL, 0, &execution));
    input = produce(1, &deleted);
    input->dl_tensor.dtype = (DLDataType){kDLInt, 32, 1};
    fails("INVALID", "x", layover_execution_start(model, "main", &input, 1, &execution));
    assert_int_equal(deleted, 2);
    fails("INVALID", "library_model.lvx: an executable, not a checkpoint",
        layover_execution_resume(model, LIBRARY_MODEL, &execution));
    assert_null(execution);
    layover_model_close(model);
    layover_model_close(NULL);
    layover_execution_free(NULL);
    layover_error_free(NULL);
}

static void count_release(void *context) { ++*(int *)context; }

/* x times the integer behind it. */
static const char *scale(
    void *context, const LayoverValue *arguments, uint32_t argument_count, LayoverValue *out) {
    static int deleted;
    (void)context;
    if (argument_count != 2 || arguments[0].kind != LAYOVER_TENSOR ||
        arguments[1].kind != LAYOVER_INT)
        return "scale wants a tensor and an integer";
    const DLTensor *x = &arguments[0].tensor->dl_tensor;
    const float *from = (const float *)((const char *)x->data + x->byte_offset);
    DLManagedTensor *made = produce(0, &deleted);
    for (int i = 0; i < LENGTH; i++)
        ((float *)made->dl_tensor.data)[i] = from[i] * (float)arguments[1].integer;
    *out = (LayoverValue){.kind = LAYOVER_TENSOR, .tensor = made};
    return NULL;
}

static const char *refuse(
    void *context, const LayoverValue *arguments, uint32_t argument_count, LayoverValue *out) {
    (void)context, (void)arguments, (void)argument_count, (void)out;
    return "not today";
}

static void test_library_calls_packed_functions_of_the_host(void **state) {
    (void)state;
    static const char *const devices[] = {"cpu", "sim:0"};
    for (size_t i = 0; i < 2; i++) {
        int deleted = 0, released = 0;
        float out[LENGTH];
        LayoverState reached;
        LayoverExecution *execution = NULL;
        LayoverModel *model = open_path(LIBRARY_PACKED, devices[i]);
        DLManagedTensor *input = produce(1, &deleted);
        fails("NOT_FOUND", "host.scale",
            layover_execution_start(model, "scaled", &input, 1, &execution));
        ok(layover_model_add_packed(model, "host.scale", 2, scale, &released, count_release));
        fails("CONFLICT", "host.scale",
            layover_model_add_packed(model, "host.scale", 2, scale, &released, count_release));
        input = produce(1, &deleted);
        ok(layover_execution_start(model, "scaled", &input, 1, &execution));
        ok(layover_execution_run(execution, 0, &reached));
        take_output(execution, 0, out);
        assert_memory_equal(out, ((const float[]){3, 6, 9}), sizeof out);
        layover_execution_free(execution);
        assert_int_equal(released, 0);
        layover_model_close(model);
        assert_int_equal(released, 1);
    }
}

static void test_library_reports_what_packed_functions_refuse(void **state) {
    (void)state;
    int deleted = 0;
    LayoverState reached;
    LayoverExecution *execution = NULL;
    LayoverModel *model = open_path(LIBRARY_PACKED, "cpu");
    ok(layover_model_add_packed(model, "host.scale", -1, refuse, NULL, NULL));
    DLManagedTensor *input = produce(1, &deleted);
    ok(layover_execution_start(model, "scaled", &input, 1, &execution));
    fails("FAILED", "not today", layover_execution_run(execution, 0, &reached));
    layover_execution_free(execution);
    layover_model_close(model);
}

static void test_library_is_the_version_of_its_header(void **state) {
    (void)state;
    assert_string_equal(layover_version(), LAYOVER_VERSION);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_library_runs_a_model),
        cmocka_unit_test(test_library_gives_the_same_bits_on_other_devices_and_threads),
        cmocka_unit_test(test_library_goes_on_elsewhere_with_the_same_bits),
        cmocka_unit_test(test_library_suspends_when_it_is_asked_to),
        cmocka_unit_test(test_library_executions_outlive_their_model),
        cmocka_unit_test(test_library_has_several_inputs_and_outputs),
        cmocka_unit_test(test_library_says_what_is_wrong_by_code_and_message),
        cmocka_unit_test(test_library_calls_packed_functions_of_the_host),
        cmocka_unit_test(test_library_reports_what_packed_functions_refuse),
        cmocka_unit_test(test_library_is_the_version_of_its_header),
    };
    return cmocka_run_group_tests_name("library", tests, NULL, NULL) + test_library_module() +
           test_library_home() + test_library_inspect() + test_library_watch();
}
