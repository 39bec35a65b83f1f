#include <inttypes.h>
#include <string.h>

#include "base/allocator.h"
#include "kernels/scalar/scalar_exponential.h"
#include "kernels/scalar/scalar_half.h"
#include "kernels/scalar/scalar_power.h"
#include "kernels/scalar/scalar_trigonometric.h"
#include "vm/relax/relax_paged.h"

/* The logarithm of an empty sum, as TVM's kernels have it. */
static const float LSE_OF_NOTHING = -5e4f;
enum { LANES = 8 };

void paged_load(DType dtype, const void *from, int64_t count, float *to) {
    const uint16_t *halves = from;
    if (dtype == DTYPE_FLOAT32)
        memcpy(to, from, (size_t)count * sizeof *to);
    else if (dtype == DTYPE_FLOAT16)
        for (int64_t i = 0; i < count; i++) to[i] = scalar_widen_float16(halves[i]);
    else
        for (int64_t i = 0; i < count; i++) to[i] = scalar_widen_bfloat16(halves[i]);
}

void paged_store(DType dtype, const float *from, int64_t count, void *to) {
    uint16_t *halves = to;
    if (dtype == DTYPE_FLOAT32)
        memcpy(to, from, (size_t)count * sizeof *from);
    else if (dtype == DTYPE_FLOAT16)
        for (int64_t i = 0; i < count; i++) halves[i] = scalar_narrow_float16(from[i]);
    else
        for (int64_t i = 0; i < count; i++) halves[i] = scalar_narrow_bfloat16(from[i]);
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

/* Fixed lanes: the sum does not depend on the compiler's choice of vectors. */
static float dot(const float *a, const float *b, int64_t count) {
    float lanes[LANES] = {0};
    int64_t whole = count - count % LANES;
    for (int64_t i = 0; i < whole; i += LANES)
        for (int64_t lane = 0; lane < LANES; lane++) lanes[lane] += a[i + lane] * b[i + lane];
    for (int64_t i = whole; i < count; i++) lanes[i - whole] += a[i] * b[i];
    float sum = 0;
    for (int64_t lane = 0; lane < LANES; lane++) sum += lanes[lane];
    return sum;
}

/* One sequence and one kv head: keys and values side by side, those before the round first. */
typedef struct Heads {
    const Paged *paged;
    const PagedQuery *query;
    const PagedTurn *turn;
    const PagedSequence *sequence;
    PagedConfig turning; /* how keys are turned in this layer */
    bool sliding;        /* the layer has a window of its own */
    bool inlined;        /* keys and queries are turned here */
    int64_t before, own; /* keys before the round, and of it */
    const int32_t *rows; /* of the keys before the round */
    float *keys, *values, *scores, *turned;
    uint8_t *visible; /* per key, for the query at hand */
} Heads;

static void gather_row(
    const Heads *heads, int64_t head, int64_t row, int64_t position, int64_t to) {
    const Paged *paged = heads->paged;
    const PagedQuery *query = heads->query;
    float *key = heads->keys + to * query->key_size;
    float *value = heads->values + to * query->value_size;
    DType dtype = paged->config.dtype;
    if (paged->kinds[query->layer] == PAGED_MLA) {
        paged_load(dtype, paged_latent(paged, query->layer, row), query->key_size, key);
        memcpy(value, key, (size_t)query->value_size * sizeof *value);
        return;
    }
    paged_load(dtype, paged_cell(paged, query->layer, row, 0, head), query->key_size, key);
    paged_load(dtype, paged_cell(paged, query->layer, row, 1, head), query->value_size, value);
    if (heads->inlined) paged_turn(&heads->turning, query->key_size, position, key);
}

static void gather(const Heads *heads, int64_t head) {
    const PagedQuery *query = heads->query;
    const PagedTurn *turn = heads->turn;
    for (int64_t i = 0; i < heads->before; i++) gather_row(heads, head, heads->rows[i], i, i);
    for (int64_t i = 0; i < heads->own; i++) {
        int64_t at = turn->first + i, to = heads->before + i;
        int64_t position = heads->paged->positions[at];
        if (query->from_rows) {
            gather_row(heads, head, heads->paged->rows[at], position, to);
            continue;
        }
        int64_t index = at * query->kv_heads + head;
        float *key = heads->keys + to * query->key_size;
        memcpy(key, query->keys + index * query->key_size, (size_t)query->key_size * sizeof *key);
        memcpy(heads->values + to * query->value_size, query->values + index * query->value_size,
            (size_t)query->value_size * sizeof *heads->values);
        if (heads->inlined) paged_turn(&heads->turning, query->key_size, position, key);
    }
}

/* Which keys query i of the turn sees: all before the round, and of the round those up to itself;
 * of a token tree only itself and its ancestors. */
static void mark_visible(const Heads *heads, int64_t i) {
    const PagedSequence *sequence = heads->sequence;
    int64_t count = heads->before + heads->own, own = heads->turn->appended;
    memset(heads->visible, 1, (size_t)count);
    if (sequence->tree_count > 0) {
        int64_t earlier = sequence->tree_count - own; /* nodes of earlier rounds */
        int64_t first = heads->before - (heads->before > 0 ? earlier : 0);
        memset(heads->visible + first, 0, (size_t)(count - first));
        for (int32_t node = (int32_t)(earlier + i); node != -1; node = sequence->parents[node]) {
            int64_t at = heads->before + node - earlier;
            if (at >= first && at < count) heads->visible[at] = 1;
        }
    } else {
        for (int64_t at = heads->before + i + 1; at < count; at++) heads->visible[at] = 0;
    }
    if (!heads->sliding) return;
    int64_t oldest = heads->before + i - heads->paged->config.layer_window + 1;
    for (int64_t at = 0; at < oldest && at < count; at++) heads->visible[at] = 0;
}

/* One query head of one position. */
static void attend_one(const Heads *heads, int64_t i, int64_t head) {
    const PagedQuery *query = heads->query;
    int64_t at = heads->turn->first + i, index = at * query->heads + head;
    int64_t count = heads->before + heads->own;
    const float *given = query->queries + index * query->key_size;
    if (heads->inlined) {
        memcpy(heads->turned, given, (size_t)query->key_size * sizeof *given);
        paged_turn(&heads->turning, query->key_size, heads->paged->positions[at], heads->turned);
        given = heads->turned;
    }
    float largest = -3.4e38f, sum = 0, scale = (float)query->scale;
    for (int64_t n = 0; n < count; n++) {
        if (!heads->visible[n]) continue;
        heads->scores[n] = dot(given, heads->keys + n * query->key_size, query->key_size) * scale;
        if (heads->scores[n] > largest) largest = heads->scores[n];
    }
    float *out = query->out + index * query->value_size;
    memset(out, 0, (size_t)query->value_size * sizeof *out);
    for (int64_t n = 0; n < count; n++) {
        if (!heads->visible[n]) continue;
        float weight = scalar_exp_f32(heads->scores[n] - largest);
        const float *value = heads->values + n * query->value_size;
        sum += weight;
        for (int64_t c = 0; c < query->value_size; c++) out[c] += weight * value[c];
    }
    if (sum > 0)
        for (int64_t c = 0; c < query->value_size; c++) out[c] /= sum;
    if (query->lse)
        query->lse[index] =
            sum > 0 ? (largest + scalar_log_f32(sum)) * 1.44269504f : LSE_OF_NOTHING;
}

static Error *attend_turn(Heads *heads) {
    const PagedQuery *query = heads->query;
    int64_t group = query->heads / query->kv_heads;
    for (int64_t kv_head = 0; kv_head < query->kv_heads; kv_head++) {
        gather(heads, kv_head);
        for (int64_t i = 0; i < heads->turn->appended; i++) {
            mark_visible(heads, i);
            for (int64_t head = kv_head * group; head < (kv_head + 1) * group; head++)
                attend_one(heads, i, head);
        }
    }
    return NULL;
}

/* The sequence of a turn is as the round left it. */
static Error *check_turn(const Paged *paged, const PagedTurn *turn) {
    const PagedSequence *sequence = &paged->sequences[turn->place];
    if (!sequence->used || (!turn->context && sequence->length != turn->before + turn->appended) ||
        sequence->tree_count > turn->before + turn->appended ||
        (sequence->tree_count > 0 && sequence->tree_count < turn->appended))
        FAIL(CONFLICT, "a sequence of the round has changed since it began");
    return NULL;
}

/* Memory for one turn, in one block: keys, values, scores, a query, rows, marks. */
static Error *open_turn(Heads *heads, int64_t rows_before, void **out_memory) {
    const PagedQuery *query = heads->query;
    int64_t count = heads->before + heads->own;
    uint64_t floats = (uint64_t)count * (uint64_t)(query->key_size + query->value_size + 1) +
                      (uint64_t)query->key_size;
    uint64_t ints = (uint64_t)rows_before;
    TRY(memory_alloc(1, (floats + ints) * sizeof(float) + (uint64_t)count + 1, out_memory));
    heads->keys = *out_memory;
    heads->values = heads->keys + count * query->key_size;
    heads->scores = heads->values + count * query->value_size;
    heads->turned = heads->scores + count;
    int32_t *rows = (int32_t *)(heads->turned + query->key_size);
    heads->visible = (uint8_t *)(rows + rows_before);
    heads->rows = heads->turn->context ? heads->turn->context : rows;
    if (!heads->turn->context && heads->before > 0) paged_rows(heads->paged, heads->sequence, rows);
    return NULL;
}

Error *paged_attend(const Paged *paged, const PagedQuery *query) {
    for (uint32_t i = 0; i < paged->turn_count; i++) TRY(check_turn(paged, &paged->turns[i]));
    uint8_t kind = paged->kinds[query->layer];
    for (uint32_t i = 0; i < paged->turn_count; i++) {
        const PagedTurn *turn = &paged->turns[i];
        Heads heads = {.paged = paged,
            .query = query,
            .turn = turn,
            .sequence = &paged->sequences[turn->place],
            .turning = paged->config,
            .sliding = kind == PAGED_MHA_SLIDING,
            .inlined = paged->config.rope == PAGED_ROPE_INLINE && kind != PAGED_MLA,
            .before = query->context ? turn->before : 0,
            .own = query->keys || query->from_rows ? turn->appended : 0};
        if (heads.sliding) {
            heads.turning.rope_scale = 1;
            heads.turning.rope_theta = 10000;
        }
        OWN_MEMORY(memory) = NULL;
        TRY(open_turn(&heads, heads.sequence->length, &memory));
        TRY(attend_turn(&heads));
    }
    return NULL;
}
