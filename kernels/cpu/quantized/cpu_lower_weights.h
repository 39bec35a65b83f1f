#pragma once
/* Packs the weights of products and convolutions at lower precision, in the form of
 * cpu_lower_product.h. Called by cpu_pack.c when constants are packed, and by cpu_lower_conv.c.
 * Pure: no state. */
#include "kernels/cpu/quantized/cpu_lower_product.h"

/* Writes filters [M, C, kernel height, kernel width] as the matrix [kernel height × kernel width ×
 * C, M], which is multiplied with a window over [H, W, C]. Bytes or bfloat16, by the form. */
void cpu_lower_turn_filters(CpuLowerForm form, const void *filters, const Shape *shape, void *to);

/* False if the request is for another operator; then nothing is set. */
bool cpu_lower_pack_rule(
    const CpuDevice *device, const PackRequest *request, uint32_t *out_layout, uint64_t *out_bytes);
/* *out_packed false: the layout is not one of these. Errors: OUT_OF_MEMORY. */
MUST_CHECK Error *cpu_lower_pack_weights(const CpuDevice *device, const PackRequest *request,
    uint32_t layout, const void *plain, void *to, bool *out_packed);
