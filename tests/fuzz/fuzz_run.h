#pragma once
/* Whatever the verifier accepts may run to the end of a small budget without harm: what fuzz
 * targets do with executables and executions that their readers let through. */
#include "vm/execution/execution.h"

/* Runs every exported function without parameters. */
void fuzz_run_executable(Executable *executable);
/* Runs an execution for a while; every answer is right. */
void fuzz_run_execution(Execution *execution);
/* One cpu device for the whole process, and options with small limits. */
Device *fuzz_device(void);
const ExecutionOptions *fuzz_options(void);
