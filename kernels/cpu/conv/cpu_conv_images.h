#pragma once
/* How weights are packed for convolutions over images [N, H, W, C]: by a rule that looks at them
 * and the operator's attributes alone. */
#include "kernels/cpu/core/cpu_internal.h"

/* False: not for such a convolution, or this device does not pack. */
bool cpu_conv_images_pack_rule(
    const CpuDevice *device, const PackRequest *request, uint32_t *out_layout, uint64_t *out_bytes);
/* False: this is none of its layouts. */
bool cpu_conv_images_pack(const CpuDevice *device, const PackRequest *request, uint32_t layout,
    const float *plain, float *to);
