#pragma once
/* Runs the programs of tests/programs: straight, suspended at every instruction with something
 * between two of them, with snapshots taken while running on. */
#include "vm/execution/execution.h"
#include "vm/execution/snapshot.h"

/* What a run gave; compared between ways to run. */
typedef struct ProgramOutcome {
    bool failed;
    char message[512]; /* of the error, when it failed */
    Value result;
    Value yields; /* a list */
    ExecutionCounters counters;
} ProgramOutcome;
void program_outcome_deinit(ProgramOutcome *outcome);

/* Takes a stopped execution to a fresh one on a residency: what lies between is the caller's (a
 * snapshot in memory, bytes, another process). The old one is released by the runner. */
typedef Error *ProgramThrough(void *context, Execution *stopped, Residency *target,
    const ExecutionOptions *options, Execution **out);
/* Through a snapshot in memory. */
Error *program_through_snapshot(void *context, Execution *stopped, Residency *target,
    const ExecutionOptions *options, Execution **out);

typedef struct ProgramRun {
    Residency *const *residencies; /* the first starts; after each suspension the next one, round */
    uint32_t residency_count;
    const ExecutionOptions *options;
    uint64_t step;           /* instructions between suspensions; 0: straight */
    uint64_t step_max;       /* suspend at most so often; 0: no limit */
    ProgramThrough *through; /* NULL: goes on as it is */
    void *through_context;
    bool small_grants; /* starts with no memory granted and gets what it asks for */
} ProgramRun;

void program_run(const ProgramRun *run, uint32_t function, ProgramOutcome *out);
void program_outcomes_compare(
    const char *name, const char *way, const ProgramOutcome *expected, const ProgramOutcome *got);
/* A number that any change of a snapshot's values changes. */
uint64_t program_digest_snapshot(const Snapshot *snapshot);

/* Parses the file; fails the test on an error. */
Executable *program_load(const char *path);
/* The message that "# fails_x: message" in the text wants; false when there is none. */
bool program_expected_message(const char *path, const char *function, char *out, size_t size);
/* Calls visit for every .lva file of tests/programs. */
void program_for_each(void (*visit)(const char *path, void *context), void *context);
/* The builtins and what test programs use beside: "test.*". */
PackedRegistry *program_registry(void);
