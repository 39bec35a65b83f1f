#pragma once
/* The sizes in a call of ONNX's Attention, checked. Called by expand_attention.c and the shape
 * rule. Pure: no state. */
#include "kernels/operator/plan.h"

typedef struct AttentionShape {
    bool is_packed; /* rank 3: [batch, rows, heads * size] */
    int64_t batch, heads, kv_heads;
    int64_t queries, past, keys; /* keys: including the past */
    int64_t depth, columns;      /* depth: of a key; columns: of a value */
    /* How far a query attends to either side of its own position; -1: to the end. Causal: right
     * 0. */
    int64_t left, right;
    uint32_t shown_step; /* the step after which output 3 shows the scores: qk_matmul_output_mode */
    DType softmax_dtype;
} AttentionShape;

/* Errors: INVALID naming the mismatch. */
MUST_CHECK Error *attention_shape_read(const PlanRequest *request, AttentionShape *out);
