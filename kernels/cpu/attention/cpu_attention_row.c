#include "kernels/cpu/attention/cpu_attention_row.h"

#include "kernels/cpu/core/cpu_vector.h"

CPU_INLINE void dot_body(const float *query, const float *keys, int64_t key_row, int64_t depth,
    int64_t count, float *scores) {
    for (int64_t i = 0; i < count; i++) {
        const float *key = keys + i * key_row;
        CpuF32x16 sum = {0};
        int64_t k = 0;
        for (; k + CPU_VECTOR_LANES <= depth; k += CPU_VECTOR_LANES)
            sum += cpu_f32x16_load(query + k) * cpu_f32x16_load(key + k);
        if (k < depth)
            sum += cpu_f32x16_load_part(query + k, depth - k, 0) *
                   cpu_f32x16_load_part(key + k, depth - k, 0);
        scores[i] = cpu_f32x16_sum(sum);
    }
}
CPU_INLINE void dot_halves_body(const float *query, const float *keys, int64_t key_row,
    int64_t depth, int64_t count, float *scores) {
    for (int64_t i = 0; i < count; i++) {
        const float *key = keys + i * key_row;
        CpuF32x8 low = {0}, high = {0};
        int64_t k = 0;
        for (; k + CPU_VECTOR_LANES <= depth; k += CPU_VECTOR_LANES) {
            low += cpu_f32x8_load(query + k) * cpu_f32x8_load(key + k);
            high += cpu_f32x8_load(query + k + CPU_HALF_LANES) *
                    cpu_f32x8_load(key + k + CPU_HALF_LANES);
        }
        for (int lane = 0; k < depth; lane++, k++)
            if (lane < CPU_HALF_LANES)
                low[lane] += query[k] * key[k];
            else
                high[lane - CPU_HALF_LANES] += query[k] * key[k];
        scores[i] = cpu_f32x8_sum(low, high);
    }
}
CPU_VARIANTS_HALVES(dot,
    (const float *query, const float *keys, int64_t key_row, int64_t depth, int64_t count,
        float *scores),
    (query, keys, key_row, depth, count, scores));

/* Returns the number to subtract from the scores: their maximum, or 0 if all of them are -inf. */
CPU_INLINE float take_most(CpuAttentionRow *row, float most) {
    if (most > row->most) row->most = most;
    return row->most == -__builtin_inff() ? 0 : row->most;
}

/* Keeps the first `count` lanes; the others become `fill`. */
CPU_INLINE CpuF32x16 lanes_below(int64_t count, CpuF32x16 x, float fill) {
    const CpuI32x16 lanes = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    return cpu_f32x16_select(lanes < (int32_t)count, x, cpu_f32x16_all(fill));
}
/* A constant in all functions that are inlined. */
typedef enum Masked { MASKED_NOT, MASKED_BY_ONE, MASKED_EACH } Masked;

static inline Masked masked_of(const CpuAttentionRow *row) {
    if (!row->mask) return MASKED_NOT;
    return row->mask_is_one ? MASKED_BY_ONE : MASKED_EACH;
}

/* The scores from i on, scaled and masked. They are computed twice, since storing them would take
 * longer. */
CPU_INLINE CpuF32x16 score_at(const CpuAttentionRow *row, const Masked masked, int64_t i) {
    const CpuF32x16 x = cpu_f32x16_load(row->scores + i) * row->scale;
    if (masked == MASKED_NOT) return x;
    return x +
           (masked == MASKED_BY_ONE ? cpu_f32x16_all(*row->mask) : cpu_f32x16_load(row->mask + i));
}
/* The vector behind the whole ones: its first `left` lanes. */
CPU_INLINE CpuF32x16 last_score(
    const CpuAttentionRow *row, const Masked masked, int64_t whole, int64_t left) {
    CpuF32x16 x = lanes_below(left, cpu_f32x16_load(row->scores + whole), 0) * row->scale;
    if (masked == MASKED_BY_ONE) x += *row->mask;
    if (masked == MASKED_EACH) x += cpu_f32x16_load(row->mask_end);
    return lanes_below(left, x, -__builtin_inff());
}

/* Comparisons wait for each other in this many chains. The maximum does not depend on them. */
enum { MOST_CHAINS = 4 };

/* given: a copy of the row, which stores of scores do not change. */
CPU_INLINE void weights_of(
    CpuAttentionRow *row, const CpuAttentionRow *given, const Masked masked) {
    const int64_t left = given->count % CPU_VECTOR_LANES, whole = given->count - left;
    CpuF32x16 most[MOST_CHAINS];
    CPU_UNROLL for (int c = 0; c < MOST_CHAINS; c++) most[c] = cpu_f32x16_all(-__builtin_inff());
    int64_t begin = 0;
    for (; begin + MOST_CHAINS * CPU_VECTOR_LANES <= whole; begin += MOST_CHAINS * CPU_VECTOR_LANES)
        CPU_UNROLL for (int c = 0; c < MOST_CHAINS; c++) most[c] =
            cpu_f32x16_max(score_at(given, masked, begin + c * CPU_VECTOR_LANES), most[c]);
    for (; begin < whole; begin += CPU_VECTOR_LANES)
        most[0] = cpu_f32x16_max(score_at(given, masked, begin), most[0]);
    CPU_UNROLL for (int c = 1; c < MOST_CHAINS; c++) most[0] = cpu_f32x16_max(most[c], most[0]);
    CpuF32x16 last = {0};
    if (left) last = last_score(given, masked, whole, left);
    if (left) most[0] = cpu_f32x16_max(last, most[0]);
    const float shift = take_most(row, cpu_f32x16_largest(most[0]));
    CpuF32x16 sum = {0};
    for (int64_t i = 0; i < whole; i += CPU_VECTOR_LANES) {
        const CpuF32x16 term = cpu_f32x16_exp(score_at(given, masked, i) - shift);
        cpu_f32x16_store(given->scores + i, term);
        sum += term;
    }
    if (left) {
        const CpuF32x16 term = cpu_f32x16_exp(last - shift);
        cpu_f32x16_store(given->scores + whole, term);
        sum += term;
    }
    row->sum = cpu_f32x16_sum(sum);
}
CPU_INLINE void weights_body(CpuAttentionRow *row) {
    const CpuAttentionRow given = *row;
    const Masked masked = masked_of(row);
    if (masked == MASKED_NOT)
        weights_of(row, &given, MASKED_NOT);
    else if (masked == MASKED_BY_ONE)
        weights_of(row, &given, MASKED_BY_ONE);
    else
        weights_of(row, &given, MASKED_EACH);
}

CPU_INLINE CpuF32x8 half_below(int64_t count, CpuF32x8 x, float fill) {
    const CpuI32x8 lanes = {0, 1, 2, 3, 4, 5, 6, 7};
    return cpu_f32x8_select(lanes < (int32_t)count, x, fill - (CpuF32x8){0});
}
CPU_INLINE CpuF32x8 add_half_mask(const CpuAttentionRow *row, int64_t i, CpuF32x8 x) {
    if (!row->mask) return x;
    if (row->mask_is_one) return x + *row->mask;
    const int64_t left = row->count % CPU_VECTOR_LANES, whole = row->count - left;
    return x + cpu_f32x8_load(i < whole ? row->mask + i : row->mask_end + (i - whole));
}
CPU_INLINE void weights_halves_body(CpuAttentionRow *row) {
    const float least = -__builtin_inff();
    const int64_t left = row->count % CPU_VECTOR_LANES, whole = row->count - left;
    float *scores = row->scores;
    CpuF32x8 most = least - (CpuF32x8){0};
    for (int64_t i = 0; i < whole; i += CPU_HALF_LANES) {
        const CpuF32x8 x = add_half_mask(row, i, cpu_f32x8_load(scores + i) * row->scale);
        cpu_f32x8_store(scores + i, x);
        most = cpu_f32x8_max(x, most);
    }
    for (int64_t half = 0; half < left; half += CPU_HALF_LANES) {
        float *at = scores + whole + half;
        CpuF32x8 x = half_below(left - half, cpu_f32x8_load(at), 0) * row->scale;
        x = half_below(left - half, add_half_mask(row, whole + half, x), least);
        cpu_f32x8_store(at, x);
        most = cpu_f32x8_max(x, most);
    }
    const float shift = take_most(row, cpu_f32x8_largest(most));
    CpuF32x8 sums[2] = {{0}, {0}};
    for (int64_t i = 0; i < row->count; i += CPU_HALF_LANES) {
        const CpuF32x8 term = cpu_f32x8_exp(cpu_f32x8_load(scores + i) - shift);
        cpu_f32x8_store(scores + i, term);
        sums[i / CPU_HALF_LANES % 2] += term;
    }
    row->sum = cpu_f32x8_sum(sums[0], sums[1]);
}
CPU_VARIANTS_HALVES(weights, (CpuAttentionRow * row), (row));

CPU_INLINE void scale_body(float *row, int64_t count, float factor) {
    CPU_EACH_LANE(i, count) row[i] *= factor;
}
CPU_VARIANTS(scale, (float *row, int64_t count, float factor), (row, count, factor));

CpuAttentionRowCode cpu_attention_row_code_for(CpuLevel level) {
    return (CpuAttentionRowCode){dot_for(level), weights_for(level), scale_for(level)};
}
