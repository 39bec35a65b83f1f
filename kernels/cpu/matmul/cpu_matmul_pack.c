/* Packs B into panels. */
#include <string.h>

#include "kernels/cpu/matmul/cpu_matmul_kernel.h"

int64_t cpu_matmul_packed_count(int64_t depth, int64_t columns) {
    return (columns + 15) / 16 * 16 * depth;
}

/* Packs a B that is stored by columns in blocks of 16 × 16, so that each of its cache lines is read
 * once. */
static void pack_columns(const float *from, int64_t b_column, int64_t depth, int64_t count,
    CpuPanelSteps steps, float *to) {
    for (int64_t k0 = 0; k0 < depth; k0 += 16) {
        if (kernel_stop_ends_at(k0 + 15)) return;
        int64_t k_count = depth - k0 < 16 ? depth - k0 : 16;
        for (int64_t j = 0; j < count; j++)
            for (int64_t k = 0; k < k_count; k++)
                to[cpu_matmul_panel_offset(steps, j) + (k0 + k) * steps.row] =
                    from[j * b_column + k0 + k];
    }
}

/* Packs `count` columns (1 … 16) of a strip; the others are zero. */
static void pack_strip(const float *from, int64_t b_row, int64_t b_column, int64_t depth,
    int64_t count, int64_t row, float *to) {
    for (int64_t k = 0; k < depth; k++) {
        if (kernel_stop_ends_at(k)) return;
        if (b_column == 1)
            memcpy(to + k * row, from + k * b_row, (size_t)count * sizeof(float));
        else
            for (int64_t j = 0; j < count; j++) to[k * row + j] = from[k * b_row + j * b_column];
    }
}

void cpu_matmul_pack_panel(const CpuMatmulCode *code, const float *b, int64_t b_row,
    int64_t b_column, int64_t depth, int64_t columns, int64_t panel, float *packed) {
    const int64_t left = columns - panel * CPU_MATMUL_PANEL;
    const int64_t width = cpu_matmul_panel_width(left);
    const int64_t count = left < CPU_MATMUL_PANEL ? left : CPU_MATMUL_PANEL;
    const CpuPanelSteps steps = cpu_matmul_panel_steps(code, depth, width);
    const float *from = b + panel * CPU_MATMUL_PANEL * b_column;
    float *to = packed + panel * CPU_MATMUL_PANEL * depth;
    if (count < width) memset(to, 0, (size_t)(width * depth) * sizeof(float));
    if (b_row == 1 && b_column != 1) {
        pack_columns(from, b_column, depth, count, steps, to);
        return;
    }
    for (int64_t j = 0; j < count; j += CPU_MATMUL_STRIP)
        pack_strip(from + j * b_column, b_row, b_column, depth,
            count - j < CPU_MATMUL_STRIP ? count - j : CPU_MATMUL_STRIP, steps.row,
            to + cpu_matmul_panel_offset(steps, j));
}

void cpu_matmul_pack(const CpuMatmulCode *code, const float *b, int64_t b_row, int64_t b_column,
    int64_t depth, int64_t columns, float *packed) {
    const int64_t panels = (columns + CPU_MATMUL_PANEL - 1) / CPU_MATMUL_PANEL;
    KernelStopMeter meter = {0};
    for (int64_t panel = 0; depth > 0 && panel < panels; panel++) {
        if (kernel_stop_ends_after(&meter, (uint64_t)depth * 64)) return;
        cpu_matmul_pack_panel(code, b, b_row, b_column, depth, columns, panel, packed);
    }
}
