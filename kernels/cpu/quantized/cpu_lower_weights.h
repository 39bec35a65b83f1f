#pragma once
/* Weights of products and convolutions at lower precision, packed as in cpu_lower_product.h. */
#include "kernels/cpu/quantized/cpu_lower_product.h"

/* Filters [M, C, kernel height, kernel width] as the matrix [kernel height × kernel width × C, M]:
 * what a window over [H, W, C] is multiplied with. Of bytes or bfloat16, as the form has them. */
void cpu_lower_turn_filters(CpuLowerForm form, const void *filters, const Shape *shape, void *to);

/* False where the request is none of theirs, and nothing is set. */
bool cpu_lower_pack_rule(
    const CpuDevice *device, const PackRequest *request, uint32_t *out_layout, uint64_t *out_bytes);
/* *out_packed false: the layout is none of theirs. Errors: OUT_OF_MEMORY. */
MUST_CHECK Error *cpu_lower_pack_weights(const CpuDevice *device, const PackRequest *request,
    uint32_t layout, const void *plain, void *to, bool *out_packed);
