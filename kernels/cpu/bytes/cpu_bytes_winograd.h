#pragma once
/* Convolution of bytes of 3 x 3, step 1, after Winograd: F(2 x 2, 3 x 3) of Lavin and Gray, "Fast
 * algorithms for convolutional neural networks" (2015), in integers. Tiles of 4 x 4 pixels are
 * transformed, multiplied with transformed filters, position by position, and transformed back to
 * 2 x 2 outputs: 16 products instead of 36. Called by cpu_bytes_conv.c and, for weights, by
 * cpu_bytes_filters.c. Pure: no state.
 *
 * The sums are those of the direct convolution, bit for bit. Filters are transformed without the
 * halves of the method, so sums are four times as large; a pixel has at most 8 bits and a sign, a
 * transformed one 10, a transformed filter 11. Sums are exact modulo 2^32, and with at most
 * CPU_BYTES_WINOGRAD_CHANNELS channels four times a sum fits int32. */
#include "kernels/cpu/bytes/cpu_bytes_filters.h"

enum {
    CPU_BYTES_WINOGRAD_OUTPUT = 2, /* outputs of a tile's side */
    CPU_BYTES_WINOGRAD_TILE = 4,   /* pixels of it */
    CPU_BYTES_WINOGRAD_TILES = 24, /* at most, of a block */
    CPU_BYTES_WINOGRAD_CHANNELS = INT32_MAX / (4 * 9 * 255 * 128),
    CPU_BYTES_WINOGRAD_SPARE = 32, /* bytes behind an image that may be read */
};

/* Whether weights are packed for this kernel: a function of the device, the operator's attributes
 * and the weights, not of the image. */
bool cpu_bytes_winograd_takes(
    const CpuDevice *device, const Attributes *attributes, const CpuBytesFilters *filters);
/* Bytes of the packed weights, which are int16. Errors: INVALID too large. */
MUST_CHECK Error *cpu_bytes_winograd_bytes(const CpuBytesFilters *filters, uint64_t *out);
void cpu_bytes_winograd_pack(const CpuBytesFilters *filters, const void *weights, void *to);
/* Where a panel of packed weights begins. */
const void *cpu_bytes_winograd_panel(
    const CpuBytesFilters *filters, const void *packed, int64_t panel);

/* Bytes of scratch for a block. */
int64_t cpu_bytes_winograd_scratch_bytes(void);

/* A block: some tiles and up to CPU_LOWER_COLUMNS filters. Steps in bytes. */
typedef struct CpuBytesWinograd {
    CpuLevel level;
    int64_t channels;
    int64_t tiles; /* at most CPU_BYTES_WINOGRAD_TILES */
    int64_t panels;
    int64_t pixel, pitch;      /* from pixel to pixel and from row to row of the image */
    const char *const *pixels; /* the first pixel of each tile, int16 */
    const void *weights;       /* the packed panel of the block's first filter */
    void *scratch;             /* aligned for vectors */
} CpuBytesWinograd;

/* Leaves the products in the scratch. Returns early when the kernel is stopped: see kernel_stop.h.
 */
void cpu_bytes_winograd_multiply(const CpuBytesWinograd *block);
/* Writes a tile's sums to out[2][columns][CPU_LOWER_COLUMNS]. columns: 1 or 2; with 1, a row more
 * is written over. out: of CPU_LOWER_COLUMNS * 4 elements. */
void cpu_bytes_winograd_leave(
    const CpuBytesWinograd *block, int64_t tile, int64_t columns, int32_t *out);
