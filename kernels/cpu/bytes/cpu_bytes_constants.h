#pragma once
/* Constant weights of convolutions of bytes become packed ones, for the direct kernel or for
 * Winograd's method. Called by cpu_pack.c. Pure: no state. */
#include "kernels/cpu/bytes/cpu_bytes_filters.h"

/* False if the request is for another operator; then nothing is set. */
bool cpu_bytes_pack_rule(
    const CpuDevice *device, const PackRequest *request, uint32_t *out_layout, uint64_t *out_bytes);
/* False: the layout is not one of these. */
bool cpu_bytes_pack_weights(const CpuDevice *device, const PackRequest *request, uint32_t layout,
    const void *plain, void *to);
