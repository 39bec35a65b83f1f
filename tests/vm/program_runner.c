#include "tests/vm/program_runner.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/allocator.h"
#include "base/digest.h"
#include "base/file.h"
#include "kernels/tensor/tensor.h"
#include "tests/support/test_support.h"
#include "vm/objects/adt.h"
#include "vm/assembly/assembly.h"
#include "vm/objects/closure.h"
#include "vm/objects/list.h"
#include "vm/objects/shape_object.h"
#include "vm/objects/string_object.h"
#include "vm/objects/value_equal.h"

enum { PROGRAM_SIZE_MAX = 1 << 24, DIGEST_DEPTH_MAX = 4000 };

void program_outcome_deinit(ProgramOutcome *outcome) {
    value_release(&outcome->result);
    value_release(&outcome->yields);
}

Error *program_through_snapshot(void *context, Execution *stopped, Residency *target,
    const ExecutionOptions *options, Execution **out) {
    (void)context;
    OWN(Snapshot, snapshot) = NULL;
    TRY(snapshot_take(stopped, &snapshot));
    OWN(Execution, execution) = NULL;
    TRY(execution_create_empty(target, options, &execution));
    TRY(execution_restore(execution, snapshot));
    *out = TAKE(execution);
    return NULL;
}

static void drain(Execution *execution, ProgramOutcome *outcome) {
    Value value;
    uint64_t sequence;
    while (execution_take_yield(execution, &value, &sequence)) {
        assert_int_equal(sequence, outcome->yields.list->count);
        assert_ok(list_append(outcome->yields.list, value));
    }
}

static void grant(Execution *execution, const RunResult *result) {
    MemoryPool *pool = execution_get_pool(execution, result->slot);
    /* blocks are larger than asked for, and idle ones count */
    memory_pool_set_grant(pool, memory_pool_used_bytes(pool) + 2 * result->bytes + 4096);
}

static void no_grants(Execution *execution) {
    for (uint8_t slot = 0; slot < SLOT_COUNT; slot++)
        memory_pool_set_grant(execution_get_pool(execution, slot), 0);
}

typedef struct Running {
    const ProgramRun *run;
    ProgramOutcome *outcome;
    Execution *execution;
    uint64_t suspensions;
} Running;

/* One call of execution_run and what must happen before the next. True when it is over. */
static bool advance(Running *running) {
    const ProgramRun *run = running->run;
    bool limited = run->step && (!run->step_max || running->suspensions < run->step_max);
    RunResult result;
    uint64_t before = execution_get_counters(running->execution).instructions;
    Error *error = execution_run(running->execution, (Budget){limited ? run->step : 0}, &result);
    if (error) {
        running->outcome->failed = true;
        (void)snprintf(running->outcome->message, sizeof running->outcome->message, "%s",
            error_message(error));
        error_free(error);
        return true;
    }
    if (result.kind == RUN_FINISHED) return true;
    if (result.kind == RUN_NEEDS_MEMORY) grant(running->execution, &result);
    if (result.kind == RUN_BLOCKED) drain(running->execution, running->outcome);
    if (result.kind != RUN_SUSPENDED) return false;
    assert_int_equal(execution_get_counters(running->execution).instructions, before + run->step);
    running->suspensions++;
    if (!run->through) return false;
    Execution *fresh = NULL;
    Residency *target = run->residencies[running->suspensions % run->residency_count];
    assert_ok(run->through(run->through_context, running->execution, target, run->options, &fresh));
    execution_release(running->execution);
    running->execution = fresh;
    return false;
}

void program_run(const ProgramRun *run, uint32_t function, ProgramOutcome *out) {
    List *yields;
    assert_ok(list_create(NULL, 0, &yields));
    *out = (ProgramOutcome){.yields = value_object(OBJECT_LIST, yields)};
    Running running = {.run = run, .outcome = out};
    assert_ok(
        execution_create(run->residencies[0], run->options, function, NULL, 0, &running.execution));
    if (run->small_grants) no_grants(running.execution);
    while (!advance(&running)) {
    }
    drain(running.execution, out);
    out->result = value_copy(*execution_get_result(running.execution));
    out->counters = execution_get_counters(running.execution);
    execution_release(running.execution);
}

void program_outcomes_compare(
    const char *name, const char *way, const ProgramOutcome *expected, const ProgramOutcome *got) {
    if (expected->failed != got->failed || strcmp(expected->message, got->message) != 0)
        fail_msg("%s %s: \"%s\" instead of \"%s\"", name, way, got->message, expected->message);
    bool equal;
    assert_ok(value_equal(&expected->result, &got->result, &equal));
    if (!equal) fail_msg("%s %s: another result", name, way);
    assert_ok(value_equal(&expected->yields, &got->yields, &equal));
    if (!equal) fail_msg("%s %s: other yields", name, way);
    if (expected->counters.instructions != got->counters.instructions ||
        expected->counters.yields != got->counters.yields ||
        expected->counters.philox != got->counters.philox ||
        expected->counters.kernel_calls != got->counters.kernel_calls)
        fail_msg("%s %s: other counters", name, way);
}

static uint64_t mix(uint64_t digest, uint64_t word) {
    uint64_t state = digest ^ word;
    return test_random(&state) + digest * 31;
}

static uint64_t digest_tensor(const Tensor *tensor, uint64_t digest) {
    digest = mix(digest, (uint64_t)tensor->dtype * 2 + tensor->written);
    for (uint32_t i = 0; i < tensor->shape.rank; i++)
        digest = mix(digest, (uint64_t)tensor->shape.dims[i]);
    digest = mix(digest, (uint64_t)tensor->storage->slot << 32 | tensor->offset);
    uint64_t bytes = tensor_bytes(tensor);
    if (!tensor->written || bytes == 0) return digest;
    void *data;
    assert_ok(memory_map(bytes, &data));
    assert_ok(tensor_copy_to_host(tensor, data));
    digest = mix(digest, digest_xxh3(data, bytes));
    memory_unmap(data, bytes);
    return digest;
}

static uint64_t digest_value(const Value *value, uint64_t digest, uint32_t depth) {
    digest = mix(digest, (uint64_t)value->tag << 8 | value->kind);
    if (value->tag == VALUE_NIL || depth > DIGEST_DEPTH_MAX) return digest;
    if (value->tag == VALUE_BOOL) return mix(digest, value->boolean);
    if (value->tag == VALUE_DTYPE) return mix(digest, (uint64_t)value->dtype);
    if (value->tag != VALUE_OBJECT) return mix(digest, (uint64_t)value->integer);
    if (value->kind == OBJECT_TENSOR) return digest_tensor(value->tensor, digest);
    if (value->kind == OBJECT_ADT) digest = mix(digest, (uint64_t)value->adt->tag);
    if (value->kind == OBJECT_CLOSURE)
        digest = mix(digest, (uint64_t)value->closure->function * 2 + value->closure->side);
    if (value->kind == OBJECT_STRING)
        return mix(digest, digest_xxh3(value->string->text, value->string->size));
    if (value->kind == OBJECT_SHAPE)
        return mix(digest, digest_xxh3(value->shape->dims, value->shape->count * sizeof(int64_t)));
    if (value->kind == OBJECT_OPAQUE) {
        ByteWriter OWN_BYTES(writer) = {0};
        assert_ok(value->opaque->kind->save(value->opaque->state, &writer));
        return mix(digest, digest_xxh3(writer.data, writer.size));
    }
    uint32_t count;
    const Value *children = value_children(value, &count);
    digest = mix(digest, count);
    for (uint32_t i = 0; i < count; i++) digest = digest_value(&children[i], digest, depth + 1);
    return digest;
}

uint64_t program_digest_snapshot(const Snapshot *snapshot) {
    uint64_t digest = mix(snapshot->frame_count, snapshot->counters.instructions);
    for (uint32_t i = 0; i < snapshot->frame_count; i++)
        digest = mix(digest, (uint64_t)snapshot->frames[i].function << 32 | snapshot->frames[i].pc);
    for (uint32_t i = 0; i < snapshot->register_count; i++) {
        const SnapshotRegister *given = &snapshot->registers[i];
        digest = mix(digest, (uint64_t)given->frame << 32 | given->index);
        digest = digest_value(&given->value, digest, 0);
    }
    for (uint32_t i = 0; i < snapshot->yield_count; i++)
        digest = digest_value(&snapshot->yields[i], digest, 0);
    return digest_value(&snapshot->result, digest, 0);
}

Executable *program_load(const char *path) {
    uint8_t *data;
    size_t size;
    assert_ok(file_read(path, PROGRAM_SIZE_MAX, &data, &size));
    Executable *executable = NULL;
    Error *error = assembly_parse((const char *)data, size, &executable);
    if (error) fail_msg("%s: %s", path, error_message(error));
    memory_unmap(data, size);
    return executable;
}

bool program_expected_message(const char *path, const char *function, char *out, size_t size) {
    uint8_t *data;
    size_t file_size;
    assert_ok(file_read(path, PROGRAM_SIZE_MAX, &data, &file_size));
    void *memory;
    assert_ok(memory_alloc(file_size + 1, 1, &memory));
    memcpy(memory, data, file_size);
    memory_unmap(data, file_size);
    char wanted[300];
    (void)snprintf(wanted, sizeof wanted, "# %s: ", function);
    const char *at = strstr(memory, wanted);
    if (at) {
        at += strlen(wanted);
        (void)snprintf(out, size, "%.*s", (int)strcspn(at, "\n"), at);
    }
    memory_free(memory);
    return at;
}

static int compare_names(const void *left, const void *right) { return strcmp(left, right); }

void program_for_each(void (*visit)(const char *path, void *context), void *context) {
    enum { PROGRAMS_MAX = 256 };
    static char names[PROGRAMS_MAX][256];
    uint32_t count = 0;
    DIR *folder = opendir(TEST_SOURCE_ROOT "/tests/programs");
    assert_non_null(folder);
    for (struct dirent *entry; (entry = readdir(folder));) {
        size_t length = strlen(entry->d_name);
        if (length < 5 || strcmp(entry->d_name + length - 4, ".lva") != 0) continue;
        assert_true(count < PROGRAMS_MAX);
        (void)snprintf(names[count++], sizeof names[0], "%s", entry->d_name);
    }
    (void)closedir(folder);
    assert_true(count > 0);
    qsort(names, count, sizeof names[0], compare_names);
    for (uint32_t i = 0; i < count; i++) {
        char path[1024];
        (void)snprintf(path, sizeof path, TEST_SOURCE_ROOT "/tests/programs/%s", names[i]);
        visit(path, context);
    }
}

/* test.need_memory(n): answers n, after asking once for memory at each even n. */
static Error *need_memory(
    PackedCall *call, const Value *arguments, uint32_t count, void *context, Value *out_result) {
    (void)count;
    uint32_t *asked = context;
    if (arguments[0].tag != VALUE_INT) FAIL(INVALID, "argument 0 is not an int");
    if (arguments[0].integer % 2 == 0 && !*asked) {
        *asked = 1;
        call->memory = (MemoryAnswer){MEMORY_NEEDED, 64};
        return NULL;
    }
    *asked = 0;
    *out_result = arguments[0];
    return NULL;
}

/* test.fail(): an error of a packed function. */
static Error *always_fail(
    PackedCall *call, const Value *arguments, uint32_t count, void *context, Value *out_result) {
    (void)call;
    (void)arguments;
    (void)count;
    (void)context;
    (void)out_result;
    FAIL(FAILED, "a packed function that fails");
}

PackedRegistry *program_registry(void) {
    PackedRegistry *registry;
    assert_ok(packed_registry_create(&registry));
    void *asked;
    assert_ok(memory_alloc(1, sizeof(uint32_t), &asked));
    assert_ok(
        packed_registry_add(registry, "test.need_memory", 1, need_memory, asked, memory_free));
    assert_ok(packed_registry_add(registry, "test.fail", 0, always_fail, NULL, NULL));
    return registry;
}
