#pragma once
/* The weights of convolutions of bytes, ConvInteger, QLinearConv and FusedQLinearConv, in the form
 * of their kernels. Called by cpu_bytes_constants.c and cpu_bytes_conv.c. Pure:
 * no state.
 *
 * A product reads a window in pieces that lie together in an image [H, W, C]: a row of the kernel,
 * or one tap where taps are apart. Filters are the columns of panels as in cpu_lower_product.h, the
 * panels of one group behind those of another, and each piece ends with zeros up to a whole group
 * of the form. Weights without a sign become less by 128. With a group for each channel
 * (depthwise), see cpu_bytes_depthwise.h. */
#include "kernels/cpu/quantized/cpu_lower_product.h"

typedef struct CpuBytesFilters {
    CpuLowerForm form;
    bool is_signed;
    bool is_depthwise; /* one channel and one filter in each group */
    bool by_rows;      /* a piece is a row of the kernel; else it is a tap */
    int64_t groups;
    int64_t filters, channels; /* of a group */
    int64_t height, width;     /* of the kernel */
} CpuBytesFilters;

/* Describes weights [M, C, width] or [M, C, height, width] of a convolution with these attributes,
 * which its shape rule has checked. */
CpuBytesFilters cpu_bytes_filters_of(
    CpuLowerForm form, const Attributes *attributes, const Shape *weights, DType dtype);
/* Which input of a convolution of bytes its weights are; 0: it is another operator. */
uint32_t cpu_bytes_filters_input(OperatorId id);

static inline int64_t cpu_bytes_taps(const CpuBytesFilters *filters) {
    return filters->height * filters->width;
}
static inline int64_t cpu_bytes_pieces(const CpuBytesFilters *filters) {
    return filters->height * (filters->by_rows ? 1 : filters->width);
}
/* Groups of the form in a piece. */
static inline int64_t cpu_bytes_piece_groups(const CpuBytesFilters *filters) {
    return cpu_lower_groups(
        filters->form, filters->channels * (filters->by_rows ? filters->width : 1));
}
/* Elements of a window, with the zeros behind pieces. */
static inline int64_t cpu_bytes_depth(const CpuBytesFilters *filters) {
    return cpu_bytes_pieces(filters) * cpu_bytes_piece_groups(filters) *
           cpu_lower_forms[filters->form].group;
}
/* Panels of all groups; for depthwise: blocks of channels. */
int64_t cpu_bytes_panels(const CpuBytesFilters *filters);
int64_t cpu_bytes_panel_bytes(const CpuBytesFilters *filters);
/* Errors: INVALID too large. */
MUST_CHECK Error *cpu_bytes_packed_bytes(const CpuBytesFilters *filters, uint64_t *out);
/* Writes panels [begin, end) at their place in `to`. weights: NULL: all are one. */
void cpu_bytes_pack(
    const CpuBytesFilters *filters, const void *weights, int64_t begin, int64_t end, void *to);
/* Writes all panels, on the threads of a launch. */
MUST_CHECK Error *cpu_bytes_pack_panels(CpuDevice *device, uint32_t threads,
    const CpuBytesFilters *filters, const void *weights, void *to);
