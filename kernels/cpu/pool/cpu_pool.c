/* MaxPool, AveragePool and LpPool over any number of spatial dimensions. Each output combines its
 * window in the order of the kernel, so the bits are the same at every instruction set: float32
 * over one or two dimensions by vectors of outputs, all other cases by rows that take one kernel
 * position after the other. */
#include <math.h>
#include <string.h>

#include "kernels/cpu/loops/cpu_float_plan.h"
#include "kernels/cpu/pool/cpu_pool_lp.h"
#include "kernels/cpu/pool/cpu_pool_row.h"
#include "kernels/cpu/pool/cpu_pool_window.h"
#include "kernels/arguments/window.h"

enum { COUNTS_MAX = 256 }; /* outputs of a row whose counts are kept */

typedef struct PoolState {
    Window window;
    int64_t planes;                                             /* N × C */
    int64_t input_count, output_count, kernel_count, row_count; /* of a plane; rows of outputs */
    uint64_t element_size;
    bool is_average, include_padding, indices_wanted;
    int64_t whole_first, whole_end; /* outputs of a row whose windows count the whole kernel */
    float counts[COUNTS_MAX];       /* how many of a row's elements each of its windows counts */
    void (*divide)(const float *x, const float *counts, float outer, int64_t width, float *y);
    int64_t norm; /* p of LpPool, whose windows are sums of powers; 0 for other pools */
    int64_t index_step[WINDOW_RANK_MAX]; /* distance in the input for a step along each dimension */
    const CpuPoolRow *row;
    CpuPoolWindow *by_window;     /* NULL: computed by rows */
    CpuPoolWindow *number_window; /* of maxima: by_window for bands without a NaN */
    CpuPoolNumbers *numbers;
    CpuPlane plane;
} PoolState;

typedef struct Run {
    const PoolState *state;
    const char *x;
    char *y;
    int64_t *indices;
} Run;

/* One row of outputs in a plane: the coordinates of the outer dimensions. */
typedef struct RowPlace {
    int64_t corner[WINDOW_RANK_MAX]; /* input coordinates of kernel position 0 */
} RowPlace;

static RowPlace place_of(const Window *window, int64_t row) {
    RowPlace place = {{0}};
    const uint32_t last = window->rank - 1;
    for (uint32_t i = last; i-- > 0; row /= window->output[i])
        place.corner[i] = row % window->output[i] * window->stride[i] - window->pad_begin[i];
    place.corner[last] = -window->pad_begin[last];
    return place;
}

/* Computes the input offset of the row that a kernel position reads, and the innermost coordinate
 * of the row's first element. False: the row lies in the padding. */
static bool look(const Window *window, const RowPlace *place, int64_t position, int64_t *out_offset,
    int64_t *out_start) {
    const uint32_t last = window->rank - 1;
    *out_start = place->corner[last] + position % window->kernel[last] * window->dilation[last];
    position /= window->kernel[last];
    int64_t offset = 0, step = window->input[last];
    for (uint32_t i = last; i-- > 0; position /= window->kernel[i]) {
        const int64_t at = place->corner[i] + position % window->kernel[i] * window->dilation[i];
        if (at < 0 || at >= window->input[i]) return false;
        offset += at * step;
        step *= window->input[i];
    }
    *out_offset = offset;
    return true;
}

static int64_t counted(const PoolState *state, uint32_t i, int64_t corner) {
    return window_count_positions(&state->window, i, corner, state->include_padding);
}

/* Divides the outputs first … end of a row, whose windows may count differently. */
static void divide_edge(
    const PoolState *state, int64_t outer, int64_t first, int64_t end, char *y) {
    const uint32_t last = state->window.rank - 1;
    for (int64_t i = first; i < end; i++) {
        if (kernel_stop_ends_at(i)) return;
        const int64_t corner = i * state->window.stride[last] - state->window.pad_begin[last];
        const int64_t count = outer * counted(state, last, corner);
        if (count > 0) state->row->divide(y + (uint64_t)i * state->element_size, 1, count);
    }
}

static void divide_row(const PoolState *state, const RowPlace *place, char *y) {
    const Window *window = &state->window;
    const uint32_t last = window->rank - 1;
    int64_t outer = 1;
    for (uint32_t i = 0; i < last; i++) outer *= counted(state, i, place->corner[i]);
    divide_edge(state, outer, 0, state->whole_first, y);
    for (int64_t i = state->whole_first, end; outer > 0 && i < state->whole_end; i = end) {
        if (kernel_stop_ends()) return;
        end = kernel_stop_piece(i, state->whole_end);
        state->row->divide(
            y + (uint64_t)i * state->element_size, end - i, outer * window->kernel[last]);
    }
    divide_edge(state, outer, state->whole_end, window->output[last], y);
}

CPU_INLINE void divide_counts_body(
    const float *x, const float *counts, float outer, int64_t width, float *y) {
    CPU_EACH_LANE(i, width) y[i] = x[i] / (outer * counts[i]);
}
CPU_VARIANTS(divide_counts,
    (const float *x, const float *counts, float outer, int64_t width, float *y),
    (x, counts, outer, width, y));

/* divide_row for short rows of windows, from x to y. */
static void divide_short_row(const PoolState *state, int64_t row, const float *x, float *y) {
    const Window *window = &state->window;
    const int64_t corner = row * window->stride[0] - window->pad_begin[0];
    const int64_t outer = window->rank == 1 ? 1 : counted(state, 0, corner);
    state->divide(x, state->counts, outer > 0 ? (float)outer : 1, state->plane.width, y);
}

static void finish_row(const PoolState *state, const RowPlace *place, char *y) {
    const int64_t width = state->window.output[state->window.rank - 1];
    if (state->norm)
        cpu_pool_lp_roots(state->norm, (uint32_t)state->element_size, width, y);
    else if (state->is_average)
        divide_row(state, place, y);
}

static void pool_row(const Run *run, int64_t plane, int64_t row) {
    const PoolState *state = run->state;
    const Window *window = &state->window;
    const uint32_t last = window->rank - 1;
    const char *x = run->x + (uint64_t)(plane * state->input_count) * state->element_size;
    const int64_t at = plane * state->output_count + row * window->output[last];
    char *y = run->y + (uint64_t)at * state->element_size;
    const RowPlace place = place_of(window, row);
    KernelStopMeter meter = {0};
    for (int64_t first = 0, end; first < window->output[last]; first = end) {
        end = kernel_stop_piece(first, window->output[last]);
        char *piece = y + (uint64_t)first * state->element_size;
        state->row->start(piece, end - first);
        for (int64_t position = 0; position < state->kernel_count; position++) {
            int64_t offset, start;
            if (kernel_stop_ends_after(&meter, (uint64_t)(end - first) + 8)) return;
            if (!look(window, &place, position, &offset, &start)) continue;
            state->row->take(x + (uint64_t)offset * state->element_size,
                start + first * window->stride[last], window->stride[last], window->input[last],
                end - first, piece);
        }
    }
    finish_row(state, &place, y);
}

/* Finds the index of each window's first maximum. Slow, and rarely wanted. */
static void find_row(const Run *run, int64_t plane, int64_t row) {
    const PoolState *state = run->state;
    const Window *window = &state->window;
    const uint32_t last = window->rank - 1;
    const char *x = run->x + (uint64_t)(plane * state->input_count) * state->element_size;
    const int64_t first = plane * state->output_count + row * window->output[last];
    const RowPlace place = place_of(window, row);
    KernelStopMeter meter = {0};
    for (int64_t i = 0; i < window->output[last]; i++) {
        const char *wanted = run->y + (uint64_t)(first + i) * state->element_size;
        int64_t found = 0;
        for (int64_t position = 0; position < state->kernel_count; position++) {
            int64_t offset, start;
            if (kernel_stop_ends_after(&meter, 16)) return;
            if (!look(window, &place, position, &offset, &start)) continue;
            const int64_t at = start + i * window->stride[last];
            if (at < 0 || at >= window->input[last]) continue;
            if (!state->row->same(x + (uint64_t)(offset + at) * state->element_size, wanted))
                continue;
            int64_t rest = offset + at;
            for (uint32_t d = window->rank; d-- > 0; rest /= window->input[d])
                found += rest % window->input[d] * state->index_step[d];
            break;
        }
        run->indices[first + i] = plane * state->input_count + found;
    }
}

static void pool_band(const Run *run, int64_t plane_index, int64_t band_index) {
    const PoolState *state = run->state;
    const CpuPlane *plane = &state->plane;
    const int64_t first = band_index * plane->band_rows, left = plane->rows - first;
    const int64_t rows = left < plane->band_rows ? left : plane->band_rows;
    const float *x = (const float *)(const void *)run->x + plane_index * state->input_count;
    float *y = (float *)(void *)run->y + plane_index * state->output_count + first * plane->width;
    float band[CPU_PLANE_BAND_MAX], outputs[CPU_PLANE_WIDTH_MAX + CPU_VECTOR_LANES];
    const bool adds = state->is_average || state->norm;
    cpu_plane_fill(plane, x, first, rows, adds ? 0 : -INFINITY, band);
    bool numbers = false;
    if (!adds) state->numbers(band, cpu_plane_rows_read(plane, rows) * plane->pitch, &numbers);
    CpuPoolWindow *window = numbers ? state->number_window : state->by_window;
    for (int64_t i = 0; i < rows; i++, y += plane->width) {
        window(plane, band + i * plane->row_stride * plane->pitch, outputs);
        if (state->divide) {
            divide_short_row(state, first + i, outputs, y);
            continue;
        }
        memcpy(y, outputs, (size_t)plane->width * sizeof(float));
        if (!adds) continue;
        const RowPlace place = place_of(&state->window, first + i);
        finish_row(state, &place, (char *)y);
    }
}

static Error *run_bands(void *context, uint64_t begin, uint64_t end, uint32_t part) {
    (void)part;
    const Run *run = context;
    const int64_t bands = run->state->plane.bands;
    for (int64_t i = (int64_t)begin; i < (int64_t)end; i++) pool_band(run, i / bands, i % bands);
    return NULL;
}

static Error *run_rows(void *context, uint64_t begin, uint64_t end, uint32_t part) {
    (void)part;
    const Run *run = context;
    const int64_t rows = run->state->row_count;
    for (int64_t i = (int64_t)begin; i < (int64_t)end; i++) {
        pool_row(run, i / rows, i % rows);
        if (run->indices) find_row(run, i / rows, i % rows);
    }
    return NULL;
}

static Error *run(const void *opaque, const CpuFloatCall *call) {
    const PoolState *state = opaque;
    static const double nothing = 0; /* stands for planes of size 0, which have no address */
    if (state->planes * state->output_count == 0) return NULL;
    Run run = {
        .state = state,
        .x = call->inputs[0] ? (const char *)call->inputs[0] : (const char *)&nothing,
        .y = (char *)call->outputs[0],
        .indices = state->indices_wanted ? (int64_t *)(void *)call->outputs[1] : NULL,
    };
    if (state->norm && state->input_count > 0) {
        TRY(cpu_pool_lp_powers(call->device, call->launch->threads, state->norm,
            (uint32_t)state->element_size, (uint64_t)(state->planes * state->input_count), run.x,
            call->workspace));
        run.x = call->workspace;
    }
    if (state->by_window) {
        const CpuPlane *plane = &state->plane;
        const int64_t cost = plane->band_rows * plane->width * state->kernel_count / 4 +
                             cpu_plane_rows_read(plane, plane->band_rows) * plane->pitch / 8;
        return cpu_for_each(call->device, call->launch->threads,
            (uint64_t)(state->planes * plane->bands), (uint64_t)(32768 / (cost + 1)) + 1, run_bands,
            &run);
    }
    const int64_t width = state->window.output[state->window.rank - 1];
    return cpu_for_each(call->device, call->launch->threads,
        (uint64_t)(state->planes * state->row_count),
        (uint64_t)(65536 / (width * state->kernel_count)) + 1, run_rows, &run);
}

/* Finds the outputs along the last dimension of which an average counts each kernel position. */
static void find_whole_windows(PoolState *state) {
    const Window *window = &state->window;
    const uint32_t last = window->rank - 1;
    const int64_t stride = window->stride[last], pad = window->pad_begin[last];
    const int64_t before = state->include_padding ? 0 : pad;
    const int64_t input =
        window->input[last] + (state->include_padding ? window->pad_end[last] : 0);
    const int64_t room = input + pad - window_reach(window, last, 1);
    const int64_t fitting = room < 0 ? 0 : room / stride + 1, outputs = window->output[last];
    state->whole_end = fitting < outputs ? fitting : outputs;
    state->whole_first = (before + stride - 1) / stride;
    if (state->whole_first > state->whole_end) state->whole_first = state->whole_end;
}

static void keep_counts(PoolState *state) {
    const Window *window = &state->window;
    const uint32_t last = window->rank - 1;
    for (int64_t i = 0; i < state->plane.width; i++) {
        const int64_t count =
            counted(state, last, i * window->stride[last] - window->pad_begin[last]);
        state->counts[i] = count > 0 ? (float)count : 1;
    }
}

static void choose_window(PoolState *state, CpuLevel level, bool adds) {
    const int64_t stride = state->window.stride[state->window.rank - 1];
    state->by_window = cpu_pool_window_for(level, adds ? CPU_POOL_SUM : CPU_POOL_MAX, stride);
    state->number_window = cpu_pool_window_for(level, CPU_POOL_MAX_OF_NUMBERS, stride);
    state->numbers = cpu_pool_numbers_for(level);
}

static Error *plan(Device *device, const PlanRequest *request, Plan **out) {
    const Attributes *attributes = request->attributes;
    const Shape *x = &request->inputs[0].shape, *y = &request->outputs[0].shape;
    const OperatorId id = request->operator_info->id;
    const bool is_average = id == OPERATOR_AVERAGE_POOL, adds = id != OPERATOR_MAX_POOL;
    Window window;
    TRY(window_of(request, &window));
    void *opaque;
    TRY(cpu_float_plan_create(device, request, "cpu.pool", sizeof(PoolState), run, out, &opaque));
    PoolState *state = opaque;
    state->window = window;
    state->planes = shape_product(x, 0, 2);
    state->input_count = shape_product(x, 2, x->rank);
    state->output_count = shape_product(y, 2, y->rank);
    state->row_count = shape_product(y, 2, y->rank - 1);
    state->kernel_count = 1;
    for (uint32_t i = 0; i < window.rank; i++) state->kernel_count *= window.kernel[i];
    state->is_average = is_average;
    const DType dtype = request->inputs[0].dtype;
    const bool half = dtype == DTYPE_FLOAT16 || dtype == DTYPE_BFLOAT16;
    const DType computed = half ? DTYPE_FLOAT32 : dtype;
    state->element_size = dtype_bits(computed) / 8;
    state->row = cpu_pool_row_for(cpu_device(device)->level, computed, adds);
    if (id == OPERATOR_LP_POOL) {
        state->norm = attributes_int(attributes, "p");
        cpu_float_plan_set_workspace(
            *out, (uint64_t)(state->planes * state->input_count) * state->element_size);
    } else if (is_average) {
        state->include_padding = attributes_int(attributes, "count_include_pad") != 0;
        find_whole_windows(state);
    } else {
        state->indices_wanted = request->output_count > 1 && request->outputs[1].present;
        window_index_steps(
            &window, attributes_int(attributes, "storage_order") != 0, state->index_step);
    }
    if (computed == DTYPE_FLOAT32 && !state->indices_wanted && cpu_plane_of(&window, &state->plane))
        choose_window(state, cpu_device(device)->level, adds);
    if (state->by_window && is_average && state->plane.width <= COUNTS_MAX) {
        keep_counts(state);
        state->divide = divide_counts_for(cpu_device(device)->level);
    }
    return NULL;
}

#define DTYPES_POOL (DTYPES_FLOAT32_AND_HALF | DTYPE_BIT(DTYPE_FLOAT64))

const Kernel cpu_pool[] = {
    {OPERATOR_MAX_POOL, DTYPES_POOL | DTYPE_BIT(DTYPE_INT8) | DTYPE_BIT(DTYPE_UINT8), plan,
        "cpu.pool", KERNEL_PORTABLE},
    {OPERATOR_AVERAGE_POOL, DTYPES_POOL, plan, "cpu.pool", KERNEL_PORTABLE},
    {OPERATOR_LP_POOL, DTYPES_POOL, plan, "cpu.pool", KERNEL_PORTABLE},
    KERNELS_END,
};
