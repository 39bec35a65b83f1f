/* FusedMatMulBlocks: a group of columns becomes floats, piece by piece of the depth, and is
 * multiplied with a block of rows while it is in the cache. */
#include "kernels/arguments/quantization.h"
#include "kernels/cpu/core/cpu_vector.h"
#include "kernels/cpu/quantized/cpu_blocks_tile.h"
#include "kernels/device/kernel_stop.h"

enum {
    COLUMNS = 16, /* of a group */
    ROWS = 32,    /* of A that share the widened weights */
    PIECE = 512,  /* of the depth: weights of 32 KiB */
};

typedef struct State {
    int64_t rows, columns, depth, padded; /* padded: the depth up to whole vectors */
    int64_t block, blocks;
    uint32_t bits;
    bool is_signed, has_zeros, is_plain;
    CpuWiden codes, zeros;
    CpuBlocksWiden *widen;
    CpuBlocksProduct *product;
} State;

typedef struct Run {
    const State *state;
    const float *a; /* rows of `padded` elements */
    const void *codes, *zeros;
    const float *scales;
    float *to;
    int64_t chunks; /* blocks of rows */
} Run;

/* Copies rows that are no whole vectors, with zeros after them. */
static Error *pad_rows(void *context, uint64_t begin, uint64_t end, uint32_t part) {
    const Run *run = context;
    const State *state = run->state;
    (void)part;
    for (uint64_t i = begin; i < end; i++) {
        TRY(kernel_stop_check());
        float *to = run->to + i * (uint64_t)state->padded;
        memcpy(to, run->a + i * (uint64_t)state->depth, (size_t)state->depth * sizeof *to);
        memset(to + state->depth, 0, (size_t)(state->padded - state->depth) * sizeof *to);
    }
    return NULL;
}

/* Blocks or types that the fast form does not take: element by element. */
static void widen_plain(const Run *run, int64_t column, int64_t first, int64_t count, float *to) {
    const State *state = run->state;
    const uint64_t element = (uint64_t)(column * state->depth + first);
    cpu_widen_run(&state->codes, run->codes, element, (uint64_t)count, to);
    for (int64_t i = 0; i < count; i++) {
        const int64_t at = column * state->blocks + (first + i) / state->block;
        if (state->has_zeros) to[i] -= cpu_widen_one(&state->zeros, run->zeros, (uint64_t)at);
        to[i] *= run->scales[at];
    }
    for (int64_t i = count; i % CPU_BLOCKS_LANES != 0; i++) to[i] = 0;
}

static void widen(const Run *run, int64_t column, int64_t first, int64_t count, float *to) {
    const State *state = run->state;
    if (count == 0) return; /* tensors without elements have no memory */
    if (state->is_plain) {
        widen_plain(run, column, first, count, to);
        return;
    }
    const CpuBlocksColumn from = {
        .codes = (const uint8_t *)run->codes + column * state->depth * state->bits / 8,
        .scales = run->scales + column * state->blocks,
        .zeros = state->has_zeros ? &state->zeros : NULL,
        .zero_data = run->zeros,
        .first_zero = (uint64_t)(column * state->blocks),
        .block = state->block,
        .bits = state->bits,
        .is_signed = state->is_signed,
    };
    state->widen(&from, first, count, to);
}

typedef struct Place {
    int64_t row, rows, column, columns;
} Place;

static Error *run_tile(const Run *run, const Place *place) {
    const State *state = run->state;
    _Alignas(64) float weights[COLUMNS * PIECE], sums[ROWS * COLUMNS * CPU_BLOCKS_LANES];
    CpuBlocksTile tile = {
        .weights = weights,
        .a_row = state->padded,
        .weights_row = PIECE,
        .rows = place->rows,
        .columns = place->columns,
        .sums = sums,
        .sums_row = COLUMNS,
    };
    int64_t at = 0;
    do { /* once for depth 0: writes zeros */
        const int64_t left = state->depth - at, count = left < PIECE ? left : PIECE;
        TRY(kernel_stop_check());
        for (int64_t i = 0; i < place->columns; i++)
            widen(run, place->column + i, at, count, weights + i * PIECE);
        /* tensors without elements have no memory; nothing is read of them */
        tile.a = count > 0 ? run->a + place->row * state->padded + at : weights;
        tile.depth = (count + CPU_BLOCKS_LANES - 1) / CPU_BLOCKS_LANES * CPU_BLOCKS_LANES;
        tile.accumulate = at > 0;
        state->product(&tile);
        at += PIECE;
    } while (at < state->depth);
    for (int64_t i = 0; i < place->rows; i++)
        for (int64_t j = 0; j < place->columns; j++)
            run->to[(place->row + i) * state->columns + place->column + j] =
                cpu_f32x16_sum(cpu_f32x16_load(sums + (i * COLUMNS + j) * CPU_BLOCKS_LANES));
    return NULL;
}

static int64_t at_most(int64_t left, int64_t most) { return left < most ? left : most; }

static Error *run_tiles(void *context, uint64_t begin, uint64_t end, uint32_t part) {
    const Run *run = context;
    const State *state = run->state;
    (void)part;
    for (int64_t i = (int64_t)begin; i < (int64_t)end; i++) {
        Place place = {.row = i % run->chunks * ROWS, .column = i / run->chunks * COLUMNS};
        place.rows = at_most(state->rows - place.row, ROWS);
        place.columns = at_most(state->columns - place.column, COLUMNS);
        TRY(run_tile(run, &place));
    }
    return NULL;
}

/* About 20 µs of work. */
static uint64_t units_per_part(const State *state) {
    const int64_t rows = at_most(state->rows, ROWS);
    return (uint64_t)(1000000 / ((rows + 8) * COLUMNS * (state->depth + 1))) + 1;
}

static Error *launch_matmul(const Plan *plan, const Launch *launch, const Shape *output_shapes) {
    const State *state = plan_state(plan);
    CpuDevice *device = cpu_device(plan->device);
    const uint64_t groups = (uint64_t)(state->columns + COLUMNS - 1) / COLUMNS;
    (void)output_shapes;
    Run run = {
        .state = state,
        .a = cpu_input(launch, 0),
        .codes = cpu_input(launch, 1),
        .scales = cpu_input(launch, 2),
        .zeros = state->has_zeros ? cpu_input(launch, 3) : NULL,
        .chunks = (state->rows + ROWS - 1) / ROWS,
    };
    if (state->rows == 0 || groups == 0) return NULL;
    if (state->padded != state->depth) {
        run.to = cpu_workspace(launch);
        TRY(cpu_for_each(device, launch->threads, (uint64_t)state->rows,
            (uint64_t)(100000 / state->padded) + 1, pad_rows, &run));
        run.a = run.to;
    }
    run.to = cpu_output(launch, 0);
    return cpu_for_each(device, launch->threads, groups * (uint64_t)run.chunks,
        units_per_part(state), run_tiles, &run);
}

static Error *plan_blocks(Device *device, const PlanRequest *request, Plan **out) {
    const Shape *a = &request->inputs[0].shape, *codes = &request->inputs[1].shape;
    const DType dtype = request->inputs[1].dtype;
    const CpuLevel level = cpu_device(device)->level;
    OWN(Plan, plan) = NULL;
    TRY(plan_create(device, request, "cpu.matmul_blocks", sizeof(State), &plan));
    State *state = plan_state(plan);
    state->rows = shape_product(a, 0, a->rank - 1);
    state->columns = codes->dims[0];
    state->depth = codes->dims[1];
    state->padded = (state->depth + CPU_BLOCKS_LANES - 1) / CPU_BLOCKS_LANES * CPU_BLOCKS_LANES;
    state->block = attributes_int(request->attributes, "block_size");
    state->blocks = request->inputs[2].shape.dims[1];
    state->bits = dtype_bits(dtype);
    state->is_signed = dtype_is_signed(dtype);
    state->has_zeros = plan_request_has(request, 3);
    state->is_plain = state->block % CPU_BLOCKS_LANES != 0 || state->depth * state->bits % 8 != 0;
    cpu_widen_init(dtype, &state->codes);
    if (state->has_zeros) cpu_widen_init(request->inputs[3].dtype, &state->zeros);
    state->widen = cpu_blocks_widen_for(level);
    state->product = cpu_blocks_product_for(level);
    if (state->padded != state->depth)
        plan->workspace_bytes = (uint64_t)(state->rows * state->padded) * sizeof(float);
    plan->launch = launch_matmul;
    *out = TAKE(plan);
    return NULL;
}

const Kernel cpu_blocks_matmul[] = {
    {OPERATOR_FUSED_MATMUL_BLOCKS, DTYPE_BIT(DTYPE_FLOAT32), plan_blocks, "cpu.matmul_blocks",
        KERNEL_PORTABLE},
    KERNELS_END,
};
