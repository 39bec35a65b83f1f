#pragma once
/* What the tools' tests share: command lines, executions of assembly, captured output. */
#include "tests/support/test_support.h"
#include "tools/client/command.h"
#include "tools/library/packed_bridge.h"
#include "vm/execution/execution.h"

/* Parsed; words end with NULL and start with the verb. Release with free. */
CommandContext *command_context_make(const char *const *words);
#define COMMAND_CONTEXT(...) command_context_make((const char *const[]){__VA_ARGS__, NULL})

/* Everything that an execution needs, on cpu. */
typedef struct ToolsRun {
    Executable *executable;
    WorkerPool *pool;
    Device *device;
    Residency *residency;
    ExecutionOptions options; /* the registry is released with it */
} ToolsRun;

void tools_run_open(const char *assembly, ToolsRun *out);
void tools_run_close(ToolsRun *run);
#define OWN_RUN(name) __attribute__((cleanup(tools_run_close))) name
/* Runs a function on no arguments; *out_execution is set, too, where it fails. */
MUST_CHECK Error *tools_run_function(
    ToolsRun *run, const char *function, Execution **out_execution);

/* What is written to a descriptor between the two calls; cut where it is too long. */
typedef struct Capture {
    int descriptor, kept, file;
} Capture;
void capture_start(Capture *capture, int descriptor);
void capture_end(Capture *capture, char *out, size_t size);

/* A folder with everything below it. */
void tools_remove_tree(const char *path);
