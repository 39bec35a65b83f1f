#pragma once
/* Runs one loop at every level this machine has and compares the bits. */
#include "kernels/cpu/loops/cpu_loops.h"
#include "tests/support/test_support.h"

enum { LOOP_FIXTURE_COUNT = 1037 /* no multiple of any vector's length */ };

/* Operands of every kind of number: random bits, small numbers, and the edges (NaN, infinities,
 * zeros, subnormals, minima, maxima). */
void loop_fixture_fill(DType dtype, uint64_t seed, void *out, int64_t count);
/* Levels that this machine can run, the portable one first; ends with CPU_LEVEL_COUNT. */
uint32_t loop_fixture_levels(CpuLevel out_levels[3]);
/* Element type of operand `index` of a loop, and of its result. */
DType loop_fixture_operand(CpuLoopId id, DType dtype, uint32_t index);
DType loop_fixture_result(CpuLoopId id, DType dtype);
/* All loops of [first, last], all element types, all steps: every level gives the portable bits, in
 * place and out of place, from any address, whole or in two parts. Returns how many loops ran. */
uint32_t loop_fixture_check(CpuLoopId first, CpuLoopId last);
