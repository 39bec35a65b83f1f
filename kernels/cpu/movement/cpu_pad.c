/* Pad and CenterCropPad. Dimensions after the last padded one are copied as blocks of bytes. */
#include <string.h>

#include "kernels/cpu/core/cpu_index.h"
#include "kernels/arguments/arguments.h"

enum { BYTES_PER_PART = 131072 };

typedef struct State {
    PadMode mode;
    uint32_t rank; /* up to and with the last padded dimension; 1 at least */
    int64_t in_dims[SHAPE_RANK_MAX], out_dims[SHAPE_RANK_MAX], begin[SHAPE_RANK_MAX];
    int64_t strides[SHAPE_RANK_MAX]; /* of the input, in blocks */
    uint64_t rows;                   /* of the output: all but dimension rank - 1 */
    uint64_t block_bytes, size;
    bool has_value;
} State;

typedef struct Run {
    const State *state;
    char *to;
    const char *from;
    uint8_t value[8];
} Run;

/* The input coordinate for output coordinate `at`; -1: the constant. */
static int64_t map(const State *state, uint32_t axis, int64_t at) {
    int64_t dim = state->in_dims[axis], i = at - state->begin[axis];
    if (i >= 0 && i < dim) return i;
    switch (state->mode) {
    case PAD_EDGE:
        return i < 0 ? 0 : dim - 1;
    case PAD_REFLECT:
        return i < 0 ? -i : 2 * (dim - 1) - i;
    case PAD_WRAP:
        return (i % dim + dim) % dim;
    case PAD_CONSTANT:
        break;
    }
    return -1;
}

static void fill(const Run *run, char *to, uint64_t bytes) {
    uint64_t size = run->state->size;
    cpu_fill(to, run->value, (size_t)size, (int64_t)(bytes / size));
}

/* Writes output columns [begin, end) one by one. */
static void run_columns(const Run *run, char *to, const char *from, int64_t begin, int64_t end) {
    const State *state = run->state;
    uint64_t block = state->block_bytes;
    KERNEL_STOP_EACH (column, begin, end) {
        int64_t source = map(state, state->rank - 1, column);
        char *cell = to + (uint64_t)column * block;
        if (source < 0)
            fill(run, cell, block);
        else
            cpu_move(cell, from + (uint64_t)source * block, (size_t)block);
    }
}

static void run_row(const Run *run, char *to, const char *from) {
    const State *state = run->state;
    uint32_t axis = state->rank - 1;
    int64_t width = state->out_dims[axis], begin = state->begin[axis];
    int64_t left = begin < 0 ? 0 : begin < width ? begin : width;
    int64_t right = begin + state->in_dims[axis];
    right = right < left ? left : right < width ? right : width;
    run_columns(run, to, from, 0, left);
    if (right > left)
        cpu_move(to + (uint64_t)left * state->block_bytes,
            from + (uint64_t)(left - begin) * state->block_bytes,
            (size_t)((uint64_t)(right - left) * state->block_bytes));
    run_columns(run, to, from, right, width);
}

static Error *run_rows(void *context, uint64_t begin, uint64_t end, uint32_t part) {
    const Run *run = context;
    const State *state = run->state;
    (void)part;
    uint64_t row_bytes = (uint64_t)state->out_dims[state->rank - 1] * state->block_bytes;
    for (uint64_t row = begin; row < end; row++) {
        uint64_t rest = row;
        int64_t offset = 0;
        bool constant = !run->from; /* an empty input leaves only the constant */
        for (uint32_t d = state->rank - 1; d-- > 0;) {
            int64_t source = map(state, d, (int64_t)(rest % (uint64_t)state->out_dims[d]));
            rest /= (uint64_t)state->out_dims[d];
            constant = constant || source < 0;
            offset += source * state->strides[d];
        }
        char *to = run->to + row * row_bytes;
        if (constant)
            fill(run, to, row_bytes);
        else
            run_row(run, to, run->from + offset * (int64_t)state->block_bytes);
    }
    return NULL;
}

static Error *launch_pad(const Plan *plan, const Launch *launch, const Shape *output_shapes) {
    const State *state = plan_state(plan);
    Run run = {state, cpu_output(launch, 0), cpu_input(launch, 0), {0}};
    (void)output_shapes;
    uint64_t row_bytes = (uint64_t)state->out_dims[state->rank - 1] * state->block_bytes;
    if (state->rows == 0 || row_bytes == 0) return NULL;
    if (state->has_value) cpu_move(run.value, cpu_input(launch, 2), (size_t)state->size);
    uint64_t least = BYTES_PER_PART / row_bytes + 1;
    return cpu_for_each(
        cpu_device(plan->device), launch->threads, state->rows, least, run_rows, &run);
}

static Error *plan_pad(Device *device, const PlanRequest *request, Plan **out) {
    PadArguments pad;
    TRY(arguments_pad(request, &pad));
    const Shape *in = &request->inputs[0].shape, *to = &request->outputs[0].shape;
    TRY(plan_create(
        device, request, kernel_row_name(cpu_pad, request->operator_info->id), sizeof(State), out));
    State *state = plan_state(*out);
    int64_t strides[SHAPE_RANK_MAX];
    shape_strides(in, strides);
    state->mode = pad.mode;
    state->rank = in->rank ? in->rank : 1;
    while (state->rank > 1 && pad.begin[state->rank - 1] == 0 && pad.end[state->rank - 1] == 0)
        state->rank--;
    state->in_dims[0] = state->out_dims[0] = 1;
    int64_t block = shape_product(in, state->rank < in->rank ? state->rank : in->rank, in->rank);
    for (uint32_t d = 0; d < state->rank && d < in->rank; d++) {
        state->in_dims[d] = in->dims[d];
        state->out_dims[d] = to->dims[d];
        state->begin[d] = pad.begin[d];
        state->strides[d] = block ? strides[d] / block : 0;
    }
    state->rows = 1;
    for (uint32_t d = 0; d + 1 < state->rank; d++) state->rows *= (uint64_t)state->out_dims[d];
    state->size = dtype_bits(request->inputs[0].dtype) / 8;
    state->block_bytes = (uint64_t)block * state->size;
    state->has_value = request->input_count > 2 && request->inputs[2].present;
    (*out)->launch = launch_pad;
    return NULL;
}

const Kernel cpu_pad[] = {
    {OPERATOR_PAD, DTYPES_ANY, plan_pad, "cpu.pad", KERNEL_PORTABLE},
    {OPERATOR_CENTER_CROP_PAD, DTYPES_ANY, plan_pad, "cpu.center_crop_pad", KERNEL_PORTABLE},
    KERNELS_END,
};
