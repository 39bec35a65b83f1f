#include "kernels/cpu/quantized/cpu_integer_columns.h"

#include "kernels/cpu/core/cpu_layouts.h"
#include "kernels/cpu/quantized/cpu_lower_bytes.h"
#include "kernels/cpu/quantized/cpu_lower_operands.h"

Error *cpu_integer_columns_of(const PlanRequest *request, CpuLowerForm form, uint32_t matrix,
    uint32_t zero_point, uint32_t scale, CpuIntegerColumns *out) {
    *out = (CpuIntegerColumns){
        .form = form,
        .matrix = matrix,
        .zero_point = zero_point,
        .scale = scale,
        .is_packed = request->inputs[matrix].layout != CPU_LAYOUT_PLAIN,
    };
    return cpu_integer_operand_of(request, matrix, zero_point, scale, false, &out->b);
}

Error *cpu_integer_columns_bytes(CpuIntegerColumns *columns, uint64_t *out) {
    const int64_t counts[2] = {columns->b.matrices, columns->b.lines};
    uint64_t total = 0, bytes;
    columns->zeros_offset = total;
    TRY(cpu_lower_reserve(sizeof(int32_t), 2, counts, &total));
    columns->scales_offset = total;
    if (columns->scale > 0) TRY(cpu_lower_reserve(sizeof(float), 2, counts, &total));
    columns->panels_offset = total;
    if (!columns->is_packed) {
        TRY(cpu_lower_packed_bytes(columns->form, columns->b.depth, columns->b.lines, &bytes));
        TRY(cpu_lower_reserve(bytes, 1, counts, &total));
    }
    *out = total;
    return NULL;
}

typedef struct Run {
    const CpuIntegerColumns *columns;
    const uint8_t *plain;
    const void *zero_points, *given_scales;
    const CpuWiden *widen;
    char *panels; /* NULL: they are packed */
    CpuIntegerColumnsRun *out;
} Run;

/* The zero points and scales of one panel's columns, and the panel. */
static void read_panel(const Run *run, int64_t unit) {
    const CpuIntegerOperand *b = &run->columns->b;
    const int64_t panels = cpu_lower_panels(b->lines), matrix = unit / panels;
    const int64_t first = unit % panels * CPU_LOWER_PANEL;
    const int64_t end = first + CPU_LOWER_PANEL < b->lines ? first + CPU_LOWER_PANEL : b->lines;
    const int64_t zero = cpu_lines_first(&b->zero_points, &b->batch, matrix);
    const int64_t scale = cpu_lines_first(&b->scales, &b->batch, matrix);
    for (int64_t c = first; c < end; c++) {
        int32_t point = 0;
        if (run->zero_points)
            point =
                cpu_integer_load(b->is_signed, run->zero_points, zero + c * b->zero_points.line);
        run->out->zeros[matrix * b->lines + c] = cpu_lower_weight_zero(b->is_signed, point);
        if (run->given_scales)
            run->out->scales[matrix * b->lines + c] = cpu_widen_one(
                run->widen, run->given_scales, (uint64_t)(scale + c * b->scales.line));
    }
    if (!run->panels) return;
    cpu_lower_pack(run->columns->form, run->plain + matrix * b->matrix_stride,
        b->is_signed ? 0 : CPU_LOWER_FLIP, b->depth, b->lines, first / CPU_LOWER_PANEL,
        first / CPU_LOWER_PANEL + 1,
        run->panels + matrix * panels * cpu_lower_panel_bytes(run->columns->form, b->depth));
}

static Error *read_panels(void *context, uint64_t begin, uint64_t end, uint32_t part) {
    (void)part;
    for (int64_t unit = (int64_t)begin; unit < (int64_t)end; unit++) read_panel(context, unit);
    return NULL;
}

static bool corrects(const CpuIntegerColumns *columns, const uint8_t *zero_points) {
    const uint8_t none = columns->b.is_signed ? 0 : CPU_LOWER_BIAS;
    if (!zero_points) return none != 0;
    for (uint64_t i = 0; i < columns->b.zero_points.count; i++)
        if (zero_points[i] != none) return true;
    return false;
}

Error *cpu_integer_columns_read(const CpuIntegerColumns *columns, CpuDevice *device,
    const Launch *launch, const CpuWiden *widen, void *workspace, CpuIntegerColumnsRun *out) {
    const CpuIntegerOperand *b = &columns->b;
    char *places = workspace;
    Run run = {.columns = columns, .widen = widen, .out = out};
    if (b->zero_points.count > 0) run.zero_points = cpu_input(launch, columns->zero_point);
    if (columns->scale > 0) run.given_scales = cpu_input(launch, columns->scale);
    *out = (CpuIntegerColumnsRun){
        .panels = (const char *)(uintptr_t)launch->inputs[columns->matrix],
        .zeros = (int32_t *)(void *)(places + columns->zeros_offset),
        .corrects = corrects(columns, run.zero_points),
    };
    if (columns->scale > 0) out->scales = (float *)(void *)(places + columns->scales_offset);
    if (!columns->is_packed) {
        run.plain = cpu_integer_bytes(launch, columns->matrix);
        out->panels = run.panels = places + columns->panels_offset;
    }
    const int64_t work = columns->is_packed ? 64 : (b->depth + 4) * CPU_LOWER_PANEL;
    return cpu_for_each(device, launch->threads,
        (uint64_t)(b->matrices * cpu_lower_panels(b->lines)), cpu_lower_units_of_elements(work),
        read_panels, &run);
}
