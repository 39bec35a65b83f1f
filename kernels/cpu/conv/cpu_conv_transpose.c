/* ConvTranspose of float32 and, through float32, of float16 and bfloat16: a matrix product computes
 * the contribution of each input pixel to its window, then each output gathers its terms in the
 * order of the kernel. With packed weights the pixels are the product's rows, and its operands are
 * turned before and after it: rows of plain weights lie so far apart that they share the sets of
 * the caches. A term has the same bits in both ways. */
#include "kernels/cpu/conv/cpu_conv_kernel.h"
#include "kernels/cpu/loops/cpu_float_plan.h"
#include "kernels/cpu/conv/cpu_fold_rows.h"
#include "kernels/cpu/core/cpu_layouts.h"
#include "kernels/cpu/matmul/cpu_matmul_kernel.h"
#include "kernels/cpu/movement/cpu_copy.h"

typedef struct TransposeState {
    CpuFold fold;
    CpuFoldRows rows;
    bool by_rows;                             /* else position by position */
    int64_t batch, groups, channels, filters; /* of one group */
    int64_t input_count, output_count, kernel_count;
    bool has_bias;
    /* of one image: [groups] × [filters × kernel, channels] × [channels, pixels], or, with one
     * pixel or packed weights, [groups] × [pixels, channels] × [channels, filters × kernel] */
    CpuMatmul matmul;
    bool by_pixels;      /* the second way */
    bool turns;          /* both operands, for several pixels; floats behind the terms: */
    int64_t terms_count; /* of the terms, rounded up, and of the product */
    CpuCopy enter, leave;
} TransposeState;

typedef struct Run {
    const TransposeState *state;
    const float *terms, *bias; /* terms [groups × filters, kernel, input pixels] */
    float *y;                  /* of the image */
} Run;

static void add_row(void *to_, int64_t step, const void *from_, int64_t count, const void *factor) {
    float *to = to_;
    const float *from = from_;
    (void)factor;
    for (int64_t i = 0; i < count; i++) to[i * step] += from[i];
}

static Error *gather_units(void *context, uint64_t begin, uint64_t end, uint32_t part) {
    (void)part;
    const Run *run = context;
    const TransposeState *state = run->state;
    for (int64_t i = (int64_t)begin; i < (int64_t)end; i++) {
        float *y = run->y + i * state->output_count;
        const float first = run->bias ? run->bias[i] : 0;
        if (state->by_rows) {
            cpu_fold_rows_run(
                &state->rows, run->terms + i * state->kernel_count * state->input_count, first, y);
            TRY(kernel_stop_check());
            continue;
        }
        KERNEL_STOP_EACH (j, 0, state->output_count) y[j] = first;
        for (int64_t k = 0; k < state->kernel_count; k++) {
            TRY(kernel_stop_check());
            cpu_fold_position(&state->fold, k,
                run->terms + (i * state->kernel_count + k) * state->input_count, NULL, y);
        }
    }
    return NULL;
}

/* Computes the terms of one image into the workspace's start. */
static Error *multiply(const TransposeState *state, const CpuFloatCall *call, const float *image) {
    const uint32_t threads = call->launch->threads;
    float *terms = call->workspace, *product = terms + state->terms_count;
    CpuMatmulBuffers matrices = {.a = call->inputs[1], .b = image, .c = terms};
    if (!state->by_pixels)
        return cpu_matmul_run(call->device, &state->matmul, &matrices, call->launch);
    matrices.a = image;
    matrices.b = call->inputs[1];
    if (!state->turns) return cpu_matmul_run(call->device, &state->matmul, &matrices, call->launch);
    float *pixels = product + state->terms_count;
    if (image) TRY(cpu_copy_run(call->device, threads, &state->enter, pixels, image));
    matrices.a = pixels;
    matrices.c = product;
    TRY(cpu_matmul_run(call->device, &state->matmul, &matrices, call->launch));
    return cpu_copy_run(call->device, threads, &state->leave, terms, product);
}

static Error *run(const void *opaque, const CpuFloatCall *call) {
    const TransposeState *state = opaque;
    const int64_t planes = state->groups * state->filters;
    if (planes * state->output_count == 0) return NULL; /* empty tensors have no address */
    for (int64_t image = 0; image < state->batch; image++) {
        const int64_t at = image * state->groups * state->channels * state->input_count;
        TRY(multiply(state, call, call->inputs[0] ? call->inputs[0] + at : NULL));
        Run run = {state, call->workspace, state->has_bias ? call->inputs[2] : NULL,
            call->outputs[0] + image * planes * state->output_count};
        TRY(cpu_for_each(call->device, call->launch->threads, (uint64_t)planes,
            (uint64_t)(32768 / (state->kernel_count * state->input_count + 1)) + 1, gather_units,
            &run));
    }
    return NULL;
}

/* Pixels are rows, which are multiplied with W as it lies. Each term is the same chain. */
static CpuMatmul matmul_of_pixels(const TransposeState *state, bool packed) {
    const int64_t columns = state->filters * state->kernel_count, pixels = state->input_count;
    return (CpuMatmul){
        .rows = pixels,
        .columns = columns,
        .depth = state->channels,
        .a_row = state->channels,
        .a_column = 1,
        .b_row = columns,
        .b_column = 1,
        .b_packed = packed,
        .batch = {1, {state->groups}},
        .batch_count = state->groups,
        .a_batch = {state->channels * pixels},
        .b_batch = {packed ? cpu_matmul_packed_count(state->channels, columns)
                           : state->channels * columns},
        .epilogue = {.alpha = 1, .bias_scale = 1},
    };
}

/* Prepares the copies [groups, channels, pixels] to [groups, pixels, channels] and of the product
 * back to the order of the terms. */
static void set_turns(TransposeState *state) {
    const int64_t groups = state->groups, pixels = state->input_count, channels = state->channels;
    const int64_t columns = state->filters * state->kernel_count;
    const int64_t rows[] = {groups, pixels, channels}, terms[] = {groups, columns, pixels};
    const int64_t rows_from[] = {channels * pixels, 1, pixels};
    const int64_t rows_to[] = {channels * pixels, channels, 1};
    const int64_t terms_from[] = {columns * pixels, 1, columns};
    const int64_t terms_to[] = {columns * pixels, pixels, 1};
    state->turns = true;
    cpu_copy_make(3, rows, rows_from, 0, rows_to, 0, sizeof(float), &state->enter);
    cpu_copy_make(3, terms, terms_from, 0, terms_to, 0, sizeof(float), &state->leave);
}

/* Floats of the workspace: the terms, and, with turns, the product and the turned pixels. */
static int64_t workspace_count(const TransposeState *state) {
    const int64_t pixels = state->groups * state->channels * state->input_count;
    return state->turns ? 2 * state->terms_count + pixels : state->terms_count;
}

/* W [groups × channels, filters, kernel] is read transposed. */
static CpuMatmul matmul_of(const TransposeState *state) {
    const int64_t rows = state->filters * state->kernel_count, pixels = state->input_count;
    return (CpuMatmul){
        .rows = rows,
        .columns = pixels,
        .depth = state->channels,
        .a_row = 1,
        .a_column = rows,
        .b_row = pixels,
        .b_column = 1,
        .batch = {1, {state->groups}},
        .batch_count = state->groups,
        .a_batch = {state->channels * rows},
        .b_batch = {state->channels * pixels},
        .epilogue = {.alpha = 1, .bias_scale = 1},
    };
}

static Error *plan_at(
    Device *device, CpuLevel level, const char *name, const PlanRequest *request, Plan **out) {
    const Shape *x = &request->inputs[0].shape, *w = &request->inputs[1].shape;
    TransposeState transpose = {
        .batch = x->dims[0],
        .groups = attributes_int(request->attributes, "group"),
        .filters = w->dims[1],
        .input_count = shape_product(x, 2, x->rank),
        .output_count = shape_product(&request->outputs[0].shape, 2, x->rank),
        .kernel_count = shape_product(w, 2, w->rank),
        .has_bias = request->input_count > 2 && request->inputs[2].present,
    };
    Window window;
    TRY(window_of_transpose(request, &window));
    cpu_fold_make(&window, window.output, window.input, sizeof(float), add_row, &transpose.fold);
    transpose.by_rows = cpu_fold_rows_make(&transpose.fold, level, &transpose.rows);
    transpose.channels = x->dims[1] / transpose.groups;
    const bool packed = request->inputs[1].layout == CPU_LAYOUT_PANELS;
    transpose.by_pixels = packed || transpose.input_count == 1;
    transpose.matmul =
        transpose.by_pixels ? matmul_of_pixels(&transpose, packed) : matmul_of(&transpose);
    const int64_t terms =
        transpose.groups * transpose.filters * transpose.kernel_count * transpose.input_count;
    transpose.terms_count = (terms + CPU_FOLD_SLACK + 15) / 16 * 16;
    if (packed && transpose.input_count > 1) set_turns(&transpose);
    cpu_matmul_prepare(&transpose.matmul, level);
    void *state;
    TRY(cpu_float_plan_create(device, request, name, sizeof(TransposeState), run, out, &state));
    *(TransposeState *)state = transpose;
    cpu_float_plan_set_workspace(*out, (uint64_t)workspace_count(&transpose) * sizeof(float));
    return NULL;
}

static Error *plan_fast(Device *device, const PlanRequest *request, Plan **out) {
    const CpuLevel level = cpu_device(device)->level;
    if (level == CPU_LEVEL_PORTABLE) return cpu_decline(out);
    return plan_at(device, level, "cpu.conv_transpose", request, out);
}

static Error *plan_portable(Device *device, const PlanRequest *request, Plan **out) {
    return plan_at(device, CPU_LEVEL_PORTABLE, "cpu.conv_transpose_portable", request, out);
}

const Kernel cpu_conv_transpose[] = {
    {OPERATOR_CONV_TRANSPOSE, DTYPES_FLOAT32_AND_HALF, plan_fast, "cpu.conv_transpose", 0},
    {OPERATOR_CONV_TRANSPOSE, DTYPES_FLOAT32_AND_HALF, plan_portable, "cpu.conv_transpose_portable",
        KERNEL_PORTABLE},
    KERNELS_END,
};
