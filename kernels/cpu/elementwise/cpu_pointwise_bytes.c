/* Finds the steps of a program that dequantize bytes, or quantize to bytes, and puts one loop with
 * the same bits in their place. */
#include <string.h>

#include "kernels/cpu/elementwise/cpu_pointwise.h"
#include "kernels/cpu/loops/cpu_loop_find.h"

static bool is_byte(DType dtype) { return dtype == DTYPE_INT8 || dtype == DTYPE_UINT8; }

/* The step that makes the source by that loop (CPU_LOOP_COUNT: a cast) of that element type. */
static const CpuPointwiseStep *step_of(
    const CpuPointwise *program, const CpuSource *source, CpuLoopId id, DType by) {
    if (source->kind != CPU_SOURCE_STEP) return NULL;
    const CpuPointwiseStep *step = &program->steps[source->index];
    return step->id == id && step->by == by ? step : NULL;
}

static bool read_float(const CpuPointwise *program, const CpuSource *source, float *out) {
    if (source->kind != CPU_SOURCE_CONSTANT || source->dtype != DTYPE_FLOAT32) return false;
    memcpy(out, &program->constants[source->index], sizeof *out);
    return true;
}

static bool read_int(const CpuPointwise *program, const CpuSource *source, int32_t *out) {
    if (source->kind != CPU_SOURCE_CONSTANT || source->dtype != DTYPE_INT32) return false;
    memcpy(out, &program->constants[source->index], sizeof *out);
    return true;
}

static void set(CpuPointwise *program, CpuPointwiseStep *step, CpuByteLoop loop, DType bytes,
    CpuSource from, double alpha, double beta) {
    step->loop = cpu_loop_find_bytes(program->level, loop, bytes);
    step->operands[0] = from;
    step->operand_count = 1;
    step->parameters = (CpuParameters){alpha, beta};
}

/* Mul(Sub(Cast(bytes), zero), scale), or without Sub. */
static void join_dequantize(CpuPointwise *program, CpuPointwiseStep *step) {
    float scale, zero = 0;
    if (step->id != CPU_LOOP_MUL || step->by != DTYPE_FLOAT32) return;
    if (!read_float(program, &step->operands[1], &scale)) return;
    const CpuSource *from = &step->operands[0];
    const CpuPointwiseStep *sub = step_of(program, from, CPU_LOOP_SUB, DTYPE_FLOAT32);
    if (sub) {
        if (!read_float(program, &sub->operands[1], &zero)) return;
        from = &sub->operands[0];
    }
    for (uint32_t i = 0; i < 2; i++) {
        const DType bytes = i ? DTYPE_UINT8 : DTYPE_INT8;
        const CpuPointwiseStep *cast = step_of(program, from, CPU_LOOP_COUNT, bytes);
        if (!cast || cast->dtype != DTYPE_FLOAT32) continue;
        set(program, step, CPU_BYTES_DEQUANTIZE, bytes, cast->operands[0], (double)scale,
            (double)zero);
        return;
    }
}

/* The zero point that the int32 before the cast to bytes has added; the step before that. */
static const CpuSource *skip_zero(
    const CpuPointwise *program, const CpuPointwiseStep *cast, int32_t *out_zero) {
    *out_zero = 0;
    if (cast->by != DTYPE_INT32) return &cast->operands[0];
    const CpuPointwiseStep *add = step_of(program, &cast->operands[0], CPU_LOOP_ADD, DTYPE_INT32);
    if (!add || !read_int(program, &add->operands[1], out_zero)) return NULL;
    const CpuPointwiseStep *whole =
        step_of(program, &add->operands[0], CPU_LOOP_COUNT, DTYPE_FLOAT32);
    return whole && whole->dtype == DTYPE_INT32 ? &whole->operands[0] : NULL;
}

/* Cast(Clip(Round(Mul(x, factor)), low, high)), with a zero point that is added to the int32. */
static void join_quantize(CpuPointwise *program, CpuPointwiseStep *step) {
    int32_t zero;
    float factor, low, high;
    if (step->id != CPU_LOOP_COUNT || !is_byte(step->dtype)) return;
    if (step->by != DTYPE_INT32 && step->by != DTYPE_FLOAT32) return;
    const CpuSource *from = skip_zero(program, step, &zero);
    const CpuPointwiseStep *clip =
        from ? step_of(program, from, CPU_LOOP_CLIP, DTYPE_FLOAT32) : NULL;
    if (!clip || !read_float(program, &clip->operands[1], &low) ||
        !read_float(program, &clip->operands[2], &high))
        return;
    const int32_t lowest = step->dtype == DTYPE_INT8 ? INT8_MIN : 0;
    if (zero < lowest || zero > lowest + UINT8_MAX) return;
    if (low != (float)(lowest - zero) || high != (float)(lowest + UINT8_MAX - zero)) return;
    const CpuPointwiseStep *round =
        step_of(program, &clip->operands[0], CPU_LOOP_ROUND, DTYPE_FLOAT32);
    const CpuPointwiseStep *mul =
        round ? step_of(program, &round->operands[0], CPU_LOOP_MUL, DTYPE_FLOAT32) : NULL;
    if (!mul || !read_float(program, &mul->operands[1], &factor)) return;
    set(program, step, CPU_BYTES_QUANTIZE_BY, step->dtype, mul->operands[0], (double)factor, zero);
}

void cpu_pointwise_join_bytes(CpuPointwise *program) {
    if (program->missing) return;
    /* backwards: a step that was joined is no longer what the patterns name */
    for (uint32_t i = program->step_count; i-- > 0;) {
        join_quantize(program, &program->steps[i]);
        join_dequantize(program, &program->steps[i]);
    }
}
