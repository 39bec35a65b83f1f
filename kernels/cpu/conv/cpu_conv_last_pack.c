/* The packed weights of cpu_conv_last.c. */
#include <string.h>

#include "kernels/cpu/conv/cpu_conv_last.h"

int64_t cpu_conv_last_packed_count(const Shape *weights, int64_t groups) {
    const int64_t depth = shape_product(weights, 1, weights->rank);
    return groups * cpu_matmul_packed_count(depth, weights->dims[0] / groups);
}

static void pack_group(const CpuMatmulCode *code, const float *weights, int64_t filters,
    int64_t channels, int64_t positions, float *packed) {
    const int64_t depth = channels * positions;
    const uint64_t work = (uint64_t)positions * 2 + 4;
    KernelStopMeter meter = {0};
    for (int64_t first = 0; first < filters; first += CPU_MATMUL_PANEL) {
        const int64_t left = filters - first;
        const int64_t count = left < CPU_MATMUL_PANEL ? left : CPU_MATMUL_PANEL;
        const int64_t width = cpu_matmul_panel_width(left);
        const CpuPanelSteps steps = cpu_matmul_panel_steps(code, depth, width);
        float *panel = packed + first * depth;
        memset(panel, 0, (size_t)(width * depth) * sizeof(float));
        for (int64_t f = 0; f < count; f++)
            for (int64_t c = 0; c < channels; c++) {
                if (kernel_stop_ends_after(&meter, work)) return;
                KERNEL_STOP_EACH (p, 0, positions)
                    panel[(p * channels + c) * steps.row + cpu_matmul_panel_offset(steps, f)] =
                        weights[((first + f) * channels + c) * positions + p];
            }
    }
}

void cpu_conv_last_pack(
    CpuLevel level, const float *weights, const Shape *shape, int64_t groups, float *packed) {
    const CpuMatmulCode code = cpu_matmul_code_for(level);
    const int64_t filters = shape->dims[0] / groups, channels = shape->dims[1];
    const int64_t positions = shape_product(shape, 2, shape->rank), depth = channels * positions;
    for (int64_t i = 0; i < groups; i++)
        pack_group(&code, weights + i * filters * depth, filters, channels, positions,
            packed + i * cpu_matmul_packed_count(depth, filters));
}
