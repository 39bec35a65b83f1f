/* Dequantization and quantization of bytes with one scale. */
#include <stdint.h>

#include "kernels/cpu/loops/cpu_loops_internal.h"
#include "kernels/cpu/loops/cpu_loops_table.h"

/* Adding and taking away this number rounds a small one to a whole one, ties to even. */
#define ROUNDS 0x1.8p23f

/* The code's distance from the zero point. */
static inline int32_t nearest(float x, float low, float high) {
    x = x == x ? x : 0;
    x = x < low ? low : x;
    x = x > high ? high : x;
    return (int32_t)((x + ROUNDS) - ROUNDS);
}

#define PREPARE_DEQUANTIZE                                                                         \
    const float scale = (float)parameters->alpha;                                                  \
    const float zero = (float)parameters->beta
#define PREPARE_QUANTIZE(lowest)                                                                   \
    const float scale = (float)parameters->alpha;                                                  \
    const int32_t zero = (int32_t)parameters->beta;                                                \
    const float low = (float)((lowest)-zero);                                                      \
    const float high = low + (float)UINT8_MAX
#define BYTES(name, T, lowest)                                                                     \
    LOOP_UNARY(dequantize_##name, float, T, PREPARE_DEQUANTIZE, ((float)x - zero) * scale)         \
    LOOP_UNARY(quantize_##name, T, float, PREPARE_QUANTIZE(lowest),                                \
        (T)(nearest(x / scale, low, high) + zero))                                                 \
    LOOP_UNARY(quantize_by_##name, T, float, PREPARE_QUANTIZE(lowest),                             \
        (T)(nearest(x * scale, low, high) + zero))
BYTES(int8, int8_t, INT8_MIN)
BYTES(uint8, uint8_t, 0)

CpuLoop *CPU_LOOPS_NAME(cpu_loops_bytes)(CpuByteLoop loop, DType bytes) {
    static CpuLoop *const loops[CPU_BYTE_LOOP_COUNT][2] = {
        [CPU_BYTES_DEQUANTIZE] = {dequantize_int8, dequantize_uint8},
        [CPU_BYTES_QUANTIZE] = {quantize_int8, quantize_uint8},
        [CPU_BYTES_QUANTIZE_BY] = {quantize_by_int8, quantize_by_uint8},
    };
    if (bytes != DTYPE_INT8 && bytes != DTYPE_UINT8) return 0;
    return loops[loop][bytes == DTYPE_UINT8];
}
