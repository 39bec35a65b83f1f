#pragma once
/* A case compiled and run: straight, or as a chain of executions of one instruction each with
 * nothing but a checkpoint's bytes between them. */
#include "tests/onnx_suite/suite_case.h"
#include "vm/residency/residency.h"

typedef struct SuiteMachine {
    Device *host, *device; /* borrowed; the same on the host */
    WorkerPool *pool;
    bool chained; /* beside the straight run: equal bits */
} SuiteMachine;

/* Every data set. Errors: whatever compiling and running return; INTERNAL an output is not what it
 * must be. */
MUST_CHECK Error *suite_run(const SuiteMachine *machine, const SuiteCase *suite_case);
