/* TreeScores: a group of lanes goes down together, one level a turn and without branches, so that
 * the processor overlaps their loads. Lanes are rows in one tree, or, where there are few rows,
 * trees for one row. A row's weights are always added in the order of the trees. Links of any
 * content are safe: places in arrays are clamped, and a lane goes `depth` levels at most. Launches
 * of many rows walk over checked nodes instead (cpu_tree_nodes.h). */
#include <math.h>

#include "kernels/arguments/arguments.h"
#include "kernels/cpu/core/cpu_internal.h"
#include "kernels/cpu/reduction/cpu_tree_nodes.h"

/* Packing a node takes as long as PACK_STEPS steps of a walk save. */
enum { LANES = CPU_TREE_LANES, UNIT_ROWS = 512, PACK_STEPS = 4, SHORT_WEIGHTS = 64 };

typedef struct State {
    DType dtype;
    TreeAggregate aggregate;
    int64_t rows, columns, nodes, trees, entries, scores, depth;
} State;

typedef struct Run {
    const State *state;
    const void *rows, *intervals, *weights, *base;
    const int32_t *links, *roots, *starts, *targets;
    void *to;
    double *sums; /* [rows, scores] */
    CpuTreeTables tables;
    const void *packed; /* the nodes, or NULL */
} Run;

static uint32_t clamp(int32_t index, int64_t count) {
    return (uint32_t)index < (uint64_t)count ? (uint32_t)index : (uint32_t)(count - 1);
}

/* Takes all lanes to their leaves. A leaf is its own child on both sides. */
#define DEFINE_WALK(T, suffix)                                                                     \
    static void walk_##suffix(const Run *run, const T *const *rows, uint32_t *at) {                \
        const State *state = run->state;                                                           \
        const T *intervals = run->intervals;                                                       \
        const int32_t *links = run->links;                                                         \
        const uint32_t last = (uint32_t)(state->nodes - 1);                                        \
        const uint32_t last_column = (uint32_t)(state->columns - 1);                               \
        for (int64_t level = 0; level < state->depth; level++) {                                   \
            uint32_t changed = 0;                                                                  \
            for (uint32_t k = 0; k < LANES; k++) {                                                 \
                const size_t node = at[k];                                                         \
                const uint32_t test = (uint32_t)links[2 * node], column = test >> 1;               \
                const T x = rows[k][column < last_column ? column : last_column];                  \
                const uint32_t inside = (uint32_t)(x >= intervals[2 * node]) &                     \
                                        (uint32_t)(x <= intervals[2 * node + 1]);                  \
                const uint32_t yes = inside | ((uint32_t)(x != x) & test);                         \
                const uint32_t next = (uint32_t)links[2 * node + 1] + (1 - yes);                   \
                at[k] = next < last ? next : last;                                                 \
                changed |= at[k] ^ (uint32_t)node;                                                 \
            }                                                                                      \
            if (!changed || kernel_stop_ends_at(level)) return;                                    \
        }                                                                                          \
    }
DEFINE_WALK(float, f32)
DEFINE_WALK(double, f64)
#undef DEFINE_WALK

static double number_at(const State *state, const void *from, int64_t at) {
    return state->dtype == DTYPE_FLOAT32 ? (double)((const float *)from)[at]
                                         : ((const double *)from)[at];
}

/* Adds the weights of a leaf to the sums of a row. */
static void add(const Run *run, int64_t row, uint32_t node) {
    const State *state = run->state;
    const int64_t begin = run->starts[node] < 0 ? 0 : run->starts[node];
    const int64_t end =
        run->starts[node + 1] < state->entries ? run->starts[node + 1] : state->entries;
    double *sums = run->sums + row * state->scores;
    if (state->aggregate <= TREE_AVERAGE && end - begin <= SHORT_WEIGHTS) {
        for (int64_t i = begin; i < end; i++)
            sums[clamp(run->targets[i], state->scores)] += number_at(state, run->weights, i);
        return;
    }
    KERNEL_STOP_EACH (i, begin, end) {
        double *sum = sums + clamp(run->targets[i], state->scores);
        const double weight = number_at(state, run->weights, i);
        if (state->aggregate <= TREE_AVERAGE)
            *sum += weight;
        else if (state->aggregate == TREE_MIN ? weight < *sum : weight > *sum)
            *sum = weight;
    }
}

static const void *row_at(const Run *run, int64_t row) {
    return (const char *)run->rows +
           row * run->state->columns * (run->tables.wide ? (int64_t)sizeof(double) : 4);
}

/* packed: run->packed, or NULL where a row may have a NaN. */
static void walk(const Run *run, const void *packed, const int64_t *rows, uint32_t *at) {
    const void *lanes[LANES];
    for (uint32_t k = 0; k < LANES; k++) lanes[k] = row_at(run, rows[k]);
    if (packed)
        cpu_tree_nodes_walk(&run->tables, packed, lanes, at);
    else if (!run->tables.wide)
        walk_f32(run, (const float *const *)lanes, at);
    else
        walk_f64(run, (const double *const *)lanes, at);
}

/* Rows [begin, end) in one tree. The lanes behind the last row repeat it. */
static void walk_rows(
    const Run *run, const void *packed, int64_t tree, int64_t begin, int64_t end) {
    const uint32_t root = clamp(run->roots[tree], run->state->nodes);
    for (int64_t first = begin; first < end; first += LANES) {
        int64_t rows[LANES];
        uint32_t at[LANES];
        for (int64_t k = 0; k < LANES; k++) {
            rows[k] = first + k < end ? first + k : end - 1;
            at[k] = root;
        }
        walk(run, packed, rows, at);
        for (int64_t k = 0; k < LANES && first + k < end; k++) add(run, first + k, at[k]);
    }
}

/* All trees for one row. The lanes behind the last tree repeat it. */
static Error *walk_trees(const Run *run, int64_t row) {
    const int64_t trees = run->state->trees;
    for (int64_t first = 0; first < trees; first += LANES) {
        int64_t rows[LANES];
        uint32_t at[LANES];
        for (int64_t k = 0; k < LANES; k++) {
            rows[k] = row;
            at[k] = clamp(run->roots[first + k < trees ? first + k : trees - 1], run->state->nodes);
        }
        walk(run, NULL, rows, at);
        for (int64_t k = 0; k < LANES && first + k < trees; k++) add(run, row, at[k]);
        TRY(kernel_stop_check());
    }
    return NULL;
}

/* A score without any weight is 0. */
static double finish(const State *state, double sum) {
    switch (state->aggregate) {
    case TREE_SUM:
        return sum;
    case TREE_AVERAGE:
        return state->trees ? sum / (double)state->trees : 0;
    case TREE_MIN:
        return sum == INFINITY ? 0 : sum;
    case TREE_MAX:
        return sum == -INFINITY ? 0 : sum;
    }
    return sum;
}

/* Writes the scores of the rows [begin, end). A single score for each row is taken as one long row
 * with one base. */
#define DEFINE_FINISH(T, suffix)                                                                   \
    static void finish_##suffix(const Run *run, int64_t begin, int64_t end) {                      \
        const State *state = run->state;                                                           \
        const bool flat = state->scores == 1;                                                      \
        const int64_t rows = flat ? 1 : end - begin, width = flat ? end - begin : state->scores;   \
        const double *sums = run->sums + begin * state->scores;                                    \
        const T *base = run->base;                                                                 \
        T *to = (T *)run->to + begin * state->scores;                                              \
        for (int64_t row = 0; row < rows; row++, sums += width, to += width) {                     \
            if (flat && state->aggregate == TREE_SUM)                                              \
                for (int64_t j = 0; j < width; j++) to[j] = (T)(sums[j] + (double)base[0]);        \
            else if (state->aggregate == TREE_SUM)                                                 \
                for (int64_t j = 0; j < width; j++) to[j] = (T)(sums[j] + (double)base[j]);        \
            else                                                                                   \
                for (int64_t j = 0; j < width; j++)                                                \
                    to[j] = (T)(finish(state, sums[j]) + (double)base[flat ? 0 : j]);              \
        }                                                                                          \
    }
DEFINE_FINISH(float, f32)
DEFINE_FINISH(double, f64)
#undef DEFINE_FINISH

static Error *run_rows(void *context, uint64_t first, uint64_t last, uint32_t part) {
    const Run *run = context;
    const State *state = run->state;
    const int64_t begin = (int64_t)first * UNIT_ROWS;
    const int64_t end =
        (int64_t)last * UNIT_ROWS < state->rows ? (int64_t)last * UNIT_ROWS : state->rows;
    const double start = state->aggregate == TREE_MIN   ? INFINITY
                         : state->aggregate == TREE_MAX ? -INFINITY
                                                        : 0;
    (void)part;
    for (int64_t i = begin * state->scores; i < end * state->scores; i++) run->sums[i] = start;
    for (int64_t unit = begin; unit < end; unit += UNIT_ROWS) {
        const int64_t unit_end = unit + UNIT_ROWS < end ? unit + UNIT_ROWS : end;
        if (unit_end - unit < LANES) {
            for (int64_t row = unit; row < unit_end; row++) TRY(walk_trees(run, row));
            continue;
        }
        const bool plain =
            run->packed && !cpu_tree_nodes_have_nan(run->tables.wide, row_at(run, unit),
                               (unit_end - unit) * state->columns);
        for (int64_t tree = 0; tree < state->trees; tree++) {
            walk_rows(run, plain ? run->packed : NULL, tree, unit, unit_end);
            TRY(kernel_stop_check());
        }
    }
    (state->dtype == DTYPE_FLOAT32 ? finish_f32 : finish_f64)(run, begin, end);
    return NULL;
}

/* Bytes of the sums, in front of the packed nodes. */
static uint64_t sums_bytes(const State *state) {
    const uint64_t bytes = (uint64_t)(state->rows * state->scores) * sizeof(double);
    return (bytes + CPU_TREE_NODE_BYTES - 1) / CPU_TREE_NODE_BYTES * CPU_TREE_NODE_BYTES;
}

/* Whether the launch takes enough steps to pack the nodes first. */
static bool packs(const State *state) {
    if (state->rows < LANES || state->depth == 0) return false;
    return (double)state->rows * (double)state->trees * (double)state->depth >=
           (double)PACK_STEPS * (double)state->nodes;
}

static Error *launch_tree_scores(
    const Plan *plan, const Launch *launch, const Shape *output_shapes) {
    const State *state = plan_state(plan);
    Run run = {.state = state,
        .rows = cpu_input(launch, 0),
        .intervals = cpu_input(launch, 1),
        .links = cpu_input(launch, 2),
        .roots = cpu_input(launch, 3),
        .starts = cpu_input(launch, 4),
        .targets = cpu_input(launch, 5),
        .weights = cpu_input(launch, 6),
        .base = cpu_input(launch, 7),
        .to = cpu_output(launch, 0),
        .sums = cpu_workspace(launch)};
    (void)output_shapes;
    if (state->rows == 0) return NULL;
    run.tables = (CpuTreeTables){state->dtype == DTYPE_FLOAT64, state->nodes, state->columns,
        state->depth, run.intervals, run.links};
    void *nodes = (char *)cpu_workspace(launch) + sums_bytes(state);
    if (packs(state) && cpu_tree_nodes_pack(&run.tables, nodes)) run.packed = nodes;
    return cpu_for_each(cpu_device(plan->device), launch->threads,
        (uint64_t)(state->rows + UNIT_ROWS - 1) / UNIT_ROWS, 1 + 32 / ((uint64_t)state->trees + 1),
        run_rows, &run);
}

static Error *plan_tree_scores(Device *device, const PlanRequest *request, Plan **out) {
    const Shape *rows = &request->inputs[0].shape, *made = &request->outputs[0].shape;
    TreeAggregate aggregate;
    TRY(arguments_tree_aggregate(request, &aggregate));
    TRY(plan_create(device, request, "cpu.tree_scores", sizeof(State), out));
    *(State *)plan_state(*out) = (State){
        .dtype = request->inputs[0].dtype,
        .aggregate = aggregate,
        .rows = rows->dims[0],
        .columns = rows->dims[1],
        .nodes = request->inputs[1].shape.dims[0],
        .trees = request->inputs[3].shape.dims[0],
        .entries = request->inputs[5].shape.dims[0],
        .scores = made->dims[1],
        .depth = attributes_int(request->attributes, "depth"),
    };
    /* cannot overflow: the output's number of bits, at least 32 for each element, fits, too */
    const State *state = plan_state(*out);
    (*out)->workspace_bytes =
        sums_bytes(state) + (packs(state) ? (uint64_t)state->nodes * CPU_TREE_NODE_BYTES : 0);
    (*out)->launch = launch_tree_scores;
    return NULL;
}

const Kernel cpu_tree_scores[] = {
    {OPERATOR_TREE_SCORES, DTYPE_BIT(DTYPE_FLOAT32) | DTYPE_BIT(DTYPE_FLOAT64), plan_tree_scores,
        "cpu.tree_scores", KERNEL_PORTABLE},
    KERNELS_END,
};
