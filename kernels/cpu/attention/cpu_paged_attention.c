/* PagedAttention: a unit is one query with the heads that share a head of keys. Keys and values are
 * read where they lie, in runs of consecutive rows; half types and turned keys go through a tile. A
 * row has all heads side by side, so a thread computes its heads together, a few rows at a time.
 * Scores are sums of fixed lanes, values are added in the order of the keys: the same bits at every
 * level and at any number of threads. */
#include <inttypes.h>
#include <string.h>

#include "base/checked.h"
#include "kernels/cpu/attention/cpu_attention_row.h"
#include "kernels/cpu/core/cpu_vector.h"
#include "kernels/cpu/loops/cpu_loop_find.h"
#include "kernels/scalar/scalar_exponential.h"
#include "kernels/shape_rules/shape_paged_attention.h"

enum {
    TILE_ROWS = 32, /* keys that are read at once */
    COLUMNS_AT_ONCE = 64,
};
static const float SUM_OF_NOTHING = -5e4f; /* the logarithm, as TVM's kernels have it */
static const float LOG2_E = 1.44269504f;

/* values: rows `row` apart; out += weights * values, in the order of the rows */
typedef void Accumulate(const float *values, int64_t row, int64_t count, const float *weights,
    int64_t columns, float *out);

typedef struct PagedState {
    PagedAttentionShape shape;
    DType dtype;
    uint64_t element;
    int64_t group;
    int64_t page_row, value_part; /* elements between two rows, and from a key to its value */
    float scale;
    CpuAttentionRowCode row;
    Accumulate *accumulate;
    CpuLoop *widen, *narrow; /* NULL: float32 */
    int64_t score_row;       /* floats for the scores of one head */
    int64_t tile_row;        /* floats for a row of the tile */
    uint64_t part_floats;    /* floats of workspace for each thread */
} PagedState;

typedef struct Run {
    const PagedState *state;
    const Launch *launch;
    const int32_t *rows, *bounds;
    const float *angles;
    const uint8_t *tree;
    float *sums; /* NULL: not wanted */
} Run;

/* One thread's work on a query: heads of keys from `begin` to `end`, and its memory. */
typedef struct Heads {
    int64_t query, begin, end;
    const int32_t *bounds; /* the query's */
    float *queries;        /* [heads, group, depth] */
    float *out;            /* [heads, group, columns] */
    float *scores;         /* [heads, group, score_row] */
    float *tile;           /* [TILE_ROWS, depth or columns] */
} Heads;

/* Keys of a query that lie side by side, or their values. */
typedef struct Rows {
    const char *at;    /* of head 0; NULL: none are left */
    int64_t row, head; /* bytes between two rows, and between two heads */
    int64_t begin, count;
} Rows;

CPU_INLINE void accumulate_body(const float *values, int64_t row, int64_t count,
    const float *weights, int64_t columns, float *out) {
    int64_t c = 0;
    for (; c + COLUMNS_AT_ONCE <= columns; c += COLUMNS_AT_ONCE) {
        CpuF32x16 sums[4];
        CPU_UNROLL for (int i = 0; i < 4; i++) sums[i] = cpu_f32x16_load(out + c + 16 * i);
        for (int64_t n = 0; n < count; n++)
            CPU_UNROLL for (int i = 0; i < 4; i++) sums[i] +=
                weights[n] * cpu_f32x16_load(values + n * row + c + 16 * i);
        CPU_UNROLL for (int i = 0; i < 4; i++) cpu_f32x16_store(out + c + 16 * i, sums[i]);
    }
    for (; c < columns; c += CPU_VECTOR_LANES) {
        const int64_t left = columns - c;
        CpuF32x16 sum = cpu_f32x16_load_part(out + c, left, 0);
        for (int64_t n = 0; n < count; n++)
            sum += weights[n] * cpu_f32x16_load_part(values + n * row + c, left, 0);
        cpu_f32x16_store_part(out + c, left, sum);
    }
}
CPU_VARIANTS(accumulate,
    (const float *values, int64_t row, int64_t count, const float *weights, int64_t columns,
        float *out),
    (values, row, count, weights, columns, out));

static bool sees(const Run *run, int64_t query, int64_t key) {
    const int32_t *bounds = run->bounds + query * PAGED_ATTENTION_BOUNDS;
    if (!run->tree || key < bounds[3]) return true;
    return run->tree[query * run->state->shape.tree + key - bounds[3]] != 0;
}

/* Where the first head of a key (or a value) lies. */
static const char *find_row(const Run *run, int64_t row, bool value) {
    const PagedState *state = run->state;
    const PagedAttentionShape *shape = &state->shape;
    if (row < 0) {
        const int64_t size = value ? shape->columns : shape->depth;
        return (const char *)cpu_input(run->launch, value ? 4 : 3) +
               (uint64_t)((-1 - row) * shape->kv_heads * size) * state->element;
    }
    const uint32_t input = PAGED_ATTENTION_PAGES + (uint32_t)(row / shape->rows_of_an_input);
    const int64_t at =
        row % shape->rows_of_an_input * state->page_row + (value ? state->value_part : 0);
    return (const char *)cpu_input(run->launch, input) + (uint64_t)at * state->element;
}

/* The next run of keys that the query sees, from key `from` on. */
static Rows next_rows(const Run *run, const Heads *heads, int64_t from, bool value) {
    const PagedState *state = run->state;
    const PagedAttentionShape *shape = &state->shape;
    const int32_t *rows = run->rows;
    const int64_t end = heads->bounds[2], element = (int64_t)state->element;
    while (from < end && !sees(run, heads->query, from)) from++;
    if (from >= end) return (Rows){0};
    const bool own = rows[from] < 0;
    const int64_t step = own ? -1 : 1;
    int64_t most =
        own ? end : from + shape->rows_of_an_input - rows[from] % shape->rows_of_an_input;
    if (most > end) most = end;
    int64_t next = from + 1;
    while (next < most && rows[next] == rows[next - 1] + step && sees(run, heads->query, next))
        next++;
    const int64_t size = value ? shape->columns : shape->depth;
    return (Rows){.at = find_row(run, rows[from], value),
        .row = element * (own ? shape->kv_heads * size : state->page_row),
        .head = element * (own ? size : shape->depth),
        .begin = from,
        .count = next - from};
}

static void turn(const Run *run, int64_t position, float *inout_row) {
    const int64_t half = run->state->shape.depth / 2;
    const float *cosines = run->angles + position * 2 * half, *sines = cosines + half;
    for (int64_t i = 0; i < half; i++) {
        const float low = inout_row[i], high = inout_row[i + half];
        inout_row[i] = low * cosines[i] - high * sines[i];
        inout_row[i + half] = high * cosines[i] + low * sines[i];
    }
}

static void widen(const PagedState *state, const void *from, int64_t count, float *to) {
    const CpuOperand operand = {from, 1};
    const CpuParameters none = {0};
    if (count == 0) return;
    if (state->widen)
        state->widen(to, &operand, count, &none);
    else
        memcpy(to, from, (size_t)count * sizeof *to);
}

/* What is done with the rows of one head as floats, in place or in the tile. place: of the head
 * among the thread's; begin: from the query's first key. */
typedef void Use(const Run *run, const Heads *heads, int64_t place, const float *rows, int64_t row,
    int64_t begin, int64_t count);

static void score(const Run *run, const Heads *heads, int64_t place, const float *rows, int64_t row,
    int64_t begin, int64_t count) {
    const PagedState *state = run->state;
    const int64_t depth = state->shape.depth;
    for (int64_t i = place * state->group; i < (place + 1) * state->group; i++)
        state->row.dot(heads->queries + i * depth, rows, row, depth, count,
            heads->scores + i * state->score_row + begin);
}

static void add(const Run *run, const Heads *heads, int64_t place, const float *rows, int64_t row,
    int64_t begin, int64_t count) {
    const PagedState *state = run->state;
    const int64_t columns = state->shape.columns;
    for (int64_t i = place * state->group; i < (place + 1) * state->group; i++)
        state->accumulate(rows, row, count, heads->scores + i * state->score_row + begin, columns,
            heads->out + i * columns);
}

/* A few rows of one head. first: the first row's key. */
static void use_head(const Run *run, const Heads *heads, int64_t place, const Rows *rows,
    const char *at, int64_t first, int64_t count, bool value) {
    const PagedState *state = run->state;
    const int64_t size = value ? state->shape.columns : state->shape.depth;
    const bool turned = run->angles && !value;
    Use *const use = value ? add : score;
    if (!state->widen && !turned) {
        use(run, heads, place, (const float *)(const void *)at, rows->row / (int64_t)sizeof(float),
            first - heads->bounds[1], count);
        return;
    }
    for (int64_t i = 0; i < count; i++) {
        widen(state, at + i * rows->row, size, heads->tile + i * size);
        if (turned) turn(run, first + i - heads->bounds[0], heads->tile + i * size);
    }
    use(run, heads, place, heads->tile, size, first - heads->bounds[1], count);
}

static Error *use_rows(const Run *run, const Heads *heads, const Rows *rows, bool value) {
    for (int64_t done = 0; done < rows->count; done += TILE_ROWS) {
        const int64_t left = rows->count - done, count = left < TILE_ROWS ? left : TILE_ROWS;
        TRY(kernel_stop_check());
        for (int64_t head = heads->begin; head < heads->end; head++)
            use_head(run, heads, head - heads->begin, rows,
                rows->at + done * rows->row + head * rows->head, rows->begin + done, count, value);
    }
    return NULL;
}

static Error *use_all_rows(const Run *run, const Heads *heads, bool value) {
    for (Rows rows = next_rows(run, heads, heads->bounds[1], value); rows.at;
         rows = next_rows(run, heads, rows.begin + rows.count, value))
        TRY(use_rows(run, heads, &rows, value));
    return NULL;
}

static Error *check_query(const Run *run, int64_t query) {
    const PagedAttentionShape *shape = &run->state->shape;
    const int32_t *bounds = run->bounds + query * PAGED_ATTENTION_BOUNDS;
    const int64_t first = bounds[0], begin = bounds[1], end = bounds[2];
    bool right = begin >= 0 && end >= begin && end <= shape->keys;
    if (run->tree) right = right && bounds[3] >= 0 && end - bounds[3] <= shape->tree;
    if (run->angles)
        right = right && bounds[4] >= 0 && bounds[4] < shape->positions && begin >= first &&
                end - first <= shape->positions;
    if (!right) FAIL(FAILED, "PagedAttention: the bounds of query %" PRId64 " do not fit", query);
    const int64_t rows = shape->rows_of_an_input * shape->page_inputs;
    for (int64_t key = begin; key < end; key++)
        if (run->rows[key] >= rows || run->rows[key] < -shape->own)
            FAIL(FAILED, "PagedAttention: key %" PRId64 " is in row %" PRId32, key, run->rows[key]);
    return NULL;
}

/* The scores of keys that the query does not see become -inf; returns how many it sees. */
static int64_t hide(const Run *run, const Heads *heads) {
    const PagedState *state = run->state;
    const int32_t *bounds = heads->bounds;
    const int64_t rows = (heads->end - heads->begin) * state->group;
    int64_t seen = bounds[2] - bounds[1];
    for (int64_t key = run->tree ? bounds[1] : bounds[2]; key < bounds[2]; key++) {
        if (sees(run, heads->query, key)) continue;
        seen--;
        for (int64_t i = 0; i < rows; i++)
            heads->scores[i * state->score_row + key - bounds[1]] = -__builtin_inff();
    }
    return seen;
}

/* The query's first output row of the thread's heads. */
static int64_t first_row(const Run *run, const Heads *heads) {
    return heads->query * run->state->shape.heads + heads->begin * run->state->group;
}

/* Makes weights of the scores, and the logarithms of their sums. */
static void weigh(const Run *run, const Heads *heads, int64_t seen) {
    const PagedState *state = run->state;
    const int64_t rows = (heads->end - heads->begin) * state->group;
    float *sums = run->sums ? run->sums + first_row(run, heads) : NULL;
    for (int64_t i = 0; i < rows; i++) {
        CpuAttentionRow row = {.scores = heads->scores + i * state->score_row,
            .count = heads->bounds[2] - heads->bounds[1],
            .scale = state->scale,
            .most = -__builtin_inff()};
        if (sums) sums[i] = SUM_OF_NOTHING;
        if (seen == 0) continue;
        state->row.weights(&row);
        state->row.scale(row.scores, row.count, 1.0f / row.sum);
        if (sums) sums[i] = (row.most + scalar_log_f32(row.sum)) * LOG2_E;
    }
}

static void store(const Run *run, const Heads *heads) {
    const PagedState *state = run->state;
    const int64_t columns = state->shape.columns;
    const int64_t count = (heads->end - heads->begin) * state->group * columns;
    const CpuOperand operand = {heads->out, 1};
    const CpuParameters none = {0};
    char *y = (char *)cpu_output(run->launch, 0) +
              (uint64_t)(first_row(run, heads) * columns) * state->element;
    if (state->narrow)
        state->narrow(y, &operand, count, &none);
    else
        memcpy(y, heads->out, (size_t)count * sizeof(float));
}

static Error *run_heads(const Run *run, const Heads *heads) {
    const PagedState *state = run->state;
    const PagedAttentionShape *shape = &state->shape;
    const int64_t rows = (heads->end - heads->begin) * state->group;
    TRY(check_query(run, heads->query));
    widen(state,
        (const char *)cpu_input(run->launch, 0) +
            (uint64_t)(first_row(run, heads) * shape->depth) * state->element,
        rows * shape->depth, heads->queries);
    for (int64_t i = 0; i < rows && run->angles; i++)
        turn(run, heads->bounds[4], heads->queries + i * shape->depth);
    memset(heads->out, 0, (size_t)(rows * shape->columns) * sizeof(float));
    TRY(use_all_rows(run, heads, false));
    weigh(run, heads, hide(run, heads));
    TRY(use_all_rows(run, heads, true));
    store(run, heads);
    return NULL;
}

static Error *run_units(void *context, uint64_t begin, uint64_t end, uint32_t part) {
    const Run *run = context;
    const PagedState *state = run->state;
    const PagedAttentionShape *shape = &state->shape;
    const int64_t kv_heads = shape->kv_heads;
    Heads heads = {.scores = (float *)cpu_workspace(run->launch) + part * state->part_floats};
    heads.tile = heads.scores + shape->heads * state->score_row;
    heads.queries = heads.tile + TILE_ROWS * state->tile_row;
    heads.out = heads.queries + shape->heads * shape->depth;
    for (int64_t unit = (int64_t)begin; unit < (int64_t)end; unit += heads.end - heads.begin) {
        heads.query = unit / kv_heads;
        heads.bounds = run->bounds + heads.query * PAGED_ATTENTION_BOUNDS;
        heads.begin = unit % kv_heads;
        heads.end = kv_heads;
        if (heads.end - heads.begin > (int64_t)end - unit)
            heads.end = heads.begin + (int64_t)end - unit;
        TRY(run_heads(run, &heads));
    }
    return NULL;
}

static Error *launch(const Plan *plan, const Launch *launch, const Shape *output_shapes) {
    (void)output_shapes;
    const PagedState *state = plan_state(plan);
    const PagedAttentionShape *shape = &state->shape;
    Run run = {.state = state,
        .launch = launch,
        .rows = cpu_input(launch, 1),
        .bounds = cpu_input(launch, 2),
        .angles = shape->positions > 0 ? cpu_input(launch, 5) : NULL,
        .tree = shape->tree > 0 ? cpu_input(launch, 6) : NULL,
        .sums = plan->output_count > 1 ? cpu_output(launch, 1) : NULL};
    const int64_t cost = state->group * (shape->keys + 1) * (shape->depth + shape->columns + 16);
    return cpu_for_each(cpu_device(plan->device), launch->threads,
        (uint64_t)(shape->queries * shape->kv_heads), (uint64_t)(1000000 / cost) + 1, run_units,
        &run);
}

static int64_t whole_vectors(int64_t count) {
    return (count + CPU_VECTOR_LANES - 1) / CPU_VECTOR_LANES * CPU_VECTOR_LANES;
}

/* Sets the floats of one thread's memory. Values may be wider than keys. */
static Error *set_memory(PagedState *state, const CpuDevice *device, uint64_t *out_bytes) {
    PagedAttentionShape *shape = &state->shape;
    const int64_t wider = shape->depth > shape->columns ? shape->depth : shape->columns;
    int64_t floats, rows;
    state->tile_row = wider;
    state->score_row = whole_vectors(shape->keys) + CPU_VECTOR_LANES;
    bool fits = checked_mul_i64(2, shape->heads, &rows) &&
                checked_add_i64(TILE_ROWS, rows, &rows) && checked_mul_i64(rows, wider, &rows) &&
                checked_mul_i64(shape->heads, state->score_row, &floats) &&
                checked_add_i64(floats, rows, &floats);
    uint64_t units = (uint64_t)shape->queries * (uint64_t)shape->kv_heads;
    uint64_t parts = device->threads_max < units ? device->threads_max : units;
    state->part_floats = fits ? (uint64_t)whole_vectors(floats) : 0;
    if (!fits || !checked_mul_u64(state->part_floats, parts * sizeof(float), out_bytes))
        FAIL(INVALID, "PagedAttention: %" PRId64 " keys are too many", shape->keys);
    return NULL;
}

static Error *plan(Device *device, const PlanRequest *request, Plan **out) {
    PagedState paged = {.dtype = request->inputs[0].dtype};
    TRY(paged_attention_shape_read(request, &paged.shape));
    const PagedAttentionShape *shape = &paged.shape;
    const CpuLevel level = cpu_device(device)->level;
    paged.element = dtype_bits(paged.dtype) / 8;
    paged.group = shape->heads / shape->kv_heads;
    paged.value_part = shape->parts == 2 ? shape->kv_heads * shape->depth : 0;
    paged.page_row = shape->parts * shape->kv_heads * shape->depth;
    paged.scale = (float)attributes_float(request->attributes, "scale");
    paged.row = cpu_attention_row_code_for(level);
    paged.accumulate = accumulate_for(level);
    if (paged.dtype != DTYPE_FLOAT32) {
        paged.widen = cpu_loop_find_cast(level, paged.dtype, DTYPE_FLOAT32, false);
        paged.narrow = cpu_loop_find_cast(level, DTYPE_FLOAT32, paged.dtype, false);
    }
    uint64_t bytes;
    TRY(set_memory(&paged, cpu_device(device), &bytes));
    TRY(plan_create(device, request, "cpu.paged_attention", sizeof(PagedState), out));
    *(PagedState *)plan_state(*out) = paged;
    (*out)->workspace_bytes = bytes;
    (*out)->launch = launch;
    return NULL;
}

const Kernel cpu_paged_attention[] = {
    {OPERATOR_PAGED_ATTENTION, DTYPES_FLOAT32_AND_HALF, plan, "cpu.paged_attention",
        KERNEL_PORTABLE},
    KERNELS_END,
};
