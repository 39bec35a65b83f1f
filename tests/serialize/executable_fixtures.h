#pragma once
/* A small executable with every kind of constant, two functions and an operator; a residency of it
 * on cpu. */
#include "tests/serialize/serialize_fixtures.h"
#include "vm/code/executable_builder.h"
#include "vm/execution/snapshot.h"

/* Elements of its large constant: kept as bulk data. */
enum { EXAMPLE_LARGE_COUNT = 300000 };

/* main(x float32 [N]) = (x + large[0 .. 3], list of x, closure of helper over x, "text", 7, 2.5,
 * true); helper(a, b) = a */
Executable *example_executable(void);
/* An execution of main on a fresh cpu residency; both devices are the process's. */
Residency *example_residency(Executable *executable);
Execution *example_execution(Residency *residency, uint64_t instructions);
/* Once for every example_residency, when everything on it is released. */
void example_close(void);
