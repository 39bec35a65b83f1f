#include "kernels/cpu/loops/cpu_loop_find.h"

#include "kernels/cpu/loops/cpu_loops_table.h"

#if defined(__x86_64__)
#define BY_LEVEL(level, function, arguments)                                                       \
    ((level) == CPU_LEVEL_AVX512    ? function##_avx512 arguments                                  \
        : (level) == CPU_LEVEL_AVX2 ? function##_avx2 arguments                                    \
                                    : function##_portable arguments)
#else
#define BY_LEVEL(level, function, arguments) ((void)(level), function##_portable arguments)
#endif

CpuLoop *cpu_loop_find(CpuLevel level, CpuLoopId id, DType dtype) {
    if (id == CPU_LOOP_STICKY) return BY_LEVEL(level, cpu_loops_sticky, (dtype));
    CpuLoop *loop = BY_LEVEL(level, cpu_loops_arithmetic, (id, dtype));
    if (!loop) loop = BY_LEVEL(level, cpu_loops_compare, (id, dtype));
    if (!loop) loop = BY_LEVEL(level, cpu_loops_unary, (id, dtype));
    if (!loop) loop = BY_LEVEL(level, cpu_loops_gate, (id, dtype));
    if (!loop) loop = BY_LEVEL(level, cpu_loops_curve, (id, dtype));
    return loop;
}

CpuLoop *cpu_loop_find_cast(CpuLevel level, DType from, DType to, bool saturate) {
    return BY_LEVEL(level, cpu_loops_cast, (from, to, saturate));
}

CpuLoop *cpu_loop_find_bytes(CpuLevel level, CpuByteLoop loop, DType bytes) {
    return BY_LEVEL(level, cpu_loops_bytes, (loop, bytes));
}

CpuLstmLoop *cpu_lstm_loop_find(CpuLevel level) { return BY_LEVEL(level, cpu_loops_lstm, ()); }

const CpuReducer *cpu_reducer_find(CpuLevel level, CpuReduction reduction, DType dtype) {
    return BY_LEVEL(level, cpu_loops_reduce, (reduction, dtype));
}

CpuTotal cpu_reducer_identity(
    const CpuReducer *reducer, CpuReduction reduction, DType dtype, uint64_t count) {
    CpuTotal identity = reducer->identity;
    uint32_t bits = dtype_bits(dtype);
    if (count > 0 || !dtype_is_signed(dtype) || !dtype_is_integer(dtype)) return identity;
    if (reduction == CPU_REDUCE_MAX) identity.i64 = INT64_MIN >> (64 - bits);
    if (reduction == CPU_REDUCE_MIN) identity.i64 = INT64_MAX >> (64 - bits);
    return identity;
}

uint32_t cpu_loop_operands(CpuLoopId id) {
    static const uint8_t operands[CPU_LOOP_COUNT] = {
#define CPU_LOOP(name, operands) operands,
#include "kernels/cpu/loops/cpu_loops.def"
#undef CPU_LOOP
    };
    return operands[id];
}
