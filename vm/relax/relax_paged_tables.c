#include <string.h>

#include "base/allocator.h"
#include "kernels/scalar/scalar_power.h"
#include "kernels/scalar/scalar_trigonometric.h"
#include "vm/relax/relax_paged.h"

enum { ROWS_MIN = 64, ANGLES_MIN = 256 };

/* A round's tables in host memory. */
typedef struct Building {
    const Paged *paged;
    PagedTables *tables;
    int32_t *rows, *bounds;
    uint8_t *tree;
    int64_t count, width; /* keys so far; columns of the tree */
} Building;

/* The keys of one sequence. Indices count from the sequence's first key. */
typedef struct TurnKeys {
    int64_t before, own; /* keys before the round, and of it */
    int64_t tree;        /* from there on the queries see some keys only */
} TurnKeys;

static TurnKeys keys_of(const Paged *paged, const PagedTables *tables, const PagedTurn *turn) {
    const PagedSequence *sequence = &paged->sequences[turn->place];
    TurnKeys keys = {.before = tables->context ? turn->before : 0,
        .own = tables->own || tables->from_rows ? turn->appended : 0};
    keys.tree = keys.before + keys.own;
    if (sequence->tree_count == 0) return keys;
    const int64_t earlier = sequence->tree_count - turn->appended; /* nodes of earlier rounds */
    keys.tree = keys.before - (keys.before > 0 ? earlier : 0);
    return keys;
}

/* Which keys a query sees: all before the round, and of the round those up to itself; of a token
 * tree only itself and its ancestors. */
static void bound_query(
    const Building *building, const PagedTurn *turn, const TurnKeys *keys, int64_t i) {
    const Paged *paged = building->paged;
    const PagedSequence *sequence = &paged->sequences[turn->place];
    const int64_t count = keys->before + keys->own, at = turn->first + i;
    int64_t begin = 0, end = count;
    if (sequence->tree_count == 0 && keys->before + i + 1 < end) end = keys->before + i + 1;
    if (building->tables->sliding) begin = keys->before + i - paged->config.layer_window + 1;
    if (begin < 0) begin = 0;
    if (begin > end) begin = end;
    int32_t *bounds = building->bounds + at * PAGED_BOUNDS;
    const int64_t start = building->count;
    bounds[0] = (int32_t)(building->tables->context ? start : start - turn->before);
    bounds[1] = (int32_t)(start + begin);
    bounds[2] = (int32_t)(start + end);
    bounds[3] = (int32_t)(start + keys->tree);
    bounds[4] = paged->positions[at];
    if (sequence->tree_count == 0) return;
    const int64_t earlier = sequence->tree_count - turn->appended;
    for (int32_t node = (int32_t)(earlier + i); node != -1; node = sequence->parents[node]) {
        const int64_t key = keys->before + node - earlier;
        if (key >= keys->tree && key < count)
            building->tree[at * building->width + key - keys->tree] = 1;
    }
}

static void add_turn(Building *building, const PagedTurn *turn) {
    const Paged *paged = building->paged;
    const TurnKeys keys = keys_of(paged, building->tables, turn);
    int32_t *rows = building->rows + building->count;
    for (int64_t i = 0; i < turn->appended; i++) bound_query(building, turn, &keys, i);
    if (keys.before > 0 && turn->context)
        memcpy(rows, turn->context, (size_t)keys.before * sizeof *rows);
    else if (keys.before > 0)
        paged_rows(paged, &paged->sequences[turn->place], rows);
    for (int64_t i = 0; i < keys.own; i++)
        rows[keys.before + i] = building->tables->from_rows ? paged->rows[turn->first + i]
                                                            : (int32_t)(-1 - turn->first - i);
    building->count += keys.before + keys.own;
}

/* What the tables of all turns need. The rows of a sequence are written up to its end. */
static void measure(const Paged *paged, const PagedTables *tables, int64_t *out_rows,
    int64_t *out_width, int64_t *out_positions) {
    *out_rows = *out_width = *out_positions = 0;
    for (uint32_t i = 0; i < paged->turn_count; i++) {
        const PagedTurn *turn = &paged->turns[i];
        const TurnKeys keys = keys_of(paged, tables, turn);
        const int64_t width = keys.before + keys.own - keys.tree;
        if (width > *out_width) *out_width = width;
        *out_rows += turn->before + turn->appended;
    }
    for (int64_t i = 0; i < paged->round_count; i++)
        if (paged->positions[i] >= *out_positions) *out_positions = paged->positions[i] + 1;
}

/* Sizes grow by steps, so that few kernels are planned. */
static int64_t power_of_two(int64_t least, int64_t count) {
    int64_t size = least;
    while (size < count) size *= 2;
    return size;
}

static Error *upload(PackedCall *call, const Paged *paged, DType dtype, Shape shape,
    const void *bytes, Tensor **out) {
    OWN(Tensor, tensor) = NULL;
    TRY(relax_new_tensor(call, paged->config.slot, dtype, &shape, &tensor));
    if (!tensor) return NULL;
    TRY(tensor_copy_from_host(tensor, bytes));
    tensor->written = true;
    *out = TAKE(tensor);
    return NULL;
}

static void mark_used(const Paged *paged, Building *building) {
    const int64_t size = paged->segment_pages * paged->config.page_size;
    for (int64_t i = 0; i < building->count; i++)
        if (building->rows[i] >= 0) building->tables->used[building->rows[i] / size] = 1;
}

static Error *build(PackedCall *call, Paged *paged, PagedTables *tables) {
    int64_t rows, width;
    measure(paged, tables, &rows, &width, &tables->positions);
    const int64_t size = power_of_two(ROWS_MIN, rows), queries = paged->round_count;
    OWN_MEMORY(row_memory) = NULL;
    OWN_MEMORY(bound_memory) = NULL;
    OWN_MEMORY(tree_memory) = NULL;
    TRY(memory_alloc((size_t)size, sizeof(int32_t), &row_memory));
    TRY(memory_alloc((size_t)(queries * PAGED_BOUNDS), sizeof(int32_t), &bound_memory));
    TRY(memory_alloc((size_t)(queries * width) + 1, 1, &tree_memory));
    Building building = {.paged = paged,
        .tables = tables,
        .rows = row_memory,
        .bounds = bound_memory,
        .tree = tree_memory,
        .width = width};
    for (uint32_t i = 0; i < paged->turn_count; i++) add_turn(&building, &paged->turns[i]);
    mark_used(paged, &building);
    memset(building.rows + building.count, 0, (size_t)(size - building.count) * sizeof(int32_t));
    TRY(upload(call, paged, DTYPE_INT32, shape_make(1, &size), building.rows, &tables->rows));
    if (!tables->rows) return NULL;
    TRY(upload(call, paged, DTYPE_INT32, shape_make(2, (int64_t[]){queries, PAGED_BOUNDS}),
        building.bounds, &tables->bounds));
    if (!tables->bounds || width == 0) return NULL;
    return upload(call, paged, DTYPE_BOOL, shape_make(2, (int64_t[]){queries, width}),
        building.tree, &tables->tree);
}

Error *paged_make_tables(
    PackedCall *call, Paged *paged, const PagedTables *wanted, bool *out_made) {
    const PagedTables *made = &paged->tables;
    *out_made = true;
    if (made->rows && made->context == wanted->context && made->own == wanted->own &&
        made->from_rows == wanted->from_rows && made->sliding == wanted->sliding)
        return NULL;
    paged_forget_tables(paged);
    paged->tables = (PagedTables){.context = wanted->context,
        .own = wanted->own,
        .from_rows = wanted->from_rows,
        .sliding = wanted->sliding};
    Error *error = build(call, paged, &paged->tables);
    *out_made = call->memory.kind != MEMORY_NEEDED;
    if (error || !*out_made) paged_forget_tables(paged);
    return error;
}

void paged_forget_tables(Paged *paged) {
    tensor_release(paged->tables.rows);
    tensor_release(paged->tables.bounds);
    tensor_release(paged->tables.tree);
    paged->tables = (PagedTables){0};
}

void paged_turn(const PagedConfig *config, int64_t size, int64_t position, float *inout_head) {
    int64_t half = size / 2;
    double turned = (double)position * config->rope_scale;
    for (int64_t i = 0; i < half; i++) {
        double exponent = (double)(2 * i) / (double)size;
        double angle = turned / scalar_pow_f64(config->rope_theta, exponent);
        float cosine = (float)scalar_cos_f64(angle), sine = (float)scalar_sin_f64(angle);
        float low = inout_head[i], high = inout_head[i + half];
        inout_head[i] = low * cosine - high * sine;
        inout_head[i + half] = high * cosine + low * sine;
    }
}

/* The cosines and sines of a position: what becomes of the pairs (1, 0). */
static void fill_angles(const PagedConfig *config, int64_t size, int64_t positions, float *to) {
    const int64_t half = size / 2;
    for (int64_t position = 0; position < positions; position++, to += size) {
        for (int64_t i = 0; i < size; i++) to[i] = i < half ? 1 : 0;
        paged_turn(config, size, position, to);
    }
}

Error *paged_make_angles(
    PackedCall *call, Paged *paged, bool sliding, int64_t size, int64_t positions, bool *out_made) {
    Tensor **angles = &paged->angles[sliding];
    const Shape *made = *angles ? &(*angles)->shape : NULL;
    *out_made = true;
    if (made && made->dims[0] >= positions && made->dims[2] == size / 2) return NULL;
    tensor_release(*angles);
    *angles = NULL;
    PagedConfig config = paged->config;
    if (sliding) {
        config.rope_scale = 1;
        config.rope_theta = 10000;
    }
    const int64_t count = power_of_two(ANGLES_MIN, positions);
    OWN_MEMORY(memory) = NULL;
    TRY(memory_alloc((size_t)(count * size), sizeof(float), &memory));
    fill_angles(&config, size, count, memory);
    TRY(upload(call, paged, DTYPE_FLOAT32, shape_make(3, (int64_t[]){count, 2, size / 2}), memory,
        angles));
    *out_made = *angles != NULL;
    return NULL;
}
