#pragma once
/* Sums of convolutions of bytes with a group for each channel: 64 channels of a row of outputs.
 * Called by cpu_bytes_conv.c and
 * cpu_bytes_filters.c. Pure: no state.
 *
 * The weights of 64 channels are a block. For AVX512_VNNI: int32[64], the sums of each channel's
 * weights, then for every four taps [4][16][4] bytes: the weights of channel 16 l + 4 v + j stand
 * at [v][4 l + j], where unpacking instructions bring its elements. Else int16 [tap][64]. */
#include "kernels/cpu/quantized/cpu_lower_product.h"

enum { CPU_BYTES_CHANNELS = 64 };

static inline int64_t cpu_bytes_depthwise_blocks(int64_t channels) {
    return channels / CPU_BYTES_CHANNELS + (channels % CPU_BYTES_CHANNELS != 0);
}
int64_t cpu_bytes_depthwise_block_bytes(CpuLowerForm form, int64_t taps);
/* Weights as ONNX has them, [channels][taps]; values NULL: all are one. */
typedef struct CpuBytesDepthwiseWeights {
    CpuLowerForm form;
    bool is_signed;
    int64_t channels, taps;
    const uint8_t *values;
} CpuBytesDepthwiseWeights;

void cpu_bytes_depthwise_pack(
    const CpuBytesDepthwiseWeights *weights, int64_t block, void *to, KernelStopMeter *meter);

/* out[pixels][64] = sums over the taps of (x - zero) * (weight - zeros[channel]). Strides and
 * offsets in bytes. */
typedef struct CpuBytesDepthwise {
    int64_t pixels, taps, channels;
    const char *x;          /* the first pixel's window: bytes, or int16 less the zero */
    int64_t pixel;          /* from one output's window to the next */
    const int64_t *offsets; /* [taps rounded up to 4]: in a window; those behind the last are 0 */
    const void *weights;    /* the block */
    int32_t zero;
    const int32_t *zeros; /* int16 alone: of the channels' weights; NULL: none */
    int32_t *out;
} CpuBytesDepthwise;

typedef void CpuBytesDepthwiseSum(const CpuBytesDepthwise *sum);
CpuBytesDepthwiseSum *cpu_bytes_depthwise_for(CpuLevel level, CpuLowerForm form);
