/* QLinearMatMul from or to floats of 8 bits, for which the products of integers cannot be used.
 * Elements minus their zero points are float32, their products exact in float64, and sums are in
 * the order of the depth. */
#include "base/checked.h"
#include "kernels/cpu/quantized/cpu_integer_operand.h"
#include "kernels/cpu/core/cpu_layouts.h"
#include "kernels/cpu/quantized/cpu_lower_bytes.h"
#include "kernels/scalar/scalar_float.h"

enum { COLUMNS = 128, ELEMENTS_PER_PART = 1 << 15 };

typedef struct State {
    const CpuDevice *device;
    CpuIntegerOperand a, b;
    CpuWiden a_widen, b_widen, scale, y_widen;
    Shape batch; /* of the result */
    int64_t a_matrix[SHAPE_RANK_MAX], b_matrix[SHAPE_RANK_MAX];
    uint64_t rows; /* of all matrices of the result */
    DType to;
    bool b_packed;     /* a constant of bytes */
    uint64_t b_offset; /* in the workspace */
} State;

typedef struct Run {
    const State *state;
    const Launch *launch;
    float *a, *b;
} Run;

static void widen_elements(
    const CpuWiden *widen, const void *from, uint64_t count, KernelStopMeter *meter, float *to) {
    for (uint64_t i = 0; i < count && !kernel_stop_ends_after(meter, 64 * CPU_SMALL_RUN);
         i += CPU_SMALL_RUN)
        cpu_widen_run(
            widen, from, i, count - i < CPU_SMALL_RUN ? count - i : CPU_SMALL_RUN, to + i);
}

/* The constant's bytes out of the panels in which the products of integers take it. */
static void unpack(const State *state, const char *panels, KernelStopMeter *meter, float *to) {
    const CpuIntegerOperand *b = &state->b;
    const CpuLowerForm form = cpu_lower_form(state->device, true);
    const int32_t moved = b->is_signed ? 0 : CPU_LOWER_BIAS;
    for (int64_t k = 0; k < b->depth; k++)
        for (int64_t c = 0; c < b->lines; c++) {
            if (kernel_stop_ends_after(meter, 8)) return;
            to[k * b->lines + c] = (float)(cpu_lower_byte(form, panels, b->depth, k, c) + moved);
        }
}

/* Subtracts each line's zero point. */
static void subtract_zeros(const CpuIntegerOperand *operand, const CpuWiden *widen,
    const void *zero_points, KernelStopMeter *meter, float *to) {
    for (int64_t matrix = 0; matrix < operand->matrices && operand->depth > 0; matrix++) {
        const CpuLines *zeros = &operand->zero_points;
        const int64_t first = cpu_lines_first(zeros, &operand->batch, matrix);
        for (int64_t line = 0; line < operand->lines; line++) {
            const float zero =
                cpu_widen_one(widen, zero_points, (uint64_t)(first + line * zeros->line));
            float *at = to + matrix * operand->matrix_stride + line * operand->line_stride;
            for (int64_t k = 0; k < operand->depth; k++) {
                if (kernel_stop_ends_after(meter, 8)) return;
                at[k * operand->depth_stride] -= zero;
            }
        }
    }
}

static void widen_matrices(const State *state, const Launch *launch, const Run *run) {
    const CpuIntegerOperand *a = &state->a, *b = &state->b;
    KernelStopMeter meter = {0};
    widen_elements(&state->a_widen, cpu_input(launch, 0),
        (uint64_t)(a->matrices * a->matrix_stride), &meter, run->a);
    subtract_zeros(a, &state->a_widen, cpu_input(launch, 2), &meter, run->a);
    if (state->b_packed)
        unpack(state, cpu_input(launch, 3), &meter, run->b);
    else
        widen_elements(&state->b_widen, cpu_input(launch, 3),
            (uint64_t)(b->matrices * b->matrix_stride), &meter, run->b);
    subtract_zeros(b, &state->b_widen, cpu_input(launch, 5), &meter, run->b);
}

static float scale_of(const State *state, const CpuIntegerOperand *operand, const void *scales,
    int64_t matrix, int64_t line) {
    const int64_t first = cpu_lines_first(&operand->scales, &operand->batch, matrix);
    return cpu_widen_one(&state->scale, scales, (uint64_t)(first + line * operand->scales.line));
}

static void run_columns(
    const Run *run, int64_t row, int64_t a_matrix, int64_t b_matrix, int64_t column, uint8_t *to) {
    const State *state = run->state;
    const CpuIntegerOperand *a = &state->a, *b = &state->b;
    const Launch *launch = run->launch;
    const int64_t left = b->lines - column, count = left < COLUMNS ? left : COLUMNS;
    const float y_scale = cpu_widen_one(&state->scale, cpu_input(launch, 6), 0);
    const float zero = cpu_widen_one(&state->y_widen, cpu_input(launch, 7), 0);
    const float a_scale = scale_of(state, a, cpu_input(launch, 1), a_matrix, row);
    const bool is_integer = dtype_is_integer(state->to);
    double sums[COLUMNS] = {0};
    float values[COLUMNS];
    KernelStopMeter meter = {0};
    for (int64_t k = 0; k < a->depth; k++) {
        if (kernel_stop_ends_after(&meter, COLUMNS)) return;
        const double x = (double)run->a[a_matrix * a->matrix_stride + row * a->line_stride + k];
        const float *from = run->b + b_matrix * b->matrix_stride + k * b->depth_stride + column;
        for (int64_t c = 0; c < count; c++) sums[c] += x * (double)from[c];
    }
    for (int64_t c = 0; c < count; c++) {
        const float scale =
            a_scale * scale_of(state, b, cpu_input(launch, 4), b_matrix, column + c) / y_scale;
        values[c] = (float)(sums[c] * (double)scale);
        if (is_integer) values[c] = values[c] == values[c] ? scalar_round_f32(values[c]) : 0;
        values[c] = zero != 0 ? values[c] + zero : values[c];
    }
    cpu_small_narrow(state->to, true, values, to, 0, (uint64_t)count);
}

static Error *run_rows(void *context, uint64_t begin, uint64_t end, uint32_t part) {
    const Run *run = context;
    const State *state = run->state;
    const int64_t width = state->b.lines;
    (void)part;
    for (int64_t unit = (int64_t)begin; unit < (int64_t)end; unit++) {
        const int64_t matrix = unit / state->a.lines, row = unit % state->a.lines;
        int64_t rest = matrix, a = 0, b = 0;
        for (uint32_t i = state->batch.rank; i-- > 0; rest /= state->batch.dims[i]) {
            a += rest % state->batch.dims[i] * state->a_matrix[i];
            b += rest % state->batch.dims[i] * state->b_matrix[i];
        }
        uint8_t *to = (uint8_t *)cpu_output(run->launch, 0) + unit * width;
        for (int64_t column = 0; column < width; column += COLUMNS) {
            TRY(kernel_stop_check());
            run_columns(run, row, a, b, column, to + column);
        }
    }
    return NULL;
}

static Error *launch_matmul(const Plan *plan, const Launch *launch, const Shape *output_shapes) {
    const State *state = plan_state(plan);
    Run run = {state, launch, cpu_workspace(launch),
        (float *)(void *)((char *)cpu_workspace(launch) + state->b_offset)};
    const int64_t work = (state->a.depth + 1) * (state->b.lines + 1);
    (void)output_shapes;
    if (state->rows == 0) return NULL;
    widen_matrices(state, launch, &run);
    return cpu_for_each(cpu_device(plan->device), launch->threads, state->rows,
        (uint64_t)(ELEMENTS_PER_PART / work) + 1, run_rows, &run);
}

static Error *place_workspace(Plan *plan, State *state) {
    const uint64_t a = (uint64_t)(state->a.matrices * state->a.matrix_stride);
    const uint64_t b = (uint64_t)(state->b.matrices * state->b.matrix_stride);
    uint64_t bytes;
    if (!checked_mul_u64(a, sizeof(float), &bytes) ||
        !checked_align_u64(bytes + 1, DEVICE_ALIGNMENT, &state->b_offset) ||
        !checked_mul_u64(b, sizeof(float), &bytes) ||
        !checked_add_u64(state->b_offset, bytes, &plan->workspace_bytes))
        FAIL(INVALID, "the operands are too large");
    return NULL;
}

static Error *plan_matmul(Device *device, const PlanRequest *request, Plan **out) {
    OWN(Plan, plan) = NULL;
    TRY(plan_create(device, request, "cpu.float8_matmul", sizeof(State), &plan));
    State *state = plan_state(plan);
    TRY(cpu_integer_operand_of(request, 0, 2, 1, true, &state->a));
    TRY(cpu_integer_operand_of(request, 3, 5, 4, false, &state->b));
    TRY(shape_broadcast(&state->a.batch, &state->b.batch, &state->batch));
    shape_broadcast_strides(&state->a.batch, &state->batch, state->a_matrix);
    shape_broadcast_strides(&state->b.batch, &state->batch, state->b_matrix);
    const bool empty = shape_count_unchecked(&request->outputs[0].shape) == 0;
    state->rows = empty ? 0 : (uint64_t)(shape_count_unchecked(&state->batch) * state->a.lines);
    state->to = request->outputs[0].dtype;
    state->b_packed = request->inputs[3].layout != CPU_LAYOUT_PLAIN;
    state->device = cpu_device(device);
    cpu_widen_init(request->inputs[0].dtype, &state->a_widen);
    cpu_widen_init(request->inputs[3].dtype, &state->b_widen);
    cpu_widen_init(request->inputs[1].dtype, &state->scale);
    cpu_widen_init(state->to, &state->y_widen);
    TRY(place_workspace(plan, state));
    plan->launch = launch_matmul;
    *out = TAKE(plan);
    return NULL;
}

const Kernel cpu_float8_matmul[] = {
    {OPERATOR_QLINEAR_MATMUL, DTYPES_FLOAT8 | DTYPE_BIT(DTYPE_INT8) | DTYPE_BIT(DTYPE_UINT8),
        plan_matmul, "cpu.float8_matmul", KERNEL_PORTABLE},
    KERNELS_END,
};
