/* FusedAttention of float32 and, through float32, of float16 and bfloat16: blocks of queries whose
 * scores stay on the stack. Many keys are processed in blocks, too: when a block has a larger
 * score, the weighted sum so far is scaled down (Milakov and Gimelshein, "Online normalizer
 * calculation for softmax", 2018). */
#include <string.h>

#include "kernels/cpu/attention/cpu_attention_row.h"
#include "kernels/cpu/loops/cpu_float_plan.h"
#include "kernels/cpu/matmul/cpu_matmul_kernel.h"
#include "kernels/cpu/core/cpu_vector.h"

enum {
    SCORES_MAX = 49152,    /* scores of a block: 192 KiB on the stack, in the second level cache */
    SCORES_ALIKE = 128,    /* rows at a multiple of it share few sets of the first level cache */
    QUERIES_MAX = 64,      /* queries of a block */
    QUERIES_STEP = 6,      /* queries that the inner kernel has in registers */
    KEYS_AT_ONCE = 2048,   /* more keys are processed in blocks */
    KEYS_OF_A_BLOCK = 512, /* whole panels */
    /* fewer queries than this are multiplied with keys in their own order, since packing the keys
     * into columns costs about as much as four rows of products */
    QUERIES_TO_PACK = 8,
};

/* ---- the plan ---- */

typedef struct AttentionState {
    Shape batch;                                        /* of the output */
    int64_t batch_count, queries, keys, depth, columns; /* S, T, D, E */
    int64_t q_batch[SHAPE_RANK_MAX], k_batch[SHAPE_RANK_MAX], v_batch[SHAPE_RANK_MAX];
    int64_t mask_batch[SHAPE_RANK_MAX], mask_row, mask_column, mask_count;
    bool has_mask;
    bool keys_in_columns; /* K is [D, T] */
    bool pack_keys;       /* K is [T, D] and brought into panels first */
    /* elements from one row of K to the next, from one matrix to the next */
    int64_t key_row, key_matrix;
    int64_t value_row, value_matrix; /* the same for V */
    int64_t k_matrices;              /* number of distinct matrices K */
    float scale;
    bool zero_nan; /* a query whose weights are no numbers gives zeros */
    int64_t queries_per_unit, keys_at_once;
    int64_t score_row; /* from one query's scores to the next query's: whole vectors */
    CpuMatmulCode code;
    CpuAttentionRowCode row_code;
} AttentionState;

typedef struct Run {
    const AttentionState *state;
    const float *q, *k, *v, *mask;
    float *packed, *y;
} Run;

static int64_t panel_count(int64_t columns) {
    return (columns + CPU_MATMUL_PANEL - 1) / CPU_MATMUL_PANEL;
}

static int64_t offset_of(const Shape *batch, int64_t index, const int64_t *strides) {
    int64_t offset = 0;
    for (uint32_t i = batch->rank; i-- > 0; index /= batch->dims[i])
        offset += index % batch->dims[i] * strides[i];
    return offset;
}

static Error *pack_units(void *context, uint64_t begin, uint64_t end, uint32_t part) {
    (void)part;
    const Run *run = context;
    const AttentionState *state = run->state;
    const int64_t panels = panel_count(state->keys);
    const int64_t packed = cpu_matmul_packed_count(state->depth, state->keys);
    for (int64_t i = (int64_t)begin; i < (int64_t)end; i++)
        cpu_matmul_pack_panel(&state->code, run->k + i / panels * state->key_matrix, 1,
            state->key_row, state->depth, state->keys, i % panels,
            run->packed + i / panels * packed);
    return NULL;
}

/* A block of queries, and the keys that they are compared with now. */
typedef struct Block {
    int64_t batch;
    int64_t first, rows; /* queries */
    int64_t key, keys;
    float *scores; /* [rows][score_row] */
    /* of each query: the largest score so far, the sum of its weights, and the factor for sums that
     * were made with a smaller maximum */
    float most[QUERIES_MAX], sums[QUERIES_MAX], factors[QUERIES_MAX];
} Block;

/* scores [rows, keys] = q [rows, D] K' */
static void score(const Run *run, const Block *block) {
    const AttentionState *state = run->state;
    const float *q = run->q + offset_of(&state->batch, block->batch, state->q_batch) +
                     block->first * state->depth;
    const int64_t k_offset = offset_of(&state->batch, block->batch, state->k_batch);
    if (!state->keys_in_columns && !state->pack_keys) {
        const int64_t most = (1 << 22) / (state->depth + 1) + 1; /* keys between two looks */
        for (int64_t i = 0; i < block->rows; i++)
            for (int64_t key = 0, count; key < block->keys && !kernel_stop_ends(); key += count) {
                count = block->keys - key < most ? block->keys - key : most;
                state->row_code.dot(q + i * state->depth,
                    run->k + k_offset + (block->key + key) * state->key_row, state->key_row,
                    state->depth, count, block->scores + i * state->score_row + key);
            }
        return;
    }
    CpuMatmulTile tile = {
        .rows = block->rows,
        .depth = state->depth,
        .a = q,
        .a_row = state->depth,
        .a_column = 1,
        .out_row = state->score_row,
    };
    for (int64_t column = 0; column < block->keys; column += CPU_MATMUL_PANEL) {
        const int64_t left = block->keys - column, key = block->key + column;
        tile.columns = left < CPU_MATMUL_PANEL ? left : CPU_MATMUL_PANEL;
        tile.out = block->scores + column;
        tile.b = state->pack_keys ? run->packed + k_offset + key * state->depth
                                  : run->k + k_offset + key;
        const CpuPanelSteps steps = state->pack_keys
                                        ? cpu_matmul_panel_steps(&state->code, state->depth,
                                              cpu_matmul_panel_width(state->keys - key))
                                        : (CpuPanelSteps){state->keys, CPU_MATMUL_STRIP};
        tile.b_row = steps.row;
        tile.b_strip = steps.strip;
        if (kernel_stop_ends()) return;
        state->code.micro(&tile);
    }
}

/* e^(before - most) */
static float factor_of(const AttentionState *state, float before, float most) {
    float lanes[CPU_VECTOR_LANES] = {before};
    CpuAttentionRow row = {.scores = lanes, .count = 1, .scale = 1, .most = most};
    state->row_code.weights(&row);
    return lanes[0];
}

/* The last vector of the row's mask, where other numbers of the mask follow it. Else a copy: a
 * vector that is loaded right after the storing of its pieces waits. */
static const float *end_of_mask(
    const Run *run, const CpuAttentionRow *row, float copy[CPU_VECTOR_LANES]) {
    const int64_t left = row->count % CPU_VECTOR_LANES;
    const float *end = row->mask + row->count - left;
    if (end + CPU_VECTOR_LANES <= run->mask + run->state->mask_count) return end;
    cpu_f32_copy_part(copy, end, left);
    return copy;
}

/* Scores become weights. */
static void compare(const Run *run, Block *block) {
    const AttentionState *state = run->state;
    const float *mask = NULL;
    float mask_end[CPU_VECTOR_LANES] = {0};
    if (state->has_mask)
        mask = run->mask + offset_of(&state->batch, block->batch, state->mask_batch) +
               block->first * state->mask_row + block->key * state->mask_column;
    for (int64_t i = 0; i < block->rows; i++) {
        const float before = block->most[i];
        CpuAttentionRow row = {
            .scores = block->scores + i * state->score_row,
            .count = block->keys,
            .scale = state->scale,
            .mask = mask ? mask + i * state->mask_row : NULL,
            .mask_is_one = state->mask_column == 0,
            .most = before,
        };
        if (row.mask && !row.mask_is_one) row.mask_end = end_of_mask(run, &row, mask_end);
        state->row_code.weights(&row);
        block->most[i] = row.most;
        block->factors[i] = 1;
        if (block->key > 0 && before < row.most)
            block->factors[i] = factor_of(state, before, row.most);
        block->sums[i] = block->sums[i] * block->factors[i] + row.sum;
    }
}

/* y [rows, E] = y * factors + scores [rows, keys] V. All rows are multiplied with a part of V
 * before the next part, so that the part stays in the first level cache. */
static void weigh(const Run *run, const Block *block, float *y) {
    const AttentionState *state = run->state;
    const float *v = run->v + offset_of(&state->batch, block->batch, state->v_batch) +
                     block->key * state->value_row;
    CpuMatmulTile tile = {
        .rows = block->rows,
        .a_row = state->score_row,
        .a_column = 1,
        .b_row = state->value_row,
        .b_strip = CPU_MATMUL_STRIP,
        .out_row = state->columns,
    };
    for (int64_t i = 0; i < block->rows && block->key > 0; i++)
        if (block->factors[i] != 1)
            state->row_code.scale(y + i * state->columns, state->columns, block->factors[i]);
    for (int64_t column = 0; column < state->columns; column += CPU_MATMUL_PANEL) {
        const int64_t left = state->columns - column;
        tile.columns = left < CPU_MATMUL_PANEL ? left : CPU_MATMUL_PANEL;
        tile.out = y + column;
        for (int64_t key = 0; key < block->keys; key += state->code.depth) {
            const int64_t keys_left = block->keys - key;
            if (kernel_stop_ends()) return;
            tile.depth = keys_left < state->code.depth ? keys_left : state->code.depth;
            tile.a = block->scores + key;
            tile.b = v + key * state->value_row + column;
            tile.accumulate = block->key + key > 0;
            state->code.micro(&tile);
        }
    }
}

/* All queries, or even parts in whole steps of the inner kernel, if the stack does not hold the
 * scores of all. */
static int64_t queries_of_a_unit(const AttentionState *state) {
    const int64_t fitting = SCORES_MAX / state->score_row;
    const int64_t most = fitting < QUERIES_MAX ? fitting : QUERIES_MAX;
    if (state->queries <= most) return state->queries > 0 ? state->queries : 1;
    const int64_t steps = most / QUERIES_STEP * QUERIES_STEP;
    const int64_t units = (state->queries + steps - 1) / steps;
    const int64_t even = (state->queries + units - 1) / units;
    return (even + QUERIES_STEP - 1) / QUERIES_STEP * QUERIES_STEP;
}

static void run_block(const Run *run, int64_t batch, int64_t first, int64_t rows) {
    const AttentionState *state = run->state;
    float scores[SCORES_MAX];
    float *y = run->y + (batch * state->queries + first) * state->columns;
    Block block = {.batch = batch, .first = first, .rows = rows, .scores = scores};
    for (int64_t i = 0; i < rows; i++) block.most[i] = -__builtin_inff(), block.sums[i] = 0;
    for (; block.key < state->keys; block.key += state->keys_at_once) {
        const int64_t left = state->keys - block.key;
        block.keys = left < state->keys_at_once ? left : state->keys_at_once;
        if (kernel_stop_ends()) return;
        score(run, &block);
        compare(run, &block);
        weigh(run, &block, y);
    }
    for (int64_t i = 0; i < rows; i++)
        if (state->zero_nan && !(block.sums[i] > 0))
            memset(y + i * state->columns, 0, (size_t)state->columns * sizeof *y);
        else
            state->row_code.scale(y + i * state->columns, state->columns, 1.0f / block.sums[i]);
}

static Error *run_units(void *context, uint64_t begin, uint64_t end, uint32_t part) {
    (void)part;
    Run *run = context;
    const AttentionState *state = run->state;
    const int64_t size = state->queries_per_unit;
    const int64_t blocks = (state->queries + size - 1) / size;
    for (int64_t i = (int64_t)begin; i < (int64_t)end; i++) {
        TRY(kernel_stop_check());
        const int64_t first = i % blocks * size, left = state->queries - first;
        run_block(run, i / blocks, first, left < size ? left : size);
    }
    return NULL;
}

static Error *run(const void *opaque, const CpuFloatCall *call) {
    const AttentionState *state = opaque;
    if (state->batch_count * state->queries * state->columns == 0) return NULL;
    Run run = {state, call->inputs[0], call->inputs[1], call->inputs[2],
        state->has_mask ? call->inputs[3] : NULL, call->workspace, call->outputs[0]};
    if (state->pack_keys)
        TRY(cpu_for_each(call->device, call->launch->threads,
            (uint64_t)(state->k_matrices * panel_count(state->keys)),
            (uint64_t)(16384 / (state->depth * CPU_MATMUL_PANEL)) + 1, pack_units, &run));
    const int64_t blocks = (state->queries + state->queries_per_unit - 1) / state->queries_per_unit;
    const int64_t cost =
        state->queries_per_unit * state->keys * (state->depth + state->columns + 16);
    return cpu_for_each(call->device, call->launch->threads,
        (uint64_t)(state->batch_count * blocks), (uint64_t)(1000000 / cost) + 1, run_units, &run);
}

/* rows_first: the matrices' dimensions stand behind the rows. */
static void batch_strides(
    const Shape *shape, bool rows_first, const Shape *batch, int64_t matrix, int64_t *out) {
    const Shape own = shape_make(shape->rank - 2, shape->dims + rows_first);
    shape_broadcast_strides(&own, batch, out);
    for (uint32_t i = 0; i < batch->rank; i++) out[i] *= matrix;
}

static void set_mask(AttentionState *state, const Shape *mask) {
    Shape scores = state->batch;
    scores.dims[scores.rank++] = state->queries;
    scores.dims[scores.rank++] = state->keys;
    int64_t strides[SHAPE_RANK_MAX];
    shape_broadcast_strides(mask, &scores, strides);
    state->has_mask = true;
    state->mask_count = shape_count_unchecked(mask);
    state->mask_row = strides[state->batch.rank];
    state->mask_column = strides[state->batch.rank + 1];
    for (uint32_t i = 0; i < state->batch.rank; i++) state->mask_batch[i] = strides[i];
}

static void set_code(AttentionState *state, CpuLevel level) {
    state->code = cpu_matmul_code_for(level);
    state->row_code = cpu_attention_row_code_for(level);
}

/* Sets the steps of [.., rows, columns], or of [rows, .., columns]. */
static void set_steps(const Shape *shape, bool rows_first, int64_t *out_row, int64_t *out_matrix) {
    const uint32_t last = shape->rank - 1;
    *out_row = rows_first ? shape_product(shape, 1, shape->rank) : shape->dims[last];
    *out_matrix = rows_first ? shape->dims[last] : shape->dims[last] * shape->dims[last - 1];
}

static AttentionState state_of(const PlanRequest *request, CpuLevel level) {
    const TensorSpec *inputs = request->inputs;
    const Shape *q = &inputs[0].shape, *k = &inputs[1].shape, *v = &inputs[2].shape;
    const Shape *y = &request->outputs[0].shape;
    const bool k_rows_first = attributes_int(request->attributes, "key_rows_first") != 0;
    const bool v_rows_first = attributes_int(request->attributes, "value_rows_first") != 0;
    AttentionState state = {
        .batch = shape_make(y->rank - 2, y->dims),
        .queries = q->dims[q->rank - 2],
        .depth = q->dims[q->rank - 1],
        .keys = v->dims[v_rows_first ? 0 : v->rank - 2],
        .columns = v->dims[v->rank - 1],
        .k_matrices = shape_product(k, k_rows_first, k->rank - 2 + k_rows_first),
        .keys_in_columns = attributes_int(request->attributes, "transposed_key") != 0,
        .scale = (float)attributes_float(request->attributes, "scale"),
        .zero_nan = attributes_int(request->attributes, "zero_nan") != 0,
    };
    state.batch_count = shape_count_unchecked(&state.batch);
    state.pack_keys = !state.keys_in_columns && state.queries >= QUERIES_TO_PACK;
    set_steps(k, k_rows_first, &state.key_row, &state.key_matrix);
    set_steps(v, v_rows_first, &state.value_row, &state.value_matrix);
    batch_strides(q, false, &state.batch, state.queries * state.depth, state.q_batch);
    batch_strides(k, k_rows_first, &state.batch,
        state.pack_keys ? cpu_matmul_packed_count(state.depth, state.keys) : state.key_matrix,
        state.k_batch);
    batch_strides(v, v_rows_first, &state.batch, state.value_matrix, state.v_batch);
    set_code(&state, level);
    return state;
}

static bool fits(const Shape *mask, uint32_t from_end, int64_t size) {
    if (mask->rank < from_end) return true;
    const int64_t dim = mask->dims[mask->rank - from_end];
    return dim == 1 || dim == size;
}

/* Sums of nothing and operands that the mask would repeat go to the plain operators. */
static bool is_taken(const AttentionState *state, const PlanRequest *request) {
    if (state->keys == 0 || state->depth == 0) return false;
    const Shape *k = &request->inputs[1].shape;
    const bool rows_first = attributes_int(request->attributes, "key_rows_first") != 0;
    const int64_t k_keys = k->dims[rows_first               ? 0
                                   : state->keys_in_columns ? k->rank - 1
                                                            : k->rank - 2];
    if (k_keys != state->keys) return false;
    if (request->input_count <= 3 || !request->inputs[3].present) return true;
    return fits(&request->inputs[3].shape, 1, state->keys) &&
           fits(&request->inputs[3].shape, 2, state->queries);
}

static Error *plan_at(
    Device *device, CpuLevel level, const char *name, const PlanRequest *request, Plan **out) {
    AttentionState attention = state_of(request, level);
    if (!is_taken(&attention, request)) return cpu_decline(out);
    if (request->input_count > 3 && request->inputs[3].present)
        set_mask(&attention, &request->inputs[3].shape);
    attention.keys_at_once = attention.keys > KEYS_AT_ONCE ? KEYS_OF_A_BLOCK : attention.keys;
    attention.score_row =
        (attention.keys_at_once + CPU_VECTOR_LANES - 1) / CPU_VECTOR_LANES * CPU_VECTOR_LANES;
    if (attention.score_row % SCORES_ALIKE == 0) attention.score_row += CPU_VECTOR_LANES;
    attention.queries_per_unit = queries_of_a_unit(&attention);
    void *state;
    TRY(cpu_float_plan_create(device, request, name, sizeof(AttentionState), run, out, &state));
    *(AttentionState *)state = attention;
    if (attention.pack_keys)
        cpu_float_plan_set_workspace(
            *out, (uint64_t)(attention.k_matrices *
                             cpu_matmul_packed_count(attention.depth, attention.keys)) *
                      sizeof(float));
    return NULL;
}

static Error *plan_fast(Device *device, const PlanRequest *request, Plan **out) {
    const CpuLevel level = cpu_device(device)->level;
    if (level == CPU_LEVEL_PORTABLE) return cpu_decline(out);
    return plan_at(device, level, "cpu.attention", request, out);
}

static Error *plan_portable(Device *device, const PlanRequest *request, Plan **out) {
    return plan_at(device, CPU_LEVEL_PORTABLE, "cpu.attention_portable", request, out);
}

const Kernel cpu_attention[] = {
    {OPERATOR_FUSED_ATTENTION, DTYPES_FLOAT32_AND_HALF, plan_fast, "cpu.attention", 0},
    {OPERATOR_FUSED_ATTENTION, DTYPES_FLOAT32_AND_HALF, plan_portable, "cpu.attention_portable",
        KERNEL_PORTABLE},
    KERNELS_END,
};
