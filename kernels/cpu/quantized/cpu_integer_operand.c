#include "kernels/cpu/quantized/cpu_integer_operand.h"

#include <string.h>

#include "base/checked.h"
#include "kernels/cpu/core/cpu_vector.h"
#include "kernels/scalar/scalar_float.h"
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

void cpu_integer_requantize(const CpuRequantize *to, const int32_t *sums, int32_t bias,
    const float *factors, int64_t count, uint8_t *out) {
    const double low = to->is_signed ? -128 : 0, high = low + 255;
    for (int64_t i = 0; i < count; i++) {
        const int32_t sum = (int32_t)((uint32_t)sums[i] + (uint32_t)bias);
        double x = (double)sum * (double)factors[i];
        x = (x == x ? scalar_round_f64(x) : 0) + (double)to->zero_point;
        x = x < low ? low : x;
        out[i] = (uint8_t)(int32_t)(x > high ? high : x);
    }
}

/* Eight at a time. The limits are whole numbers, so a number may be limited before it is rounded;
 * then adding and subtracting 1.5 * 2^52 rounds it, ties to even. */
typedef int32_t I32x8Unaligned __attribute__((vector_size(32), aligned(4), may_alias));
typedef int64_t I64x8 __attribute__((vector_size(64)));
typedef uint8_t U8x8 __attribute__((vector_size(8)));

CPU_INLINE CpuF64x8 select_f64(I64x8 mask, CpuF64x8 yes, CpuF64x8 no) {
    return (CpuF64x8)((mask & (I64x8)yes) | (~mask & (I64x8)no));
}

CPU_INLINE void requantize_eight(
    const CpuRequantize *to, const int32_t *sums, const float *factors, uint8_t *out) {
    const double low = (to->is_signed ? -128 : 0) - to->zero_point, high = low + 255;
    const CpuF64x8 none = {0}, rounder = none + 0x1.8p52;
    const CpuF64x8 wide = __builtin_convertvector(*(const I32x8Unaligned *)sums, CpuF64x8);
    CpuF64x8 x = wide * __builtin_convertvector(*(const CpuF32x8Unaligned *)factors, CpuF64x8);
    x = (CpuF64x8)((I64x8)x & (I64x8)(x == x)); /* NaN is 0 */
    x = select_f64(x < none + low, none + low, x);
    x = select_f64(x > none + high, none + high, x);
    /* the lowest bits of the sum are the rounded number */
    const I64x8 rounded = (I64x8)(x + rounder) + to->zero_point;
    const U8x8 bytes = __builtin_convertvector(rounded, U8x8);
    memcpy(out, &bytes, sizeof bytes);
}

CPU_INLINE void requantize_body(const CpuRequantize *to, const int32_t *sums, const float *factors,
    int64_t count, uint8_t *out) {
    int64_t i = 0;
    for (; i + 8 <= count; i += 8) requantize_eight(to, sums + i, factors + i, out + i);
    if (i == count) return;
    int32_t last[8] = {0};
    float by[8] = {0};
    uint8_t bytes[8];
    memcpy(last, sums + i, (size_t)(count - i) * sizeof *last);
    memcpy(by, factors + i, (size_t)(count - i) * sizeof *by);
    requantize_eight(to, last, by, bytes);
    memcpy(out + i, bytes, (size_t)(count - i));
}
CPU_VARIANTS(requantize,
    (const CpuRequantize *to, const int32_t *sums, const float *factors, int64_t count,
        uint8_t *out),
    (to, sums, factors, count, out));

CpuRequantizeRow *cpu_integer_requantize_for(CpuLevel level) { return requantize_for(level); }
