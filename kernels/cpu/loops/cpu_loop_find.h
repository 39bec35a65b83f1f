#pragma once
/* Finds a loop of cpu_loops.h for an instruction set level and an element type. Called by the cpu's
 * kernels when they plan; the loops are called on the threads of a launch. Pure: no state. */
#include <stdbool.h>
#include <stdint.h>

#include "kernels/cpu/core/cpu_level.h"
#include "kernels/cpu/loops/cpu_loops.h"
#include "kernels/tensor/dtype.h"

/* dtype: of the operands (WHERE: of the last two; POW_BY_…: of the base; SHRINK: of the first,
 * the others of an integer are float64). Comparisons, IS_NAN and
 * NOT write bool. NULL when there is none. */
CpuLoop *cpu_loop_find(CpuLevel level, CpuLoopId id, DType dtype);
/* saturate: values beyond the range of a float8 target become its largest number. Returns NULL when
 * there is no loop. */
CpuLoop *cpu_loop_find_cast(CpuLevel level, DType from, DType to, bool saturate);
/* NULL for other types than int8 and uint8. */
CpuLoop *cpu_loop_find_bytes(CpuLevel level, CpuByteLoop loop, DType bytes);
uint32_t cpu_loop_operands(CpuLoopId id);

CpuLstmLoop *cpu_lstm_loop_find(CpuLevel level);
/* NULL when there is none. */
const CpuReducer *cpu_reducer_find(CpuLevel level, CpuReduction reduction, DType dtype);
/* The initial total of a reduction of `count` elements. For 0 elements, the initial totals of MAX
 * and MIN are the element type's own limits. */
CpuTotal cpu_reducer_identity(
    const CpuReducer *reducer, CpuReduction reduction, DType dtype, uint64_t count);
