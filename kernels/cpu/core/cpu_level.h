#pragma once
/* Levels of the processor's instruction set, for which our own kernels are compiled. Included by
 * the files that choose code or thresholds by level. Pure: an enumeration. */

typedef enum CpuLevel {
    CPU_LEVEL_PORTABLE = 0, /* baseline x86-64 (or any machine): plain C */
    CPU_LEVEL_AVX2 = 1,     /* AVX2, FMA and F16C */
    CPU_LEVEL_AVX512 = 2,   /* AVX512 F, BW, DQ, VL */
    CPU_LEVEL_COUNT
} CpuLevel;
