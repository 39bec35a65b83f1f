/* Col2Im: each plane of the image adds up the blocks that cover it, one kernel position after the
 * other. Integers wrap. */
#include <string.h>

#include "kernels/cpu/loops/cpu_float_plan.h"
#include "kernels/cpu/conv/cpu_fold.h"

enum { ELEMENTS_PER_PART = 32768, CLEARED_BYTES = 4 << 20 };

typedef struct State {
    CpuFold fold;
    int64_t image_count, block_count, kernel_count;
    uint64_t planes; /* N × C */
} State;

typedef struct Run {
    const State *state;
    const char *columns;
    char *image;
} Run;

#define ADD_ROW(name, T)                                                                           \
    static void add_##name(                                                                        \
        void *to_, int64_t step, const void *from_, int64_t count, const void *factor) {           \
        T *to = to_;                                                                               \
        const T *from = from_;                                                                     \
        (void)factor;                                                                              \
        for (int64_t i = 0; i < count; i++) to[i * step] = (T)(to[i * step] + from[i]);            \
    }
ADD_ROW(f32, float)
ADD_ROW(f64, double)
ADD_ROW(8, uint8_t)
ADD_ROW(16, uint16_t)
ADD_ROW(32, uint32_t)
ADD_ROW(64, uint64_t)

static CpuFoldRow *add_row_for(DType dtype) {
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

static Error *run_planes(void *context, uint64_t begin, uint64_t end, uint32_t part) {
    (void)part;
    const Run *run = context;
    const State *state = run->state;
    const uint64_t size = (uint64_t)state->fold.size;
    const uint64_t image_bytes = (uint64_t)state->image_count * size;
    const uint64_t block_bytes = (uint64_t)state->block_count * size;
    KernelStopMeter meter = {0};
    for (uint64_t plane = begin; plane < end; plane++) {
        char *to = run->image + plane * image_bytes;
        for (uint64_t done = 0; done < image_bytes; done += CLEARED_BYTES) {
            if (done > 0) TRY(kernel_stop_check());
            memset(to + done, 0,
                image_bytes - done < CLEARED_BYTES ? image_bytes - done : CLEARED_BYTES);
        }
        for (int64_t k = 0; k < state->kernel_count; k++) {
            TRY(kernel_stop_count(&meter, 32 + (uint64_t)state->block_count * 2));
            cpu_fold_position(&state->fold, k,
                run->columns + (plane * (uint64_t)state->kernel_count + (uint64_t)k) * block_bytes,
                NULL, to);
        }
    }
    return NULL;
}

static Error *run(const void *opaque, const CpuFloatCall *call) {
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
    state->planes = (uint64_t)shape_product(y, 0, 2);
    state->image_count = shape_product(y, 2, y->rank);
    state->block_count = x->dims[2];
    state->kernel_count = 1;
    for (uint32_t i = 0; i < window.rank; i++) state->kernel_count *= window.kernel[i];
    const bool half = dtype == DTYPE_FLOAT16 || dtype == DTYPE_BFLOAT16;
    cpu_fold_make(&window, window.input, window.output,
        half ? (int64_t)sizeof(float) : dtype_bits(dtype) / 8, add_row_for(dtype), &state->fold);
    return NULL;
}

const Kernel cpu_col_2_im[] = {
    {OPERATOR_COL_2_IM, DTYPES_NUMBER, plan, "cpu.col_2_im", KERNEL_PORTABLE},
    KERNELS_END,
};
