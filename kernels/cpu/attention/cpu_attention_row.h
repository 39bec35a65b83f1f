#pragma once
/* Rows of attention: scores of one query with many keys, and the weights computed from them. Fixed
 * lanes, no fused multiply-add: the same bits at every level. Called by cpu_attention.c, on the
 * threads of a launch. Pure: no state. */
#include "kernels/cpu/core/cpu_internal.h"

/* Scores of one query. They are read and written in whole vectors of sixteen. A mask with a number
 * for each score is read only up to its end: mask_end is its last vector if that is not a whole
 * one. */
typedef struct CpuAttentionRow {
    float *scores;
    int64_t count;
    float scale;
    const float *mask; /* NULL: none */
    bool mask_is_one;  /* the mask has one number for all scores */
    const float *mask_end;
    float most; /* the largest of the scores before these; then of these, too */
    float sum;  /* out: of the weights */
} CpuAttentionRow;

typedef struct CpuAttentionRowCode {
    /* scores[i] = query · keys[i], a sum of sixteen lanes; keys lie key_row elements apart */
    void (*dot)(const float *query, const float *keys, int64_t key_row, int64_t depth,
        int64_t count, float *scores);
    /* scores = e^(scale * scores + mask - most). If all are -inf, they become 0. The maximum may be
     * taken in any order, since NaN is never larger; the sum is one of sixteen lanes. */
    void (*weights)(CpuAttentionRow *row);
    void (*scale)(float *row, int64_t count, float factor);
} CpuAttentionRowCode;
CpuAttentionRowCode cpu_attention_row_code_for(CpuLevel level);
