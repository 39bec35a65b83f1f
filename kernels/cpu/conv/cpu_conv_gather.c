#include "kernels/cpu/conv/cpu_conv_gather.h"

#include <string.h>

/* The number of columns from 0 on whose element lies before `end`. */
static int64_t columns_below(const CpuGather *gather, int64_t end) {
    if (gather->start >= end) return 0;
    const int64_t columns = (end - gather->start + gather->stride - 1) / gather->stride;
    return columns < gather->count ? columns : gather->count;
}

void cpu_conv_gather_portable(const CpuGather *gather) {
    int64_t before = columns_below(gather, 0), inside = columns_below(gather, gather->size);
    if (!gather->from) before = inside = gather->count;
    const float *from = gather->from;
    float *to = gather->to;
    for (int64_t c = 0; c < gather->channels; c++) {
        for (int64_t i = 0; i < before; i++) to[i] = 0;
        if (gather->stride == 1 && before < inside)
            memcpy(to + before, from + gather->start + before,
                (size_t)(inside - before) * sizeof(float));
        else
            for (int64_t i = before; i < inside; i++)
                to[i] = from[gather->start + i * gather->stride];
        for (int64_t i = inside; i < gather->count; i++) to[i] = 0;
        if (from) from += gather->channel_step;
        to += gather->to_step;
    }
}

CpuGatherRows *cpu_conv_gather_for(CpuLevel level) {
#if defined(__x86_64__)
    if (level == CPU_LEVEL_AVX512) return cpu_conv_gather_avx512;
#endif
    (void)level;
    return cpu_conv_gather_portable;
}
