#pragma once
/* The functions of each loop source that find its loops, one for each level. Called by
 * cpu_loop_find.c.
 * Pure: no state. */
#include "kernels/cpu/loops/cpu_loops.h"
#include "kernels/tensor/dtype.h"

#define CPU_LOOPS_OF_LEVEL(level)                                                                  \
    CpuLoop *cpu_loops_arithmetic_##level(CpuLoopId id, DType dtype);                              \
    CpuLoop *cpu_loops_compare_##level(CpuLoopId id, DType dtype);                                 \
    CpuLoop *cpu_loops_unary_##level(CpuLoopId id, DType dtype);                                   \
    CpuLoop *cpu_loops_gate_##level(CpuLoopId id, DType dtype);                                    \
    CpuLoop *cpu_loops_curve_##level(CpuLoopId id, DType dtype);                                   \
    CpuLoop *cpu_loops_cast_##level(DType from, DType to, bool saturate);                          \
    CpuLoop *cpu_loops_sticky_##level(DType from);                                                 \
    CpuLoop *cpu_loops_bytes_##level(CpuByteLoop loop, DType bytes);                               \
    CpuLstmLoop *cpu_loops_lstm_##level(void);                                                     \
    const CpuReducer *cpu_loops_reduce_##level(CpuReduction reduction, DType dtype);
CPU_LOOPS_OF_LEVEL(portable)
#if defined(__x86_64__)
CPU_LOOPS_OF_LEVEL(avx2)
CPU_LOOPS_OF_LEVEL(avx512)
#endif
