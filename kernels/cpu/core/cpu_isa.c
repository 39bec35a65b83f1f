#include "kernels/cpu/core/cpu_isa.h"

#include <stdlib.h>
#include <strings.h>

#include "base/processor.h"

/* Instruction sets in rising order; each includes those before. */
typedef enum IsaRank { RANK_NONE, RANK_AVX2, RANK_AVX512, RANK_VNNI, RANK_BFLOAT16 } IsaRank;

static const struct {
    const char *name;
    IsaRank most;
} limits[] = {
    {"sse41", RANK_NONE},
    {"avx", RANK_NONE},
    {"avx2", RANK_AVX2},
    {"avx2_vnni", RANK_AVX2},
    {"avx512_mic", RANK_AVX2},
    {"avx512_mic_4ops", RANK_AVX2},
    {"avx512_core", RANK_AVX512},
    {"avx512_core_vnni", RANK_VNNI},
};

/* An unknown name means no limit, as in oneDNN. */
static IsaRank limit_of(const char *name) {
    for (size_t i = 0; name && i < sizeof limits / sizeof limits[0]; i++)
        if (strcasecmp(name, limits[i].name) == 0) return limits[i].most;
    return RANK_BFLOAT16;
}

static IsaRank processor_rank(void) {
    /* processors with AVX2 have FMA and F16C, but emulators may lack them */
    if (!PROCESSOR_HAS(AVX2) || !PROCESSOR_HAS(FMA) || !PROCESSOR_HAS(F16C)) return RANK_NONE;
    if (!PROCESSOR_HAS(AVX512F) || !PROCESSOR_HAS(AVX512BW) || !PROCESSOR_HAS(AVX512DQ) ||
        !PROCESSOR_HAS(AVX512VL))
        return RANK_AVX2;
    if (!PROCESSOR_HAS(AVX512_VNNI)) return RANK_AVX512;
    return PROCESSOR_HAS(AVX512_BF16) ? RANK_BFLOAT16 : RANK_VNNI;
}

CpuIsa cpu_isa_get(void) {
    const char *name = getenv("ONEDNN_MAX_CPU_ISA");
    if (!name || !name[0]) name = getenv("DNNL_MAX_CPU_ISA");
    const IsaRank most = limit_of(name), has = processor_rank();
    const IsaRank rank = has < most ? has : most;
    return (CpuIsa){
        .level = rank >= RANK_AVX512 ? CPU_LEVEL_AVX512
                 : rank == RANK_AVX2 ? CPU_LEVEL_AVX2
                                     : CPU_LEVEL_PORTABLE,
        .has_vnni = rank >= RANK_VNNI,
        .has_bfloat16 = rank >= RANK_BFLOAT16,
    };
}
