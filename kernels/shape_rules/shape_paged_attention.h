#pragma once
/* The sizes in a call of PagedAttention (operators.def), checked. Called by the shape rule and by
 * the kernels. Pure: no state. */
#include "kernels/operator/plan.h"

enum { PAGED_ATTENTION_PAGES = 7 /* the first input with pages */, PAGED_ATTENTION_BOUNDS = 5 };

typedef struct PagedAttentionShape {
    int64_t queries, heads, kv_heads;
    int64_t depth, columns;   /* depth: of a key; columns: of a value */
    int64_t own;              /* keys of inputs 3 and 4; 0: absent */
    int64_t keys;             /* entries of `rows` */
    int64_t positions;        /* rows of the table of angles; 0: keys are not turned */
    int64_t tree;             /* columns of the mask; 0: absent */
    int64_t parts;            /* of a row of pages: key and value, or a key that has the value */
    int64_t rows_of_an_input; /* rows in an input of pages */
    uint32_t page_inputs;
} PagedAttentionShape;

/* Errors: INVALID naming the mismatch. */
MUST_CHECK Error *paged_attention_shape_read(const PlanRequest *request, PagedAttentionShape *out);
