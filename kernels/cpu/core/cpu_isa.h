#pragma once
/* The instruction set that kernels may use: the processor's, as far as ONEDNN_MAX_CPU_ISA (or
 * DNNL_MAX_CPU_ISA) allows, which limits oneDNN, too; its values are those of oneDNN's
 * documentation, "CPU Dispatcher Control". */
#include "kernels/cpu/core/cpu_internal.h"

typedef struct CpuIsa {
    CpuLevel level;
    bool has_vnni, has_bfloat16; /* AVX512_VNNI, AVX512_BF16; with CPU_LEVEL_AVX512 alone */
} CpuIsa;

CpuIsa cpu_isa_get(void);
