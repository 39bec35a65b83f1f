#pragma once
/* What the benchmarks of executions share: a function that holds its inputs alive over a few
 * instructions. */
#include "vm/code/executable_builder.h"
#include "vm/execution/snapshot.h"

/* main(a, b, …) = tuple of its inputs, after one instruction that changes nothing. */
MUST_CHECK Error *bench_program_hold(uint32_t input_count, Executable **out);
/* What earlier checkpoints have left with its tensors, so that the next one is a first one. While
 * nobody else writes one. */
void bench_program_forget(const Snapshot *snapshot);
