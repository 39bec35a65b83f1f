#include "kernels/cpu/reduction/cpu_tree_nodes.h"

#include <math.h>

#include "kernels/cpu/core/cpu_vector.h"

/* `child` is where x <= most leads; the other child stands behind it. A leaf is its own child, and
 * its `most` is infinite. */
typedef struct NodeF32 {
    float most;
    uint32_t column, child, unused;
} NodeF32;
typedef struct NodeF64 {
    double most;
    uint32_t column, child;
} NodeF64;

#define DEFINE_NODES(T, Node, suffix)                                                              \
    static bool pack_##suffix(const CpuTreeTables *tables, Node *to) {                             \
        const T *intervals = tables->intervals;                                                    \
        for (int64_t i = 0; i < tables->nodes; i++) {                                              \
            const T least = intervals[2 * i], most = intervals[2 * i + 1];                         \
            const uint32_t column = (uint32_t)tables->links[2 * i] >> 1;                           \
            const uint32_t child = (uint32_t)tables->links[2 * i + 1];                             \
            const bool always = most == (T)INFINITY; /* the second child is never reached */       \
            if (kernel_stop_ends_at(i) || least != (T)-INFINITY || most != most) return false;     \
            if (column >= tables->columns || (int64_t)child + !always >= tables->nodes)            \
                return false;                                                                      \
            to[i] = (Node){.most = most, .column = column, .child = child};                        \
        }                                                                                          \
        return true;                                                                               \
    }                                                                                              \
    /* One level a turn and without branches, so that the processor overlaps the lanes' loads. */  \
    static void walk_##suffix(const CpuTreeTables *tables, const Node *nodes,                      \
        const void *const *lanes, uint32_t *places) {                                              \
        const T *rows[CPU_TREE_LANES];                                                             \
        uint32_t at[CPU_TREE_LANES];                                                               \
        CPU_UNROLL for (int k = 0; k < CPU_TREE_LANES; k++) {                                      \
            rows[k] = lanes[k];                                                                    \
            at[k] = places[k];                                                                     \
        }                                                                                          \
        for (int64_t level = 0; level < tables->depth; level++) {                                  \
            uint32_t changed = 0;                                                                  \
            CPU_UNROLL for (int k = 0; k < CPU_TREE_LANES; k++) {                                  \
                const Node *node = nodes + at[k];                                                  \
                const uint32_t next = node->child + !(rows[k][node->column] <= node->most);        \
                changed |= next ^ at[k];                                                           \
                at[k] = next;                                                                      \
            }                                                                                      \
            if (!changed || kernel_stop_ends_at(level)) break;                                     \
        }                                                                                          \
        CPU_UNROLL for (int k = 0; k < CPU_TREE_LANES; k++) places[k] = at[k];                     \
    }                                                                                              \
    static bool have_nan_##suffix(const T *numbers, int64_t count) {                               \
        KERNEL_STOP_EACH (i, 0, count)                                                             \
            if (numbers[i] != numbers[i]) return true;                                             \
        return false;                                                                              \
    }                                                                                              \
    struct nodes_need_semicolon
DEFINE_NODES(float, NodeF32, f32);
DEFINE_NODES(double, NodeF64, f64);
_Static_assert(sizeof(NodeF32) == CPU_TREE_NODE_BYTES && sizeof(NodeF64) == CPU_TREE_NODE_BYTES,
    "nodes of equal sizes");

bool cpu_tree_nodes_pack(const CpuTreeTables *tables, void *to) {
    return tables->wide ? pack_f64(tables, to) : pack_f32(tables, to);
}

bool cpu_tree_nodes_have_nan(bool wide, const void *numbers, int64_t count) {
    return wide ? have_nan_f64(numbers, count) : have_nan_f32(numbers, count);
}

void cpu_tree_nodes_walk(
    const CpuTreeTables *tables, const void *packed, const void *const *rows, uint32_t *at) {
    if (tables->wide)
        walk_f64(tables, packed, rows, at);
    else
        walk_f32(tables, packed, rows, at);
}
