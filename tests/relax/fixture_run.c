#include "tests/relax/fixture_run.h"

#include "base/allocator.h"
#include "kernels/registry/device_registry.h"
#include "serialize/checkpoint/checkpoint.h"
#include "tests/relax/fixture_json.h"
#include "vm/objects/object.h"
#include "vm/objects/value_equal.h"

enum { INPUTS_MAX = 64 };
#define MEMORY_LIMIT (UINT64_C(64) << 20)

Error *fixture_machine_init(
    FixtureMachine *machine, Executable *executable, PackedRegistry *registry) {
    *machine = (FixtureMachine){
        .executable = executable_retain(executable), .registry = packed_registry_retain(registry)};
    machine->options =
        (ExecutionOptions){.packed = registry, .memory_limit_bytes = {MEMORY_LIMIT, MEMORY_LIMIT}};
    TRY(device_open("cpu", &machine->cpu));
    return residency_create(executable, machine->cpu, machine->cpu, NULL, &machine->residency);
}

void fixture_machine_deinit(FixtureMachine *machine) {
    residency_release(machine->residency);
    executable_release(machine->executable);
    packed_registry_release(machine->registry);
    if (machine->cpu) device_close(machine->cpu);
}

/* Takes a stopped execution through the bytes of a checkpoint. */
static Error *through_bytes(const FixtureMachine *machine, Execution **inout_execution) {
    ByteWriter OWN_BYTES(bytes) = {0};
    OWN(Snapshot, snapshot) = NULL;
    OWN(Container, container) = NULL;
    Execution *fresh;
    TRY(snapshot_take(*inout_execution, &snapshot));
    TRY(checkpoint_write_memory(snapshot, NULL, &bytes));
    execution_release(*inout_execution);
    *inout_execution = NULL;
    TRY(container_open_memory(CONTAINER_CHECKPOINT, bytes.data, bytes.size, &container));
    TRY(checkpoint_read(
        container, NULL, CHUNK_VERIFY_SHA256, machine->residency, &machine->options, NULL, &fresh));
    *inout_execution = fresh;
    return NULL;
}

static Error *start(const FixtureMachine *machine, json_object *call, Execution **out) {
    json_object *function, *inputs;
    Value values[INPUTS_MAX];
    uint32_t index, count = 0;
    if (!json_object_object_get_ex(call, "function", &function) ||
        !json_object_object_get_ex(call, "inputs", &inputs) ||
        json_object_array_length(inputs) > INPUTS_MAX)
        FAIL(CORRUPT, "a call without function or inputs, or with too many");
    TRY(executable_find_function(machine->executable, json_object_get_string(function), &index));
    Error *error = NULL;
    for (; !error && count < json_object_array_length(inputs); count++) {
        values[count] = value_nil();
        error = fixture_json_read(json_object_array_get_idx(inputs, count), &values[count]);
    }
    if (!error)
        error = execution_create(machine->residency, &machine->options, index, values, count, out);
    for (uint32_t i = 0; i < count; i++) value_release(&values[i]);
    return error;
}

/* *out_started: the call's function and all that it needs exist. */
static Error *run(const FixtureMachine *machine, json_object *call, uint64_t step,
    uint64_t *inout_suspensions, bool *out_started, Value *out_result) {
    RunResult result;
    OWN(Execution, execution) = NULL;
    TRY(start(machine, call, &execution));
    *out_started = true;
    for (;;) {
        TRY(execution_run(execution, (Budget){step}, &result));
        if (result.kind == RUN_FINISHED) break;
        if (result.kind != RUN_SUSPENDED) FAIL(EXHAUSTED, "it waits for memory");
        ++*inout_suspensions;
        TRY_WRAP(through_bytes(machine, &execution), "checkpoint");
    }
    *out_result = value_copy(*execution_get_result(execution));
    return NULL;
}

static Error *compare(const Value *expected, const Value *got) {
    bool equal;
    TextBuilder OWN_TEXT(text) = {0};
    TRY(value_equal(expected, got, &equal));
    if (equal) return NULL;
    value_print(got, &text);
    text_append(&text, " instead of ");
    value_print(expected, &text);
    FAIL(FAILED, "the result is %s", text_builder_get(&text));
}

Error *fixture_call(
    const FixtureMachine *machine, json_object *call, uint64_t step, uint64_t *inout_suspensions) {
    json_object *wanted;
    Value expected = value_nil(), got = value_nil();
    if (!json_object_object_get_ex(call, "expected", &wanted)) FAIL(CORRUPT, "nothing is expected");
    bool started = false;
    Error *error = run(machine, call, step, inout_suspensions, &started, &got);
    if (fixture_json_is_error(wanted)) {
        value_release(&got);
        if (!error) FAIL(FAILED, "an error was expected");
        if (error_code(error) == ERROR_INTERNAL ||
            (error_code(error) == ERROR_NOT_FOUND && !started))
            return error;
        error_free(error); /* expected */
        return NULL;
    }
    if (!error) error = fixture_json_read(wanted, &expected);
    if (!error) error = compare(&expected, &got);
    value_release(&got);
    value_release(&expected);
    return error;
}

void fixture_try_call(const FixtureMachine *machine, json_object *call, uint64_t instructions) {
    RunResult result;
    OWN(Execution, execution) = NULL;
    Error *error = start(machine, call, &execution);
    if (!error) error = execution_run(execution, (Budget){instructions}, &result);
    error_free(error); /* either is right */
}
