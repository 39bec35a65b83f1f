#include "kernels/cpu/quantized/cpu_integer_operand.h"

#include "base/checked.h"
#include "kernels/arguments/quantization.h"

enum { ELEMENTS_PER_PART = 1 << 15 };

static Error *lines_of(const PlanRequest *request, uint32_t index, uint32_t matrix, bool rows,
    const Shape *seen, CpuLines *out) {
    Shape shape;
    int64_t strides[SHAPE_RANK_MAX];
    *out = (CpuLines){0};
    if (!plan_request_has(request, index)) return NULL;
    TRY(quantization_of_matrix(request, index, matrix, rows, &shape));
    shape_broadcast_strides(&shape, seen, strides);
    out->count = (uint64_t)shape_count_unchecked(&shape);
    out->line = strides[seen->rank - (rows ? 2 : 1)];
    for (uint32_t i = 0; i + 2 < seen->rank; i++) out->batch[i] = strides[i];
    return NULL;
}

Error *cpu_integer_operand_of(const PlanRequest *request, uint32_t matrix, uint32_t zero_point,
    uint32_t scale, bool rows, CpuIntegerOperand *out) {
    Shape seen = request->inputs[matrix].shape;
    if (seen.rank == 1) {
        const int64_t depth = seen.dims[0];
        seen = (Shape){.rank = 2, .dims = {rows ? 1 : depth, rows ? depth : 1}};
    }
    const int64_t height = seen.dims[seen.rank - 2], width = seen.dims[seen.rank - 1];
    *out = (CpuIntegerOperand){
        .is_signed = request->inputs[matrix].dtype == DTYPE_INT8,
        .lines = rows ? height : width,
        .depth = rows ? width : height,
        .line_stride = rows ? width : 1,
        .depth_stride = rows ? 1 : width,
        .matrix_stride = height * width,
        .batch = shape_make(seen.rank - 2, seen.dims),
    };
    out->matrices = shape_count_unchecked(&out->batch);
    TRY(lines_of(request, zero_point, matrix, rows, &seen, &out->zero_points));
    if (scale == 0) return NULL;
    return lines_of(request, scale, matrix, rows, &seen, &out->scales);
}

int64_t cpu_lines_first(const CpuLines *lines, const Shape *batch, int64_t matrix) {
    int64_t first = 0;
    for (uint32_t i = batch->rank; i-- > 0; matrix /= batch->dims[i])
        first += matrix % batch->dims[i] * lines->batch[i];
    return first;
}

static Error *bytes_of(const CpuIntegerOperand *operand, uint64_t lines, uint64_t *out) {
    uint64_t bytes = (uint64_t)cpu_integer_pairs(operand->depth);
    if (!checked_mul_u64(bytes, 2 * sizeof(int16_t), &bytes) ||
        !checked_mul_u64(bytes, lines, &bytes) ||
        !checked_mul_u64(bytes, (uint64_t)operand->matrices, &bytes) ||
        !checked_align_u64(bytes, DEVICE_ALIGNMENT, out))
        FAIL(INVALID, "an operand of too many elements");
    return NULL;
}

Error *cpu_integer_row_bytes(const CpuIntegerOperand *operand, uint64_t *out) {
    return bytes_of(operand, (uint64_t)operand->lines, out);
}

typedef struct Packing {
    const CpuIntegerOperand *operand;
    const uint8_t *data;
    const uint8_t *zero_points;
    int16_t *out;
} Packing;

static int32_t zero_of(const Packing *packing, int64_t matrix, int64_t line) {
    const CpuIntegerOperand *operand = packing->operand;
    if (!packing->zero_points) return 0;
    const int64_t first = cpu_lines_first(&operand->zero_points, &operand->batch, matrix);
    return cpu_integer_load(
        operand->is_signed, packing->zero_points, first + line * operand->zero_points.line);
}

/* Packs one line's elements to every `step`-th pair of out. */
static void pack_line(const CpuIntegerOperand *operand, const uint8_t *from, int32_t zero,
    int64_t step, int16_t *out) {
    const int64_t depth = operand->depth, stride = operand->depth_stride;
    KERNEL_STOP_EACH (k, 0, depth)
        out[k / 2 * step + k % 2] =
            (int16_t)(cpu_integer_load(operand->is_signed, from, k * stride) - zero);
    if (depth % 2) out[depth / 2 * step + 1] = 0;
}

static Error *pack_rows(void *context, uint64_t begin, uint64_t end, uint32_t part) {
    const Packing *packing = context;
    const CpuIntegerOperand *operand = packing->operand;
    const int64_t width = 2 * cpu_integer_pairs(operand->depth);
    (void)part;
    for (int64_t unit = (int64_t)begin; unit < (int64_t)end; unit++) {
        const int64_t matrix = unit / operand->lines, line = unit % operand->lines;
        pack_line(operand,
            packing->data + matrix * operand->matrix_stride + line * operand->line_stride,
            zero_of(packing, matrix, line), 2, packing->out + unit * width);
    }
    return NULL;
}

Error *cpu_integer_pack_rows(CpuDevice *device, uint32_t threads, const CpuIntegerOperand *operand,
    const void *data, const void *zero_points, int16_t *out) {
    Packing packing = {operand, data, zero_points, out};
    if (operand->depth == 0) return NULL;
    return cpu_for_each(device, threads, (uint64_t)(operand->matrices * operand->lines),
        (uint64_t)(ELEMENTS_PER_PART / (operand->depth + 1)) + 1, pack_rows, &packing);
}

void cpu_integer_widen_scales(const CpuWiden *widen, const void *data, uint64_t count, float *out) {
    for (uint64_t i = 0; i < count; i += CPU_SMALL_RUN)
        cpu_widen_run(
            widen, data, i, count - i < CPU_SMALL_RUN ? count - i : CPU_SMALL_RUN, out + i);
}
