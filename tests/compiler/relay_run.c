#include "tests/compiler/relay_run.h"

#include <string.h>

#include "compiler/compile.h"
#include "tests/compiler/onnx_run.h"
#include "tests/support/test_support.h"
#include "vm/execution/execution.h"
#include "vm/execution/snapshot.h"

enum { SHORT_RUN = 3000, STEPS = 100 };

/* A program that begins with a brace is a graph of NNVM (nnvm_run.h). */
static Error *compile(const char *program, Executable **out) {
    const CompileOptions options = {.folder = NULL};
    return compile_source(program[0] == '{' ? "nnvm" : "relay", (const uint8_t *)program,
        strlen(program), &options, out);
}

void relay_check_refused(
    const char *program, ErrorCode code, const char *message, const char *file, int line) {
    OWN(Executable, executable) = NULL;
    test_assert_fails(compile(program, &executable), code, message, "compile", file, line);
    assert_null(executable);
}

/* Goes on in another execution that was made of a snapshot. */
static Error *move(Residency *residency, const ExecutionOptions *options, Execution **inout) {
    OWN(Snapshot, snapshot) = NULL;
    OWN(Execution, execution) = NULL;
    TRY(snapshot_take(*inout, &snapshot));
    TRY(execution_create_empty(residency, options, &execution));
    TRY(execution_restore(execution, snapshot));
    execution_release(*inout);
    *inout = TAKE(execution);
    return NULL;
}

/* step 0: straight. */
static Error *run(Residency *residency, const Value *values, uint32_t count, uint64_t step,
    uint64_t *out_instructions, TextBuilder *out) {
    OWN(Execution, execution) = NULL;
    const ExecutionOptions options = {0};
    uint32_t function;
    RunResult result = {.kind = RUN_SUSPENDED};
    TRY(executable_find_function(residency->executable, "main", &function));
    TRY(execution_create(residency, &options, function, values, count, &execution));
    for (;;) {
        TRY(execution_run(execution, (Budget){step}, &result));
        if (result.kind == RUN_FINISHED) break;
        assert_int_equal(result.kind, RUN_SUSPENDED);
        TRY(move(residency, &options, &execution));
    }
    *out_instructions = execution_get_counters(execution).instructions;
    onnx_result_print(execution_get_result(execution), out);
    return NULL;
}

/* Straight, then in steps; both give the same. */
static Error *run_both(
    Residency *residency, const Value *values, uint32_t count, TextBuilder *out) {
    TextBuilder OWN_TEXT(again) = {0};
    uint64_t straight, stepwise;
    TRY(run(residency, values, count, 0, &straight, out));
    const uint64_t step = straight <= SHORT_RUN ? 1 : straight / STEPS;
    TRY(run(residency, values, count, step, &stepwise, &again));
    assert_int_equal(straight, stepwise);
    assert_string_equal(text_builder_get(&again), text_builder_get(out));
    return NULL;
}

void relay_expect(const char *program, const char *signature) {
    Executable *executable;
    assert_ok(compile(program, &executable));
    executable_expect(executable, run_both, signature);
}

void relay_expect_failure(const char *program, const char *inputs, const char *message) {
    Executable *executable;
    assert_ok(compile(program, &executable));
    executable_expect_failure(executable, run_both, inputs, message);
}
