#include "tests/onnx_suite/suite_run.h"

#include "compiler/compile.h"
#include "serialize/checkpoint/checkpoint.h"
#include "tests/onnx_suite/suite_compare.h"
#include "vm/objects/adt.h"
#include "vm/execution/execution.h"

static const ExecutionOptions default_options = {0};

static Error *start(Residency *residency, const SuiteSet *set, Execution **out) {
    uint32_t function;
    TRY(executable_find_function(residency->executable, "main", &function));
    return execution_create(
        residency, &default_options, function, set->inputs, set->input_count, out);
}

static Error *go_on(const ByteWriter *file, Residency *residency, Execution **out) {
    OWN(Container, container) = NULL;
    TRY(container_open_memory(CONTAINER_CHECKPOINT, file->data, file->size, &container));
    return checkpoint_read(
        container, NULL, CHUNK_VERIFY_SHA256, residency, &default_options, NULL, out);
}

/* Puts a fresh execution in the place of one that is suspended, through bytes. */
static Error *replace(Residency *residency, Execution **inout_execution) {
    ByteWriter OWN_BYTES(file) = {0};
    OWN(Snapshot, snapshot) = NULL;
    TRY(snapshot_take(*inout_execution, &snapshot));
    TRY(checkpoint_write_memory(snapshot, NULL, &file));
    execution_release(*inout_execution);
    *inout_execution = NULL;
    return go_on(&file, residency, inout_execution);
}

static Error *run_chained(Residency *residency, Execution **inout_execution) {
    for (;;) {
        RunResult result;
        TRY(execution_run(*inout_execution, (Budget){1}, &result));
        if (result.kind == RUN_FINISHED) return NULL;
        if (result.kind != RUN_SUSPENDED) FAIL(INTERNAL, "it does not stop");
        TRY(replace(residency, inout_execution));
    }
}

static Error *run_straight(Execution *execution) {
    RunResult result;
    TRY(execution_run(execution, (Budget){0}, &result));
    if (result.kind != RUN_FINISHED) FAIL(INTERNAL, "it does not finish");
    return NULL;
}

/* Output index of a result: a tuple's field, or the one value. */
static const Value *output_at(const Value *result, uint32_t count, uint32_t index) {
    return count > 1 ? &result->adt->fields[index] : result;
}

static Error *check_count(const Value *result, uint32_t count) {
    if (count == 1) return NULL;
    if (!value_is(result, OBJECT_ADT) || result->adt->count != count)
        FAIL(INTERNAL, "not a tuple of %u outputs", count);
    return NULL;
}

static Error *check_outputs(const SuiteCase *suite_case, const SuiteSet *set, const Value *result) {
    SuiteTolerance tolerance = {suite_case->relative, suite_case->absolute};
    TRY(check_count(result, set->output_count));
    for (uint32_t i = 0; i < set->output_count; i++)
        TRY_WRAP(
            suite_compare(output_at(result, set->output_count, i), &set->outputs[i], &tolerance),
            "output %u", i);
    return NULL;
}

/* A run that draws random numbers goes on drawing the same ones. */
static Error *check_chained(Residency *residency, const SuiteSet *set, const Value *straight) {
    OWN(Execution, execution) = NULL;
    TRY(start(residency, set, &execution));
    TRY(run_chained(residency, &execution));
    const Value *result = execution_get_result(execution);
    TRY(check_count(result, set->output_count));
    for (uint32_t i = 0; i < set->output_count; i++)
        TRY_WRAP(suite_compare_bits(output_at(result, set->output_count, i),
                     output_at(straight, set->output_count, i)),
            "output %u of the chained run", i);
    return NULL;
}

static Error *run_set(const SuiteMachine *machine, Residency *residency,
    const SuiteCase *suite_case, const SuiteSet *set) {
    OWN(Execution, execution) = NULL;
    TRY(start(residency, set, &execution));
    TRY(run_straight(execution));
    const Value *result = execution_get_result(execution);
    TRY(check_outputs(suite_case, set, result));
    return machine->chained ? check_chained(residency, set, result) : NULL;
}

Error *suite_run(const SuiteMachine *machine, const SuiteCase *suite_case) {
    CompileOptions options = {.folder = NULL};
    OWN(Executable, executable) = NULL;
    OWN(Residency, residency) = NULL;
    TRY(compile_source("onnx", suite_case->model, suite_case->model_size, &options, &executable));
    TRY(residency_create(executable, machine->host, machine->device, machine->pool, &residency));
    for (uint32_t i = 0; i < suite_case->set_count; i++)
        TRY_WRAP(run_set(machine, residency, suite_case, &suite_case->sets[i]), "data set %u", i);
    return NULL;
}
