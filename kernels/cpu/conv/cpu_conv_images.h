#pragma once
/* Packs weights for convolutions over images [N, H, W, C]. The rule depends on the weights and the
 * operator's attributes alone. Called by cpu_pack.c when constants are packed. Pure: no state. */
#include "kernels/cpu/core/cpu_internal.h"

/* False: the convolution is not such a one, or this device does not pack. */
bool cpu_conv_images_pack_rule(
    const CpuDevice *device, const PackRequest *request, uint32_t *out_layout, uint64_t *out_bytes);
/* Whether the layout is that of these convolutions for this constant. */
bool cpu_conv_images_packs(const CpuDevice *device, const PackRequest *request, uint32_t layout);
/* Only after cpu_conv_images_packs. plain: the constant in float32, also where it is of a half
 * type. */
void cpu_conv_images_pack(const CpuDevice *device, const PackRequest *request, uint32_t layout,
    const float *plain, float *to);
