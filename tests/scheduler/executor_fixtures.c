#include "tests/scheduler/executor_fixtures.h"

#include <string.h>

#include "kernels/registry/device_registry.h"
#include "serialize/container/executable_file.h"
#include "vm/assembly/assembly.h"

void executor_fixture_init(ExecutorFixture *fixture, const char *program, const char *device) {
    assert_ok(assembly_parse(program, strlen(program), &fixture->executable));
    assert_ok(executable_identify(fixture->executable, NULL));
    assert_ok(device_open(device, &fixture->device));
    static Device *host; /* slot 0's; lives as long as the process */
    if (!host) assert_ok(device_open("cpu", &host));
    assert_ok(
        residency_create(fixture->executable, host, fixture->device, NULL, &fixture->residency));
}

void executor_fixture_deinit(ExecutorFixture *fixture) {
    residency_release(fixture->residency);
    executable_release(fixture->executable);
    device_close(fixture->device);
}

void fixture_add_floats(ArrayList *list, const char *name, const Shape *shape, float base) {
    NamedArray array;
    assert_ok(named_array_init(&array, name, DTYPE_FLOAT32, shape));
    for (uint64_t i = 0; i < array.size / sizeof(float); i++)
        ((float *)array.data)[i] = base + (float)i;
    assert_ok(array_list_add(list, &array));
}

Error *fixture_job(const ExecutorFixture *fixture, const char *function, ArrayList *inputs,
    uint64_t size, JobRun **out) {
    static const ExecutionOptions options = {.yield_limit = 1};
    BatchOptions batch_options = {.items = size > 0, .size = size};
    uint32_t index;
    Batch *batch;
    TRY(executable_find_function(fixture->executable, function, &index));
    TRY(batch_create(fixture->executable, index, inputs, &batch_options, &batch));
    return job_run_create(batch, index, &options, out);
}

static void check_equal(const ArrayList *a, const ArrayList *b) {
    assert_int_equal(a->count, b->count);
    for (size_t i = 0; i < a->count; i++) {
        assert_string_equal(a->items[i].name, b->items[i].name);
        assert_true(shape_equal(&a->items[i].shape, &b->items[i].shape));
        assert_memory_equal(a->items[i].data, b->items[i].data, a->items[i].size);
    }
}

static Error *take(void *self, int64_t sequence, ArrayList *owned_arrays, int64_t items_done) {
    FixtureOutputs *outputs = self;
    assert_in_range(sequence, 0, 63);
    assert_true(sequence <= outputs->count); /* no number is left out */
    if (outputs->stop) job_run_request_slice_end(outputs->stop);
    if (items_done > outputs->items_done) outputs->items_done = items_done;
    if (sequence < outputs->count) {
        check_equal(&outputs->rows[sequence], owned_arrays);
        outputs->repeated++;
        array_list_deinit(owned_arrays);
        return NULL;
    }
    outputs->rows[outputs->count++] = *owned_arrays;
    *owned_arrays = (ArrayList){0};
    return NULL;
}

JobRunSink fixture_sink(FixtureOutputs *outputs) { return (JobRunSink){take, outputs}; }

void fixture_outputs_deinit(FixtureOutputs *outputs) {
    for (int64_t i = 0; i < outputs->count; i++) array_list_deinit(&outputs->rows[i]);
}
