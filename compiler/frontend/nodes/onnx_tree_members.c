/* A node that asks whether a feature is one of several values, as nodes with one comparison: a
 * search by halves, whose ends compare with one value each. The first end has the node's children
 * below it; the children of the other ends only go on to those. */
#include <math.h>
#include <stdlib.h>

#include "compiler/frontend/nodes/onnx_trees.h"

enum { SPANS_MAX = 64 }; /* above the depth of a search by halves */

/* Node `at` searches values [first, end). */
typedef struct Span {
    uint32_t at, first, end;
} Span;

static int compare(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static uint32_t sort(uint32_t count, double *values) {
    uint32_t kept = 0;
    qsort(values, count, sizeof *values, compare);
    for (uint32_t i = 0; i < count; i++)
        if (kept == 0 || values[kept - 1] != values[i]) values[kept++] = values[i];
    return kept;
}

static uint32_t append(TreeEnsemble *ensemble, const TreeNode *like, TreeMode mode, uint32_t yes) {
    TreeNode *node = &ensemble->nodes[ensemble->node_count];
    *node = *like;
    node->mode = mode;
    node->yes = yes;
    node->no = TREE_UNSET;
    return ensemble->node_count++;
}

void tree_expand_members(TreeEnsemble *ensemble, uint32_t at, uint32_t count, double *values) {
    const TreeNode asked = ensemble->nodes[at];
    Span spans[SPANS_MAX];
    uint32_t waiting = 1, detour = 2;
    bool placed = false;
    count = sort(count, values);
    for (uint32_t size = 1; size < count; size *= 2) detour++;
    spans[0] = (Span){at, 0, count};
    while (waiting > 0) {
        const Span span = spans[--waiting];
        const uint32_t middle = span.first + (span.end - span.first) / 2;
        TreeNode *node = &ensemble->nodes[span.at];
        if (span.end - span.first > 1) {
            node->mode = TREE_LEQ;
            node->split = values[middle - 1];
            node->yes = append(ensemble, &asked, TREE_EQ, TREE_UNSET);
            node->no = append(ensemble, &asked, TREE_EQ, TREE_UNSET);
            spans[waiting++] = (Span){node->no, middle, span.end};
            spans[waiting++] = (Span){node->yes, span.first, middle};
            continue;
        }
        node->mode = TREE_EQ;
        node->split = count ? values[span.first] : (double)NAN;
        node->yes = placed ? append(ensemble, &asked, TREE_GO, asked.yes) : asked.yes;
        node->no = placed ? append(ensemble, &asked, TREE_GO, asked.no) : asked.no;
        placed = true;
    }
    if (detour > ensemble->detour) ensemble->detour = detour;
}
