#pragma once
/* The nodes of trees in a form that a walk reads fast: sixteen bytes each, checked once, with tests
 * of x <= t only. cpu_tree_scores.c makes it in its workspace when a launch has so many rows that
 * this pays. Pure: no state.
 *
 * A row without NaN ends where it would end by the tables of TreeScores. */
#include <stdbool.h>
#include <stdint.h>

enum { CPU_TREE_LANES = 8, CPU_TREE_NODE_BYTES = 16 };

/* The tables of TreeScores (operators.def) and their sizes. */
typedef struct CpuTreeTables {
    bool wide; /* float64, else float32 */
    int64_t nodes, columns, depth;
    const void *intervals; /* [nodes, 2] */
    const int32_t *links;  /* [nodes, 2] */
} CpuTreeTables;

/* Fills `to`, CPU_TREE_NODE_BYTES for each node, aligned to 16. False, and `to` is of no use, if a
 * test has a lower bound or an index lies outside, or after a stop. */
bool cpu_tree_nodes_pack(const CpuTreeTables *tables, void *to);
/* Whether any of the numbers is NaN. */
bool cpu_tree_nodes_have_nan(bool wide, const void *numbers, int64_t count);
/* Takes all lanes, nodes at[], to their leaves. May end early after a stop. */
void cpu_tree_nodes_walk(
    const CpuTreeTables *tables, const void *packed, const void *const *rows, uint32_t *at);
