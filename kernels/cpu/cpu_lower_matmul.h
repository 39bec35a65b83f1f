#pragma once
/* Packing of FusedMatMulBFloat16's and FusedMatMulInt8's weights: panels as in
 * cpu_lower_product.h. */
#include "kernels/cpu/cpu_internal.h"

/* False where the request is none of theirs, and nothing is set. */
bool cpu_lower_pack_rule(
    const CpuDevice *device, const PackRequest *request, uint32_t *out_layout, uint64_t *out_bytes);
/* False where the layout is none of theirs. */
bool cpu_lower_pack_weights(const CpuDevice *device, const PackRequest *request, uint32_t layout,
    const void *plain, void *to);
