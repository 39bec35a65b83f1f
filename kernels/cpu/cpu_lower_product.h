#pragma once
/* The inner kernels of products at lower precision: rows that were rounded to bfloat16 or made
 * bytes, times panels of weights of two bytes or one.
 *
 * Weights lie in panels of 16 columns, by pairs along the depth: [pair][column][2]. An odd depth
 * ends with zeros, and so does the last panel.
 *
 * bfloat16: every element is one chain of multiply-adds in float32 in the order of the depth,
 * started from zero: the bits depend on its row and its column and on nothing else. int8: sums of
 * integers, which are exact modulo 2^32 in any order. */
#include "kernels/cpu/cpu_internal.h"

typedef enum CpuLowerKind { CPU_LOWER_BFLOAT16, CPU_LOWER_INT8 } CpuLowerKind;

enum {
    CPU_LOWER_PANEL = 16,
    CPU_LOWER_COLUMNS = 64, /* of a tile: four panels */
    CPU_LOWER_ROWS = 96,    /* of a tile: 24 KiB of sums on the stack */
    CPU_LOWER_BLOCK = 8192, /* bytes of a panel at a time, which stay in the first level cache */
};

/* out[rows][CPU_LOWER_COLUMNS] (+)= a[rows][2 * pairs] times panels. Strides in elements. */
typedef struct CpuLowerTile {
    int64_t rows, pairs, panels;
    const void *a; /* bfloat16: as float32; int8: int16 */
    int64_t a_row;
    const void *b; /* bfloat16: 16 bits; int8: int8 */
    int64_t b_panel;
    void *out;       /* bfloat16: float32; int8: int32 */
    bool accumulate; /* go on from what out holds */
} CpuLowerTile;

typedef void CpuLowerProduct(const CpuLowerTile *tile);
CpuLowerProduct *cpu_lower_product_for(CpuLevel level, CpuLowerKind kind);

/* Of a weight. */
static inline uint64_t cpu_lower_size(CpuLowerKind kind) {
    return kind == CPU_LOWER_BFLOAT16 ? 2 : 1;
}
static inline int64_t cpu_lower_pairs(int64_t depth) { return depth / 2 + depth % 2; }
static inline int64_t cpu_lower_panels(int64_t columns) {
    return columns / CPU_LOWER_PANEL + (columns % CPU_LOWER_PANEL != 0);
}
/* Elements of a panel. */
static inline int64_t cpu_lower_panel_count(int64_t depth) {
    return cpu_lower_pairs(depth) * 2 * CPU_LOWER_PANEL;
}
/* Errors: INVALID too large. */
MUST_CHECK Error *cpu_lower_packed_bytes(
    CpuLowerKind kind, int64_t depth, int64_t columns, uint64_t *out);
/* Writes panels [begin, end) of plain B [depth, columns] where they belong in `packed`. */
void cpu_lower_pack(CpuLowerKind kind, const void *b, int64_t depth, int64_t columns, int64_t begin,
    int64_t end, void *packed);
