/* FusedMatMulBlocks. Rows in bytes are multiplied with the codes themselves. In float, a few rows
 * are multiplied with weights that become floats in registers; for more rows a group of columns
 * becomes floats, piece by piece of the depth, and is multiplied with a block of rows while it is
 * in the cache. */
#include "kernels/cpu/core/cpu_vector.h"
#include "kernels/cpu/quantized/cpu_blocks_dot.h"
#include "kernels/device/kernel_stop.h"

enum {
    COLUMNS = 8,                            /* of a group */
    ROWS = 128,                             /* of A that share the widened weights */
    PIECE = 1024,                           /* of the depth: weights of 32 KiB */
    PIECE_AVX2 = 512,                       /* beside rows in a first level cache of 32 KiB */
    WEIGHTS_ROW = PIECE + CPU_BLOCKS_LANES, /* so that columns do not share the sets of a cache */
    DIRECT_COLUMNS = 32,
    LONG = 1 << 16,   /* of the depth: beyond it fewer columns at a time */
    DIRECT_ROWS = 16, /* most rows of the direct form */
};

typedef struct State {
    CpuBlocks blocks;     /* without its data */
    int64_t rows, padded; /* padded: the depth up to whole vectors */
    int64_t chunks, chunk_rows;
    int64_t piece; /* of the depth: weights that become floats at a time */
    bool has_bias, has_values;
    uint64_t zeros_offset;    /* in the workspace, behind the prepared rows; 0: there are none */
    CpuBlocksRowsRun *direct; /* NULL: not for these sizes */
    CpuBlocksWiden *widen;
    CpuBlocksProduct *product;
    CpuBlocksDot dot;
    CpuBlocksQuantize *quantize;
    CpuBlocksDotRun *dot_run; /* NULL: in float */
} State;

typedef struct Run {
    const State *state;
    CpuBlocks blocks;
    const float *a;    /* rows of `padded` elements */
    const float *bias; /* NULL: none */
    float *to;
    float *zeros; /* zeros_of_part for each part; NULL: none */
} Run;

static int64_t at_most(int64_t left, int64_t most) { return left < most ? left : most; }

/* Floats for the zero points of a unit's columns, and what can be read behind them. */
static int64_t zeros_of_part(const State *state) {
    const int64_t count = at_most(state->blocks.columns, DIRECT_COLUMNS) * state->blocks.blocks;
    return (count / CPU_BLOCKS_LANES + 2) * CPU_BLOCKS_LANES;
}

/* Writes rows as bytes, in the order of the codes, or as whole vectors with zeros at the end. */
static Error *prepare_rows(void *context, uint64_t begin, uint64_t end, uint32_t part) {
    const Run *run = context;
    const State *state = run->state;
    const int64_t depth = state->blocks.depth;
    (void)part;
    for (uint64_t i = begin; i < end; i++) {
        TRY(kernel_stop_check());
        float *to = run->to + i * (uint64_t)state->padded;
        const float *from = run->a + i * (uint64_t)depth;
        if (state->dot_run) {
            state->quantize(&run->blocks, &state->dot, from,
                (uint8_t *)run->to + (int64_t)i * state->dot.chunks * state->dot.chunk_bytes);
        } else if (state->direct) {
            cpu_blocks_order_rows(state->blocks.bits, from, depth, to);
        } else {
            memcpy(to, from, (size_t)depth * sizeof *to);
            memset(to + depth, 0, (size_t)(state->padded - depth) * sizeof *to);
        }
    }
    return NULL;
}

typedef struct Place {
    int64_t row, rows, column, columns;
} Place;

static void add_bias(const Run *run, const Place *place) {
    for (int64_t i = 0; run->bias && i < place->rows; i++) {
        float *to = run->to + (place->row + i) * run->blocks.columns + place->column;
        for (int64_t j = 0; j < place->columns; j++) to[j] += run->bias[place->column + j];
    }
}

static Error *run_tile(const Run *run, const Place *place) {
    const State *state = run->state;
    const int64_t depth = state->blocks.depth;
    _Alignas(64) float weights[COLUMNS * WEIGHTS_ROW], sums[ROWS * COLUMNS * CPU_BLOCKS_LANES];
    CpuBlocksTile tile = {
        .weights = weights,
        .a_row = state->padded,
        .weights_row = WEIGHTS_ROW,
        .rows = place->rows,
        .columns = place->columns,
        .sums = sums,
        .sums_row = COLUMNS,
        .out = run->to + place->row * state->blocks.columns + place->column,
        .out_row = state->blocks.columns,
    };
    int64_t at = 0;
    do { /* once for depth 0: writes zeros */
        const int64_t left = depth - at, count = left < state->piece ? left : state->piece;
        TRY(kernel_stop_check());
        /* tensors without elements have no memory; nothing is read of them */
        for (int64_t i = 0; count > 0 && i < place->columns; i++)
            state->widen(&run->blocks, place->column + i, at, count, weights + i * WEIGHTS_ROW);
        tile.a = count > 0 ? run->a + place->row * state->padded + at : weights;
        tile.depth = (count + CPU_BLOCKS_LANES - 1) / CPU_BLOCKS_LANES * CPU_BLOCKS_LANES;
        tile.accumulate = at > 0;
        tile.is_last = at + state->piece >= depth;
        state->product(&tile);
        at += state->piece;
    } while (at < depth);
    add_bias(run, place);
    return NULL;
}

static Error *run_tiles(void *context, uint64_t begin, uint64_t end, uint32_t part) {
    const Run *run = context;
    const State *state = run->state;
    (void)part;
    for (int64_t i = (int64_t)begin; i < (int64_t)end; i++) {
        Place place = {
            .row = i % state->chunks * state->chunk_rows, .column = i / state->chunks * COLUMNS};
        place.rows = at_most(state->rows - place.row, state->chunk_rows);
        place.columns = at_most(state->blocks.columns - place.column, COLUMNS);
        TRY(run_tile(run, &place));
    }
    return NULL;
}

static void run_columns(const Run *run, const Place *place, const float *zeros) {
    const State *state = run->state;
    float *out = run->to + place->row * state->blocks.columns;
    if (state->dot_run) {
        const CpuBlocksDotRows rows = {.blocks = &run->blocks,
            .dot = &state->dot,
            .a = (const uint8_t *)run->a + place->row * state->dot.chunks * state->dot.chunk_bytes,
            .rows = place->rows,
            .column = place->column,
            .columns = place->columns,
            .out = out,
            .zeros = zeros};
        state->dot_run(&rows);
    } else {
        const CpuBlocksRows rows = {.blocks = &run->blocks,
            .a = run->a + place->row * state->padded,
            .rows = place->rows,
            .column = place->column,
            .columns = place->columns,
            .out = out,
            .zeros = zeros};
        state->direct(&rows);
    }
}

/* A few rows of a few columns at a time, with looks for a stop between: depths may be long. */
static Error *run_unit(const Run *run, const Place *unit, const float *zeros) {
    const int64_t row_end = unit->row + unit->rows, column_end = unit->column + unit->columns;
    const int64_t width = run->blocks.depth <= LONG ? DIRECT_COLUMNS : COLUMNS;
    const int64_t most = run->state->dot_run ? CPU_BLOCKS_DOT_ROWS : CPU_BLOCKS_ROWS;
    for (int64_t row = unit->row; row < row_end; row += most)
        for (int64_t column = unit->column; column < column_end; column += width) {
            const Place place = {
                row, at_most(row_end - row, most), column, at_most(column_end - column, width)};
            const int64_t skipped = (column - unit->column) * run->blocks.blocks;
            TRY(kernel_stop_check());
            run_columns(run, &place, zeros ? zeros + skipped : NULL);
        }
    return NULL;
}

static Error *run_direct(void *context, uint64_t begin, uint64_t end, uint32_t part) {
    const Run *run = context;
    const State *state = run->state;
    float *zeros = run->zeros ? run->zeros + part * (uint64_t)zeros_of_part(state) : NULL;
    for (int64_t i = (int64_t)begin; i < (int64_t)end; i++) {
        Place place = {.row = i % state->chunks * state->chunk_rows,
            .column = i / state->chunks * DIRECT_COLUMNS};
        place.rows = at_most(state->rows - place.row, state->chunk_rows);
        place.columns = at_most(state->blocks.columns - place.column, DIRECT_COLUMNS);
        if (zeros) cpu_blocks_zeros(&run->blocks, state->widen, place.column, place.columns, zeros);
        TRY(run_unit(run, &place, zeros));
        add_bias(run, &place);
    }
    return NULL;
}

static bool is_direct(const State *state) { return state->direct || state->dot_run; }

/* About 20 µs of work. */
static uint64_t units_per_part(const State *state, int64_t columns) {
    const int64_t rows = at_most(state->rows, ROWS);
    return (uint64_t)(1000000 / ((rows + 4) * columns * (state->blocks.depth + 1))) + 1;
}

static Error *launch_matmul(const Plan *plan, const Launch *launch, const Shape *output_shapes) {
    const State *state = plan_state(plan);
    CpuDevice *device = cpu_device(plan->device);
    const int64_t width = is_direct(state) ? DIRECT_COLUMNS : COLUMNS;
    const uint64_t groups = (uint64_t)((state->blocks.columns + width - 1) / width);
    (void)output_shapes;
    Run run = {.state = state,
        .blocks = state->blocks,
        .a = cpu_input(launch, 0),
        .bias = state->has_bias ? cpu_input(launch, 4) : NULL};
    run.blocks.codes = cpu_input(launch, 1);
    run.blocks.scales = cpu_input(launch, 2);
    run.blocks.zeros = state->blocks.has_zeros ? cpu_input(launch, 3) : NULL;
    if (state->rows == 0 || groups == 0) return NULL;
    if (state->has_values)
        memcpy(run.blocks.values[0], cpu_input(launch, 5), sizeof run.blocks.values[0]);
    if (state->zeros_offset < plan->workspace_bytes)
        run.zeros = (float *)(void *)((char *)cpu_workspace(launch) + state->zeros_offset);
    if (state->zeros_offset > 0) {
        run.to = cpu_workspace(launch);
        TRY(cpu_for_each(device, launch->threads, (uint64_t)state->rows,
            (uint64_t)(100000 / state->padded) + 1, prepare_rows, &run));
        run.a = run.to;
    }
    run.to = cpu_output(launch, 0);
    return cpu_for_each(device, launch->threads, groups * (uint64_t)state->chunks,
        units_per_part(state, width), is_direct(state) ? run_direct : run_tiles, &run);
}

static void choose_code(const CpuDevice *device, bool in_bytes, State *state) {
    const CpuBlocks *blocks = &state->blocks;
    const CpuLevel level = device->level;
    const bool plain =
        blocks->block % CPU_BLOCKS_LANES != 0 || blocks->depth * blocks->bits % 8 != 0;
    state->padded = (blocks->depth + CPU_BLOCKS_LANES - 1) / CPU_BLOCKS_LANES * CPU_BLOCKS_LANES;
    state->chunks = (state->rows + ROWS - 1) / ROWS;
    state->chunk_rows = state->chunks ? (state->rows + state->chunks - 1) / state->chunks : 0;
    state->widen = plain ? cpu_blocks_widen_plain : cpu_blocks_widen_for(level, blocks->bits);
    state->product = cpu_blocks_product_for(level);
    state->piece = level == CPU_LEVEL_AVX2 ? PIECE_AVX2 : PIECE;
    if (in_bytes && blocks->depth > 0) {
        state->dot = cpu_blocks_dot_of(blocks);
        state->quantize = cpu_blocks_quantize_for(level);
        state->dot_run = cpu_blocks_dot_for(device, blocks);
    } else if (!plain && state->rows <= DIRECT_ROWS && blocks->depth == state->padded &&
               blocks->depth > 0) {
        state->direct = cpu_blocks_rows_for(level, blocks->bits, blocks->is_signed);
    }
}

static uint64_t rows_bytes(const State *state) {
    if (state->dot_run) return (uint64_t)(state->rows * state->dot.chunks * state->dot.chunk_bytes);
    if (state->padded == state->blocks.depth && !(state->direct && state->blocks.bits == 4))
        return 0;
    return (uint64_t)(state->rows * state->padded) * sizeof(float);
}

static Error *plan_blocks(Device *device, const PlanRequest *request, Plan **out) {
    const Shape *a = &request->inputs[0].shape, *codes = &request->inputs[1].shape;
    const DType dtype = request->inputs[1].dtype;
    OWN(Plan, plan) = NULL;
    TRY(plan_create(device, request, "cpu.matmul_blocks", sizeof(State), &plan));
    State *state = plan_state(plan);
    state->rows = shape_product(a, 0, a->rank - 1);
    state->blocks = (CpuBlocks){
        .columns = codes->dims[0],
        .depth = codes->dims[1],
        .block = attributes_int(request->attributes, "block_size"),
        .blocks = request->inputs[2].shape.dims[1],
        .bits = dtype_bits(dtype),
        .is_signed = dtype_is_signed(dtype),
        .has_zeros = plan_request_has(request, 3),
    };
    state->has_bias = plan_request_has(request, 4);
    state->has_values = plan_request_has(request, 5);
    cpu_blocks_init_values(&state->blocks);
    choose_code(
        cpu_device(device), attributes_int(request->attributes, "activation_bits") == 8, state);
    state->zeros_offset = rows_bytes(state);
    plan->workspace_bytes = state->zeros_offset;
    if (is_direct(state) && state->blocks.has_zeros)
        plan->workspace_bytes += CPU_THREADS_MAX * (uint64_t)zeros_of_part(state) * sizeof(float);
    plan->launch = launch_matmul;
    *out = TAKE(plan);
    return NULL;
}

const Kernel cpu_blocks_matmul[] = {
    {OPERATOR_FUSED_MATMUL_BLOCKS, DTYPE_BIT(DTYPE_FLOAT32), plan_blocks, "cpu.matmul_blocks",
        KERNEL_PORTABLE},
    KERNELS_END,
};
