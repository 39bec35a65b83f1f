#pragma once
/* Packed weights of the cpu device: which layout a constant gets, and writing it. The rule looks at
 * the constant, its operator and the instruction set, never at the other operands. */
#include "kernels/cpu/core/cpu_internal.h"

/* DeviceClass.pack_rule and DeviceClass.pack. */
MUST_CHECK Error *cpu_pack_rule(
    Device *device, const PackRequest *request, uint32_t *out_layout, uint64_t *out_bytes);
MUST_CHECK Error *cpu_pack(Device *device, DeviceStream *stream, const PackRequest *request,
    uint32_t layout, const void *plain, uint64_t to);
