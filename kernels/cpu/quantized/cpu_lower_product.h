#pragma once
/* The inner kernels of products at lower precision: rows rounded to bfloat16 or quantized to bytes,
 * times panels of weights of two bytes or one. Called by the kernels of cpu/quantized/ on the
 * threads of a launch. Pure: no state.
 *
 * Weights are stored in panels of 16 columns, by groups along the depth: [group][column][2 or 4].
 * The last group and the last panel end with zeros.
 *
 * bfloat16: every element is one chain of multiply-adds in float32, started from zero, along the
 * depth by pairs, the second of each pair first (as AVX512_BF16 does it): the bits depend only on
 * its row and its column. int8: sums of integers, which are exact modulo 2^32 in any order. */
#include "kernels/cpu/core/cpu_internal.h"

/* The forms of rows and weights. */
typedef enum CpuLowerForm {
    CPU_LOWER_BFLOAT16,
    CPU_LOWER_BFLOAT16_DOT, /* AVX512_BF16; treats denormal numbers as zero, and makes none */
    CPU_LOWER_INT8,
    CPU_LOWER_INT8_DOT, /* AVX512_VNNI, whose bytes of rows have no sign: see zeros */
    CPU_LOWER_FORM_COUNT,
} CpuLowerForm;

enum {
    CPU_LOWER_PANEL = 16,
    CPU_LOWER_COLUMNS = 64, /* of a tile: four panels */
    CPU_LOWER_ROWS = 96,    /* of a tile: 24 KiB of sums on the stack */
    CPU_LOWER_BLOCK = 8192, /* bytes of a panel at a time, which fit the first level cache */
    CPU_LOWER_CHANNELS = 4, /* a multiple: whole groups of every form in each pixel of an image */
};

typedef struct CpuLowerFormInfo {
    bool is_int8;
    uint32_t layout;      /* CpuLayout of its weights */
    uint32_t group;       /* elements along the depth that lie together */
    uint32_t row_size;    /* bytes of a row's element: float32, bfloat16, int16, uint8 */
    uint32_t weight_size; /* bytes of a weight: bfloat16, int8 */
    uint32_t head; /* bytes in front of each panel: the sums of its columns, int32[16], or none */
} CpuLowerFormInfo;

extern const CpuLowerFormInfo cpu_lower_forms[CPU_LOWER_FORM_COUNT];

/* The best form that the device supports. */
CpuLowerForm cpu_lower_form(const CpuDevice *device, bool is_int8);

/* out[rows][CPU_LOWER_COLUMNS] (+)= a[rows][groups] times panels. Strides in bytes. */
typedef struct CpuLowerTile {
    int64_t rows, groups, panels;
    const void *a;
    int64_t a_row;
    /* See cpu_lower_takes_offsets. Where rows lie from a, in place of a_row; NULL: a_row apart.
     * Each row has `piece_count` pieces of so many groups, which lie at its offset + pieces[i];
     * their weights follow each other. In bytes. */
    const int64_t *offsets, *pieces;
    int64_t piece_count;
    const void *b;
    int64_t b_panel;
    const void *b_next; /* the weights that are read after these: they are fetched; NULL: unknown */
    void *out;          /* bfloat16: float32; int8: int32 */
    bool accumulate;    /* add to the values in out */
    /* CPU_LOWER_INT8_DOT, unless it accumulates: row r's bytes are too large by zeros[r], so its
     * sums start from -zeros[r] * heads. heads: the first panel's head, the others b_panel
     * apart. */
    const int32_t *zeros;
    const void *heads;
} CpuLowerTile;

/* Whether products of the form look at a tile's offsets. */
static inline bool cpu_lower_takes_offsets(CpuLowerForm form) { return form == CPU_LOWER_INT8; }

typedef void CpuLowerProduct(const CpuLowerTile *tile);
/* Forms for AVX512_BF16 and AVX512_VNNI: only on a machine that has them. */
CpuLowerProduct *cpu_lower_product_for(CpuLevel level, CpuLowerForm form);
void cpu_lower_product_bfloat16_dot(const CpuLowerTile *tile);
void cpu_lower_product_int8_dot(const CpuLowerTile *tile);

static inline int64_t cpu_lower_groups(CpuLowerForm form, int64_t depth) {
    const int64_t group = cpu_lower_forms[form].group;
    return depth / group + (depth % group != 0);
}
/* Bytes of a row in the form that is multiplied. */
static inline int64_t cpu_lower_row_bytes(CpuLowerForm form, int64_t depth) {
    const CpuLowerFormInfo *info = &cpu_lower_forms[form];
    return cpu_lower_groups(form, depth) * info->group * info->row_size;
}
static inline int64_t cpu_lower_panels(int64_t columns) {
    return columns / CPU_LOWER_PANEL + (columns % CPU_LOWER_PANEL != 0);
}
/* Bytes of one group of all columns of a panel. */
static inline int64_t cpu_lower_group_bytes(CpuLowerForm form) {
    const CpuLowerFormInfo *info = &cpu_lower_forms[form];
    return (int64_t)info->group * CPU_LOWER_PANEL * info->weight_size;
}
/* Bytes of a panel with its head. */
static inline int64_t cpu_lower_panel_bytes(CpuLowerForm form, int64_t depth) {
    return cpu_lower_forms[form].head + cpu_lower_groups(form, depth) * cpu_lower_group_bytes(form);
}
/* The byte in int8's packed panels for row k and column c of B. */
static inline int8_t cpu_lower_byte(
    CpuLowerForm form, const char *panels, int64_t depth, int64_t k, int64_t c) {
    const int64_t group = cpu_lower_forms[form].group;
    const char *panel = panels + c / CPU_LOWER_PANEL * cpu_lower_panel_bytes(form, depth);
    return (int8_t)panel[cpu_lower_forms[form].head + k / group * cpu_lower_group_bytes(form) +
                         c % CPU_LOWER_PANEL * group + k % group];
}
