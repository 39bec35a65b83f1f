#pragma once
/* What the benchmarks of executions share: a function that holds its inputs alive over a few
 * instructions. */
#include "vm/executable_builder.h"

/* main(a, b, …) = tuple of its inputs, after one instruction that changes nothing. */
MUST_CHECK Error *bench_program_hold(uint32_t input_count, Executable **out);
