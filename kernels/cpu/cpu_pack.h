#pragma once
/* Packed weights of the cpu device: which layout a constant gets, and writing it. The rule looks at
 * the constant, its operator and the instruction set, never at the other operands. */
#include "kernels/cpu/cpu_internal.h"

/* TensorSpec.layout; numbers are part of the prepacked cache's key and never reused. */
typedef enum CpuLayout {
    CPU_LAYOUT_PLAIN = 0,
    CPU_LAYOUT_PANELS = 1,    /* MatMul's B, transposed if the operator says so: see
                                 cpu_matmul_kernel.h; float32 */
    CPU_LAYOUT_DNNL = 3,      /* Conv's W in the form oneDNN wants: see cpu_dnnl_conv.c; float32 */
    CPU_LAYOUT_CONV_LAST = 4, /* FusedConv's W for images with their channels last: panels as in
                                 cpu_conv_last.h; float32 */
    CPU_LAYOUT_WINOGRAD = 5, /* the same for what cpu_winograd_takes: see cpu_winograd.h; float32 */
    CPU_LAYOUT_DEPTHWISE = 6, /* the same with a group for each channel: see
                                 cpu_conv_last_depthwise.h; float32 */
    CPU_LAYOUT_PAIRS_BFLOAT16 =
        7,                     /* weights at lower precision: see cpu_lower_product.h; bfloat16 */
    CPU_LAYOUT_PAIRS_INT8 = 8, /* likewise: see cpu_lower_product.h; int8 */
    CPU_LAYOUT_QUADS_INT8 = 9, /* the same for AVX512_VNNI */
    CPU_LAYOUT_PANELS_BFLOAT16 = 10, /* R of a recurrent network: see cpu_panels_bfloat16.h */
} CpuLayout;

/* DeviceClass.pack_rule and DeviceClass.pack. */
MUST_CHECK Error *cpu_pack_rule(
    Device *device, const PackRequest *request, uint32_t *out_layout, uint64_t *out_bytes);
MUST_CHECK Error *cpu_pack(Device *device, DeviceStream *stream, const PackRequest *request,
    uint32_t layout, const void *plain, uint64_t to);
