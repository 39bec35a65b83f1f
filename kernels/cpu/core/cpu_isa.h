#pragma once
/* The instruction set that kernels may use: the processor's, limited by ONEDNN_MAX_CPU_ISA (or
 * DNNL_MAX_CPU_ISA), which limits oneDNN, too; its values are those of oneDNN's documentation, "CPU
 * Dispatcher Control". Called by cpu_device.c when a device is opened. No state; any thread. */
#include <stdbool.h>

#include "kernels/cpu/core/cpu_level.h"

typedef struct CpuIsa {
    CpuLevel level;
    bool has_vnni, has_bfloat16; /* AVX512_VNNI, AVX512_BF16; with CPU_LEVEL_AVX512 alone */
} CpuIsa;

CpuIsa cpu_isa_get(void);
