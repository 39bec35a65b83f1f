#pragma once
/* The parsed equation of Einsum: each dimension of each operand and of the result has a label.
 * Called by expand_einsum.c when a device plans. Pure: no state. */
#include "kernels/operator/plan.h"

enum {
    EINSUM_OPERANDS_MAX = 64,
    /* Letters, then the dimensions of the ellipsis, counted from its last. */
    EINSUM_LETTERS = 52,
    EINSUM_LABELS_MAX = EINSUM_LETTERS + SHAPE_RANK_MAX,
};

typedef struct EinsumTerm {
    uint32_t rank;
    uint8_t labels[SHAPE_RANK_MAX];
} EinsumTerm;

typedef struct EinsumEquation {
    uint32_t operand_count;
    EinsumTerm operands[EINSUM_OPERANDS_MAX];
    EinsumTerm result;
} EinsumEquation;

/* 'A' … 'Z', 'a' … 'z' in the order of their codes, "..." for the ellipsis' dimensions. */
char einsum_label_letter(uint8_t label);
/* Parses an equation for operands of these ranks. Errors: INVALID naming the place in the text. */
MUST_CHECK Error *einsum_equation_parse(
    const char *text, const uint32_t *ranks, uint32_t operand_count, EinsumEquation *out);
