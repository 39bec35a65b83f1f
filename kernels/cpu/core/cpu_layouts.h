#pragma once
/* The layouts of packed weights of the cpu device, by number. Used by cpu_pack.c, which chooses
 * them, and by the kernels that read them. Pure: an enumeration. */

/* TensorSpec.layout; numbers are part of the prepacked cache's key and never reused. */
typedef enum CpuLayout {
    CPU_LAYOUT_PLAIN = 0,
    CPU_LAYOUT_PANELS = 1,    /* MatMul's B, transposed if the operator says so: see
                                 cpu_matmul_kernel.h; float32 */
    CPU_LAYOUT_DNNL = 3,      /* Conv's W in oneDNN's form: see cpu_dnnl_conv.c; float32 */
    CPU_LAYOUT_CONV_LAST = 4, /* FusedConv's W for images with their channels last: panels as in
                                 cpu_conv_last.h; float32 */
    CPU_LAYOUT_WINOGRAD = 5,  /* the same if cpu_winograd_takes: see cpu_winograd.h; float32 */
    CPU_LAYOUT_DEPTHWISE = 6, /* the same with a group for each channel: see
                                 cpu_conv_last_depthwise.h; float32 */
    CPU_LAYOUT_PAIRS_BFLOAT16 =
        7,                     /* weights at lower precision: see cpu_lower_product.h; bfloat16 */
    CPU_LAYOUT_PAIRS_INT8 = 8, /* likewise: see cpu_lower_product.h; int8 */
    CPU_LAYOUT_QUADS_INT8 = 9, /* the same for AVX512_VNNI */
    CPU_LAYOUT_PANELS_BFLOAT16 = 10, /* R of a recurrent network: see cpu_panels_bfloat16.h */
    /* weights of a convolution of bytes: see cpu_bytes_filters.h; int8 */
    CPU_LAYOUT_BYTES_PAIRS = 11,
    CPU_LAYOUT_BYTES_QUADS = 12,           /* for AVX512_VNNI */
    CPU_LAYOUT_BYTES_DEPTHWISE = 13,       /* a group for each channel: see cpu_bytes_depthwise.h */
    CPU_LAYOUT_BYTES_DEPTHWISE_QUADS = 14, /* likewise for AVX512_VNNI */
    CPU_LAYOUT_BYTES_WINOGRAD = 15,        /* of 3 x 3: see cpu_bytes_winograd.h; int16 */
} CpuLayout;
