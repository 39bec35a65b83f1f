#pragma once
/* Runs the calls of a fixture. Used by the fixture driver and the tests of mutated files. */
#include <json-c/json.h>

#include "vm/execution/execution.h"

typedef struct FixtureMachine {
    Device *cpu;
    Executable *executable; /* its identity is set */
    Residency *residency;
    PackedRegistry *registry;
    ExecutionOptions options;
} FixtureMachine;

/* Retains the executable and the registry. */
MUST_CHECK Error *fixture_machine_init(
    FixtureMachine *machine, Executable *executable, PackedRegistry *registry);
void fixture_machine_deinit(FixtureMachine *machine);

/* Makes one call {"function", "inputs", "expected"} and compares its result.
 *
 * step: 0: straight; else suspended every so many instructions, each time through the bytes of a
 *       checkpoint. *inout_suspensions counts them.
 * Errors: FAILED the result is not the expected one. */
MUST_CHECK Error *fixture_call(
    const FixtureMachine *machine, json_object *call, uint64_t step, uint64_t *inout_suspensions);
/* Makes one call for at most `instructions`; every answer is right. */
void fixture_try_call(const FixtureMachine *machine, json_object *call, uint64_t instructions);
