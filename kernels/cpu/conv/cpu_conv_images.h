#pragma once
/* Packs weights for convolutions over images [N, H, W, C]. The rule depends on the weights and the
 * operator's attributes alone. Called by cpu_pack.c when constants are packed. Pure: no state. */
#include "kernels/cpu/core/cpu_internal.h"

/* False: the convolution is not such a one, or this device does not pack. */
bool cpu_conv_images_pack_rule(
    const CpuDevice *device, const PackRequest *request, uint32_t *out_layout, uint64_t *out_bytes);
/* False: the layout is not one of these. */
bool cpu_conv_images_pack(const CpuDevice *device, const PackRequest *request, uint32_t layout,
    const float *plain, float *to);
