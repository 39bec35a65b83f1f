/* Col2Im: each plane of the image adds up the blocks that cover it, one kernel position after the
 * other. Integers wrap. */
#include <string.h>

#include "kernels/cpu/cpu_float_plan.h"
#include "kernels/shape_rules/window.h"

enum { ELEMENTS_PER_PART = 32768 };

/* to[i * step] += from[i] */
typedef void AddRow(void *to, int64_t step, const void *from, int64_t count);

typedef struct State {
    Window window; /* input: of the image; output: how many blocks */
    int64_t image_count, block_count, kernel_count;
    uint64_t planes; /* N × C */
    uint64_t size;   /* of an element */
    AddRow *add;
} State;

typedef struct Run {
    const State *state;
    const char *columns;
    char *image;
} Run;

#define ADD_ROW(name, T)                                                                           \
    static void add_##name(void *to_, int64_t step, const void *from_, int64_t count) {            \
        T *to = to_;                                                                               \
        const T *from = from_;                                                                     \
        for (int64_t i = 0; i < count; i++) to[i * step] = (T)(to[i * step] + from[i]);            \
    }
ADD_ROW(f32, float)
ADD_ROW(f64, double)
ADD_ROW(8, uint8_t)
ADD_ROW(16, uint16_t)
ADD_ROW(32, uint32_t)
ADD_ROW(64, uint64_t)

static AddRow *add_row_for(DType dtype) {
    if (dtype == DTYPE_FLOAT64) return add_f64;
    if (dtype_is_float(dtype)) return add_f32;
    switch (dtype_bits(dtype)) {
    case 8:
        return add_8;
    case 16:
        return add_16;
    case 32:
        return add_32;
    default:
        return add_64;
    }
}

static int64_t steps_below(int64_t from, int64_t end, int64_t stride, int64_t count) {
    const int64_t steps = from >= end ? 0 : (end - from + stride - 1) / stride;
    return steps < count ? steps : count;
}

/* Adds what all blocks have at one kernel position to a plane. */
static void add_position(const State *state, const char *from, int64_t position, char *to) {
    const Window *window = &state->window;
    int64_t shift[WINDOW_RANK_MAX], at[WINDOW_RANK_MAX] = {0};
    for (uint32_t i = window->rank; i-- > 0; position /= window->kernel[i])
        shift[i] = position % window->kernel[i] * window->dilation[i] - window->pad_begin[i];
    const uint32_t last = window->rank - 1;
    const int64_t stride = window->stride[last], count = window->output[last];
    const int64_t begin = steps_below(shift[last], 0, stride, count);
    const int64_t end = steps_below(shift[last], window->input[last], stride, count);
    for (;;) {
        int64_t offset = 0;
        bool inside = begin < end;
        for (uint32_t i = 0; i < last; i++) {
            const int64_t row = at[i] * window->stride[i] + shift[i];
            inside = inside && row >= 0 && row < window->input[i];
            offset = (offset + row) * window->input[i + 1];
        }
        if (inside)
            state->add(to + (offset + begin * stride + shift[last]) * (int64_t)state->size, stride,
                from + begin * (int64_t)state->size, end - begin);
        from += (uint64_t)count * state->size;
        uint32_t d = last;
        while (d > 0 && ++at[d - 1] == window->output[d - 1]) at[--d] = 0;
        if (d == 0) return;
    }
}

static Error *run_planes(void *context, uint64_t begin, uint64_t end, uint32_t part) {
    (void)part;
    const Run *run = context;
    const State *state = run->state;
    const uint64_t image_bytes = (uint64_t)state->image_count * state->size;
    const uint64_t block_bytes = (uint64_t)state->block_count * state->size;
    for (uint64_t plane = begin; plane < end; plane++) {
        char *to = run->image + plane * image_bytes;
        memset(to, 0, (size_t)image_bytes);
        for (int64_t k = 0; k < state->kernel_count; k++)
            add_position(state,
                run->columns + (plane * (uint64_t)state->kernel_count + (uint64_t)k) * block_bytes,
                k, to);
    }
    return NULL;
}

static Error *run(const void *opaque, const CpuFloatCall *call, bool *out_abandoned) {
    (void)out_abandoned;
    const State *state = opaque;
    Run run = {state, (const char *)call->inputs[0], (char *)call->outputs[0]};
    if (state->planes == 0) return NULL;
    const int64_t cost = state->image_count + state->block_count * state->kernel_count;
    return cpu_for_each(call->device, call->launch->threads, state->planes,
        (uint64_t)(ELEMENTS_PER_PART / cost) + 1, run_planes, &run);
}

static Error *plan(Device *device, const PlanRequest *request, Plan **out) {
    const Shape *x = &request->inputs[0].shape, *y = &request->outputs[0].shape;
    const DType dtype = request->inputs[0].dtype;
    Window window;
    TRY(window_of_columns(request, &window));
    void *opaque;
    TRY(cpu_float_plan_create(device, request, "cpu.col_2_im", sizeof(State), run, out, &opaque));
    State *state = opaque;
    state->window = window;
    state->planes = (uint64_t)shape_product(y, 0, 2);
    state->image_count = shape_product(y, 2, y->rank);
    state->block_count = x->dims[2];
    state->kernel_count = 1;
    for (uint32_t i = 0; i < window.rank; i++) state->kernel_count *= window.kernel[i];
    const bool half = dtype == DTYPE_FLOAT16 || dtype == DTYPE_BFLOAT16;
    state->size = half ? sizeof(float) : dtype_bits(dtype) / 8;
    state->add = add_row_for(dtype);
    return NULL;
}

const Kernel cpu_col_2_im[] = {
    {OPERATOR_COL_2_IM, DTYPES_NUMBER, plan, "cpu.col_2_im", KERNEL_PORTABLE},
    KERNELS_END,
};
