#pragma once
/* Packed weights of the cpu device: chooses the layout of a constant, and writes it. The rule
 * depends on the constant, its operator and the instruction set, never on the other operands.
 * Entered into the device's table by cpu_device.c; called when a residency is made, on any
 * thread. */
#include "kernels/cpu/core/cpu_internal.h"

/* DeviceClass.pack_rule and DeviceClass.pack. */
MUST_CHECK Error *cpu_pack_rule(
    Device *device, const PackRequest *request, uint32_t *out_layout, uint64_t *out_bytes);
MUST_CHECK Error *cpu_pack(Device *device, DeviceStream *stream, const PackRequest *request,
    uint32_t layout, const void *plain, uint64_t to);
